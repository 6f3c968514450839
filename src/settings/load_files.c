/* SPDX-License-Identifier: MIT
 *
 * load_files.c - which files are read, in which order, and what they include.
 *
 * Reads files, directories (their *.ini, sorted bytewise) and what they include, each file once.
 * Files not named on the command line must be regular files: including a FIFO would block for ever, and a
 * device does not contain a configuration. Main thread.
 */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "weir/base/check.h"
#include "weir/config/options.h"
#include "weir/config/reader.h"
#include "weir/config/words.h"
#include "load.h"

/* Limits far beyond what anybody needs: more files, or deeper includes, are a mistake. */
#define LOAD_FILES_MAX 1000
#define LOAD_DEPTH_MAX 8

enum file_kind {
	FILE_NAMED, /* on the command line: may be a pipe */
	FILE_FOUND, /* found by an include or in a directory: must be a regular file */
};

static void read_file(struct load *l, const char *path, enum file_kind kind, const struct at *from);

/* Reports an error about a whole file: at the include line, if any, otherwise at the file. */
static void report_file(struct load *l, const char *path, const struct at *from, const char *what)
{
	struct at whole = {0};

	if (from != NULL) {
		diag_error(&l->diag, DIAG_CANNOT_READ, *from, "'%s' %s", path, what);
		return;
	}
	whole.source = document_add_source(&l->doc, path);
	diag_error(&l->diag, DIAG_CANNOT_READ, whole, "'%s' %s", path, what);
}

static bool is_read_already(const struct load *l, const char *path)
{
	for (size_t i = 0; i < l->doc.source_count; i++) {
		if (strcmp(l->doc.sources[i]->name, path) == 0)
			return true;
	}
	return false;
}

static void release_glob(void *bytes)
{
	globfree(bytes);
}

/* A pattern may match nothing; a plain name must exist. */
static void read_include(struct load *l, const char *path, const struct at *from)
{
	bool pattern = strpbrk(path, "*?[") != NULL;
	glob_t *found;
	int err;

	if (!pattern) {
		l->include_count++;
		read_file(l, path, FILE_FOUND, from);
		return;
	}
	found = arena_alloc_owner(&l->arena, sizeof(*found), release_glob);
	err = glob(path, 0, NULL, found);
	if (err == GLOB_NOSPACE)
		longjmp(l->no_memory, 1);
	if (err != 0 && err != GLOB_NOMATCH)
		report_file(l, path, from, "cannot be searched");
	for (size_t i = 0; err == 0 && i < found->gl_pathc; i++) {
		l->include_count++;
		read_file(l, found->gl_pathv[i], FILE_FOUND, from);
	}
}

void load_includes_of(struct load *l, const struct source *source)
{
	const struct section *global = document_find(&l->doc, IN_GLOBAL, NULL);

	for (const struct entry *e = global != NULL ? global->first : NULL; e != NULL; e = e->next) {
		const struct option *o = option_find(IN_GLOBAL, e->key).option;
		unsigned errors = l->diag.errors;
		struct words words;

		if (e->key_at.source != source || o == NULL || o->type != OPT_INCLUDE)
			continue;
		if (words_split(&l->diag, e->value_at, e->value, &words) != 0) {
			/* build_document() will split it again and report the error then. */
			l->diag.errors = errors;
			l->diag.count--;
			continue;
		}
		for (size_t i = 0; i < words.count; i++)
			read_include(l, source_beside(&l->arena, source, words.list[i].text),
				     &words.list[i].at);
	}
}

static void read_file(struct load *l, const char *path, enum file_kind kind, const struct at *from)
{
	struct source *source;
	int err;

	if (is_read_already(l, path)) {
		report_file(l, path, from, "is read a second time");
		return;
	}
	if (l->depth >= LOAD_DEPTH_MAX || l->doc.source_count >= LOAD_FILES_MAX) {
		report_file(l, path, from, "exceeds the limit on included files or their depth");
		return;
	}
	source = document_add_source(&l->doc, path);
	err = source_add_file(&l->arena, source, kind == FILE_FOUND);
	if (err) {
		struct at whole = {.source = source};

		diag_error(&l->diag, DIAG_CANNOT_READ, from != NULL ? *from : whole, "cannot read '%s': %s",
			   path, source_why_unread(err));
		if (err == -EISDIR)
			diag_hint(&l->diag, "write a pattern, as in conf.d/*.ini");
		return;
	}
	reader_read(&l->doc, source);
	l->depth++;
	load_includes_of(l, source);
	l->depth--;
}

static int is_ini(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return entry->d_name[0] != '.' && len > 4 && strcmp(entry->d_name + len - 4, ".ini") == 0;
}

static int bytewise(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

struct names {
	struct dirent **list; /* owns the array and each entry */
	int count;
};

static void release_names(void *bytes)
{
	struct names *n = bytes;

	for (int i = 0; i < n->count; i++)
		free(n->list[i]);
	free(n->list);
}

static void read_directory(struct load *l, const char *path)
{
	struct names *names = arena_alloc_owner(&l->arena, sizeof(*names), release_names);
	size_t len = strlen(path);

	names->count = scandir(path, &names->list, is_ini, bytewise);
	if (names->count < 0) {
		report_file(l, path, NULL, arena_printf(&l->arena, "cannot be read: %s", strerror(errno)));
		return;
	}
	while (len > 1 && path[len - 1] == '/')
		len--;
	for (int i = 0; i < names->count; i++)
		read_file(l, arena_printf(&l->arena, "%.*s/%s", (int)len, path, names->list[i]->d_name),
			  FILE_FOUND, NULL);
	if (names->count == 0)
		report_file(l, path, NULL, "has no *.ini file");
}

void load_path(struct load *l, const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		read_directory(l, path);
	else
		read_file(l, path, FILE_NAMED, NULL);
}

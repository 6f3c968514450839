/* SPDX-License-Identifier: MIT
 *
 * load_files.c - which files are read, in which order, and what they include.
 *
 * Reads files, directories (their *.ini, sorted bytewise) and what they include, each file once.
 * If the text of an earlier reading is given, all of it comes from there.
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

/* What `pattern` stands for, in `found`. 0, or -EIO: a folder cannot be read. */
static int search(struct load *l, const char *pattern, struct name_list *found)
{
	glob_t *g = arena_alloc_owner(&l->arena, sizeof(*g), release_glob);
	const int err = glob(pattern, 0, NULL, g);

	if (err == GLOB_NOSPACE)
		longjmp(l->no_memory, 1);
	*found = (struct name_list){0};
	l->files.incomplete = l->files.incomplete || (err != 0 && err != GLOB_NOMATCH);
	if (err == GLOB_NOMATCH)
		reading_files_record(&l->files, &l->arena, TEXT_PATTERN, pattern, found);
	if (err != 0)
		return err == GLOB_NOMATCH ? 0 : -EIO;
	*found = (struct name_list){g->gl_pathv, g->gl_pathc};
	reading_files_record(&l->files, &l->arena, TEXT_PATTERN, pattern, found);
	return 0;
}

/* A pattern may match nothing; a plain name must exist. */
static void read_include(struct load *l, const char *path, const struct at *from)
{
	struct name_list found;
	int err;

	if (strpbrk(path, "*?[") == NULL) {
		l->include_count++;
		read_file(l, path, FILE_FOUND, from);
		return;
	}
	if (l->files.kept != NULL)
		err = reading_files_recall(&l->files, &l->arena, TEXT_PATTERN, path, &found);
	else
		err = search(l, path, &found);
	if (err)
		report_file(l, path, from,
			    err == -ENODATA ? "is not in the text that is kept" : "cannot be searched");
	for (size_t i = 0; i < found.count; i++) {
		l->include_count++;
		read_file(l, found.names[i], FILE_FOUND, from);
	}
}

/* Reads what `source` itself includes. */
static void read_includes_of(struct load *l, const struct source *source)
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
	source->found = kind == FILE_FOUND;
	err = reading_files_add(&l->files, &l->arena, source, kind == FILE_FOUND);
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
	read_includes_of(l, source);
	l->depth--;
}

void load_text(struct load *l, const char *name, const char *text)
{
	struct source *source = document_add_source(&l->doc, name);
	const int err = reading_files_add_text(&l->files, &l->arena, source, text);

	if (err) {
		diag_error(&l->diag, DIAG_CANNOT_READ, (struct at){.source = source}, "cannot read '%s': %s",
			   name, source_why_unread(err));
		return;
	}
	reader_read(&l->doc, source);
	read_includes_of(l, source);
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

/* The files of the directory, in `found`. 0 or -errno. */
static int list_directory(struct load *l, const char *path, struct name_list *found)
{
	struct names *names = arena_alloc_owner(&l->arena, sizeof(*names), release_names);
	size_t len = strlen(path);

	*found = (struct name_list){0};
	names->count = scandir(path, &names->list, is_ini, bytewise);
	if (names->count < 0) {
		l->files.incomplete = true;
		return -errno;
	}
	while (len > 1 && path[len - 1] == '/')
		len--;
	for (int i = 0; i < names->count; i++) {
		found->names = arena_grow(&l->arena, found->names, found->count, sizeof(*found->names));
		found->names[found->count++] =
			arena_printf(&l->arena, "%.*s/%s", (int)len, path, names->list[i]->d_name);
	}
	reading_files_record(&l->files, &l->arena, TEXT_FOLDER, path, found);
	return 0;
}

static void read_directory(struct load *l, const char *path)
{
	struct name_list found;
	int err;

	if (l->files.kept != NULL)
		err = reading_files_recall(&l->files, &l->arena, TEXT_FOLDER, path, &found);
	else
		err = list_directory(l, path, &found);
	if (err) {
		report_file(l, path, NULL, arena_printf(&l->arena, "cannot be read: %s", strerror(-err)));
		return;
	}
	for (size_t i = 0; i < found.count; i++)
		read_file(l, found.names[i], FILE_FOUND, NULL);
	if (found.count == 0)
		report_file(l, path, NULL, "has no *.ini file");
}

static bool is_directory(const struct load *l, const char *path)
{
	struct stat st;

	if (l->files.kept != NULL)
		return reading_files_has_folder(&l->files, path);
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

void load_path(struct load *l, const char *path)
{
	if (is_directory(l, path))
		read_directory(l, path);
	else
		read_file(l, path, FILE_NAMED, NULL);
}

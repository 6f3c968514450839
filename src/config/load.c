/* SPDX-License-Identifier: MIT
 *
 * load.c - config_load(): which files are read, in which order, and what is said at the end.
 *
 * Reads files, directories (their *.ini, sorted bytewise) and what they include, each file once.
 * Opens nothing else. Main thread. Floor 2.
 */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sluice/base/check.h"
#include "sluice/config/build.h"
#include "sluice/config/reader.h"
#include "sluice/config/words.h"

/* More files, or includes in includes, than anybody means. */
#define LOAD_FILES_MAX 1000
#define LOAD_DEPTH_MAX 8

struct load {
	struct arena arena;
	struct diag diag;
	struct document doc;
	unsigned include_count;
	unsigned depth; /* of includes, now */
};

static void read_file(struct load *l, const char *path, const struct at *from);

/* What is wrong with a file as a whole: at the include line, else at the file. */
static void report_file(struct load *l, const char *path, const struct at *from, const char *what)
{
	struct at whole = {0};

	if (from != NULL) {
		diag_error(&l->diag, *from, "%s: %s", path, what);
		return;
	}
	whole.source = document_add_source(&l->doc, path);
	diag_error(&l->diag, whole, "%s", what);
}

static bool is_read_already(const struct load *l, const char *path)
{
	for (size_t i = 0; i < l->doc.source_count; i++) {
		if (strcmp(l->doc.sources[i]->name, path) == 0)
			return true;
	}
	return false;
}

/* An include is relative to the file that names it. */
static const char *beside(struct load *l, const char *file, const char *path)
{
	const char *slash = strrchr(file, '/');

	if (path[0] == '/' || slash == NULL)
		return path;
	return arena_printf(&l->arena, "%.*s%s", (int)(slash - file + 1), file, path);
}

/* A pattern may match nothing; a plain name must be there. */
static void read_include(struct load *l, const char *path, const struct at *from)
{
	bool pattern = strpbrk(path, "*?[") != NULL;
	glob_t found;
	int err;

	if (!pattern) {
		l->include_count++;
		read_file(l, path, from);
		return;
	}
	err = glob(path, 0, NULL, &found);
	if (err != 0 && err != GLOB_NOMATCH)
		report_file(l, path, from, "cannot be searched");
	for (size_t i = 0; err == 0 && i < found.gl_pathc; i++) {
		l->include_count++;
		read_file(l, found.gl_pathv[i], from);
	}
	if (err == 0)
		globfree(&found);
}

/* The include lines that `source` itself has. */
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
			/* build_document() will split it again and report it: once is enough. */
			l->diag.errors = errors;
			l->diag.count--;
			continue;
		}
		for (size_t i = 0; i < words.count; i++)
			read_include(l, beside(l, source->name, words.list[i].text), &words.list[i].at);
	}
}

static void read_file(struct load *l, const char *path, const struct at *from)
{
	struct source *source;
	int err;

	if (is_read_already(l, path)) {
		report_file(l, path, from, "is read a second time");
		return;
	}
	if (l->depth >= LOAD_DEPTH_MAX || l->doc.source_count >= LOAD_FILES_MAX) {
		report_file(l, path, from, "is one include too many");
		return;
	}
	source = document_add_source(&l->doc, path);
	err = source_add_file(&l->arena, source);
	if (err) {
		struct at whole = {.source = source};

		diag_error(&l->diag, from != NULL ? *from : whole, "cannot read '%s': %s", path,
			   err == -EFBIG ? "it is larger than a configuration can be" : strerror(-err));
		return;
	}
	reader_read(&l->doc, source);
	l->depth++;
	read_includes_of(l, source);
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

static void read_directory(struct load *l, const char *path)
{
	size_t len = strlen(path);
	struct dirent **names = NULL;
	int count = scandir(path, &names, is_ini, bytewise);

	if (count < 0) {
		report_file(l, path, NULL, strerror(errno));
		return;
	}
	while (len > 1 && path[len - 1] == '/')
		len--;
	for (int i = 0; i < count; i++) {
		read_file(l, arena_printf(&l->arena, "%.*s/%s", (int)len, path, names[i]->d_name), NULL);
		free(names[i]);
	}
	free(names);
	if (count == 0)
		report_file(l, path, NULL, "this directory has no *.ini file");
}

static void read_path(struct load *l, const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		read_directory(l, path);
	else
		read_file(l, path, NULL);
}

static void read_input(struct load *l, const struct config_input *input)
{
	struct source *overrides = source_new(&l->arena, "-o");

	if (input->text != NULL) {
		struct source *source = document_add_source(&l->doc, input->text_name);

		source_add_text(&l->arena, source, input->text, strlen(input->text));
		reader_read(&l->doc, source);
		read_includes_of(l, source);
	}
	for (size_t i = 0; i < input->path_count; i++)
		read_path(l, input->paths[i]);
	for (size_t i = 0; i < input->override_count; i++)
		source_add_line(&l->arena, overrides, input->overrides[i], strlen(input->overrides[i]));
	overrides->index = (unsigned)l->doc.source_count;
	/* With a file missing, "no file has that section" would be no news. */
	if (l->diag.errors == 0 || l->doc.first != NULL)
		override_apply(&l->doc, overrides);
}

/* "1 error", "2 errors" */
static const char *plural(unsigned n)
{
	return n == 1 ? "" : "s";
}

struct config *config_load(const struct config_input *input, FILE *diag, enum config_style style)
{
	struct load l = {0};
	struct build b = {0};
	struct config *c = NULL;

	check(input->text != NULL || input->path_count > 0);
	check(input->text == NULL || input->text_name != NULL);
	l.diag.arena = &l.arena;
	l.doc.diag = &l.diag;
	b.diag = &l.diag;
	b.doc = &l.doc;

	read_input(&l, input);
	build_document(&b);
	build_crosscheck(&b);
	diag_print(&l.diag, diag, style == CONFIG_COLOUR);
	if (l.diag.errors > 0) {
		fprintf(diag, "%s: %u error%s, %u warning%s. The running configuration is unchanged.\n",
			l.doc.sources[0]->name, l.diag.errors, plural(l.diag.errors), l.diag.warnings,
			plural(l.diag.warnings));
	} else {
		c = build_snapshot(&b);
		c->include_count = l.include_count;
	}
	arena_free(&l.arena);
	return c;
}

void config_print_summary(const struct config *c, FILE *out)
{
	size_t servers = 0;

	for (size_t i = 0; i < c->backend_count; i++)
		servers += c->backends[i].server_count;
	fprintf(out, "%s: ok (%zu frontend%s, %zu backend%s, %zu server%s, %u include%s, %u warning%s)\n",
		c->files[0], c->frontend_count, plural((unsigned)c->frontend_count), c->backend_count,
		plural((unsigned)c->backend_count), servers, plural((unsigned)servers), c->include_count,
		plural(c->include_count), c->warnings, plural(c->warnings));
}

/* SPDX-License-Identifier: MIT
 *
 * read.c - HAProxy's files as lines of words, in the order in which HAProxy reads them.
 *
 * Main thread.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "environment.h"
#include "weir/base/check.h"

#define LINE_MAX_BYTES 65536
#define CONDITION_MAX  2048

/* What an .if is about. */
enum branch { BRANCH_TAKEN, BRANCH_WAITING, BRANCH_DONE };

struct reading {
	struct old_reading *r;
	const char *file;
	unsigned line;
	enum branch branches[OLD_DEPTH_MAX];
	unsigned if_lines[OLD_DEPTH_MAX];
	bool else_seen[OLD_DEPTH_MAX];
	unsigned depth;
	struct environment *set; /* borrows */
	bool is_global;		 /* the lines of a global section are read */
	const char **comments; /* those since the last line or empty line */
	size_t comment_count;
};

static bool is_active(const struct reading *in)
{
	for (unsigned i = 0; i < in->depth; i++)
		if (in->branches[i] != BRANCH_TAKEN)
			return false;
	return true;
}

static bool judge(struct reading *in, const char **words, size_t count)
{
	const char *text = "";
	int result;

	for (size_t i = 1; i < count && strlen(text) <= CONDITION_MAX; i++)
		text = arena_printf(in->r->arena, "%s%s%s", text, i > 1 ? " " : "", words[i]);
	result = strlen(text) > CONDITION_MAX
		     ? -1
		     : haproxy_condition(in->r->arena, environment_all(in->set, in->r->environment), text);
	if (result < 0)
		return old_fail(
		    in->r, in->file, in->line,
		    "the condition '%s' depends on the HAProxy that reads it: keep the branch that "
		    "applies and remove the others",
		    text);
	in->branches[in->depth - 1] = result == 1 ? BRANCH_TAKEN : BRANCH_WAITING;
	return true;
}

static bool take_if(struct reading *in, const char **words, size_t count)
{
	const bool active = is_active(in);

	if (in->depth == OLD_DEPTH_MAX)
		return old_fail(in->r, in->file, in->line, "more than %d levels of .if", OLD_DEPTH_MAX);
	in->if_lines[in->depth] = in->line;
	in->else_seen[in->depth] = false;
	in->branches[in->depth++] = BRANCH_DONE;
	return !active || judge(in, words, count);
}

static bool take_branch(struct reading *in, const char **words, size_t count)
{
	const bool is_else = strcmp(words[0], ".else") == 0;
	enum branch *branch;

	if (in->depth == 0 || in->else_seen[in->depth - 1])
		return old_fail(in->r, in->file, in->line, "'%s' without '.if'", words[0]);
	branch = &in->branches[in->depth - 1];
	in->else_seen[in->depth - 1] = is_else;
	if (*branch == BRANCH_TAKEN)
		*branch = BRANCH_DONE;
	else if (*branch == BRANCH_WAITING && is_else)
		*branch = BRANCH_TAKEN;
	else if (*branch == BRANCH_WAITING)
		return judge(in, words, count);
	return true;
}

/* A line that begins with a dot. */
static bool take_directive(struct reading *in, const char **words, size_t count)
{
	if (strcmp(words[0], ".if") == 0)
		return take_if(in, words, count);
	if (strcmp(words[0], ".elif") == 0 || strcmp(words[0], ".else") == 0)
		return take_branch(in, words, count);
	if (strcmp(words[0], ".endif") == 0) {
		if (in->depth == 0)
			return old_fail(in->r, in->file, in->line, "'.endif' without '.if'");
		in->depth--;
		return true;
	}
	if (!is_active(in) || strcmp(words[0], ".notice") == 0 || strcmp(words[0], ".diag") == 0 ||
	    strcmp(words[0], ".warning") == 0)
		return true;
	if (strcmp(words[0], ".alert") == 0)
		return old_fail(in->r, in->file, in->line, "an .alert: HAProxy would not start either");
	return old_fail(in->r, in->file, in->line, "'%s' is not a directive of HAProxy", words[0]);
}

static const char *trimmed(struct arena *a, const char *text, size_t len)
{
	while (len > 0 && strchr(" \t\r", text[len - 1]) != NULL)
		len--;
	while (len > 0 && strchr(" \t", *text) != NULL) {
		text++;
		len--;
	}
	return arena_strndup(a, text, len);
}

static bool add_line(struct reading *in, const char *text, const char **words, size_t count,
		     const char *comment)
{
	struct arena *a = in->r->arena;
	const size_t len = comment != NULL ? (size_t)(comment - 1 - text) : strlen(text);
	struct old_line *line = arena_alloc(a, sizeof(*line));
	const char *mark = old_template_mark(text, len);

	if (mark != NULL)
		return old_fail(in->r, in->file, in->line,
				"'%s' is of a template that was not rendered: convert what it renders to",
				mark);
	*line = (struct old_line){.file = in->file, .line = in->line, .count = count};
	line->words = arena_alloc(a, (count + 1) * sizeof(*words));
	if (!environment_replace(in->set, words, count))
		return old_fail(in->r, in->file, in->line, "with its variables, a word of more than %d bytes",
				ENVIRONMENT_WORD_MAX);
	memcpy(line->words, words, count * sizeof(*words));
	line->shown = old_mask(a, trimmed(a, text, len), words, count);
	if (comment != NULL && old_comment_ok(comment, strlen(comment)))
		line->behind = trimmed(a, comment, strlen(comment));
	line->above = in->comments;
	line->above_count = in->comment_count;
	in->comments = NULL;
	in->comment_count = 0;
	in->is_global = strcmp(words[0], "global") == 0 || (in->is_global && !haproxy_begins_section(line));
	if (in->is_global)
		environment_set(in->set, line);
	return old_add(in->r, &in->r->lines, line);
}

static void keep_comment(struct reading *in, const char *comment)
{
	struct arena *a = in->r->arena;

	if (!old_comment_ok(comment, strlen(comment)))
		return;
	in->comments = arena_grow(a, in->comments, in->comment_count, sizeof(*in->comments));
	in->comments[in->comment_count++] = trimmed(a, comment, strlen(comment));
}

static bool read_line(struct reading *in, const char *text)
{
	const char *words[256], *comment, *error;
	int count;

	if (strlen(text) > LINE_MAX_BYTES)
		return old_fail(in->r, in->file, in->line, "a line of more than %d bytes", LINE_MAX_BYTES);
	count = haproxy_words(in->r->arena, text, words, ARRAY_LEN(words), &comment, &error);

	if (count < 0 && !is_active(in))
		return true;
	if (count < 0) {
		const char *mark = old_template_mark(text, strlen(text));

		return mark != NULL
			   ? old_fail(
				 in->r, in->file, in->line,
				 "'%s' is of a template that was not rendered: convert what it renders to",
				 mark)
			   : old_fail(in->r, in->file, in->line, "%s", error);
	}
	if (count == 0 && comment != NULL) {
		keep_comment(in, comment);
	} else if (count == 0) {
		in->comments = NULL;
		in->comment_count = 0;
	} else if (words[0][0] == '.') {
		return take_directive(in, words, (size_t)count);
	} else if (is_active(in)) {
		return add_line(in, text, words, (size_t)count, comment);
	}
	return true;
}

static bool read_file(struct old_reading *r, struct environment *set, const char *path)
{
	struct reading in = {.r = r, .file = path, .set = set};
	char *text = old_read_file(r, path, NULL, 0);

	if (text == NULL)
		return false;
	while (*text != '\0') {
		char *end = text + strcspn(text, "\n");
		const bool more = *end == '\n';

		*end = '\0';
		in.line++;
		if (!read_line(&in, text))
			return false;
		text = end + more;
	}
	if (in.depth > 0)
		return old_fail(r, path, in.if_lines[in.depth - 1], "this '.if' has no '.endif'");
	return true;
}

static int is_config(const struct dirent *e)
{
	const size_t len = strlen(e->d_name);

	return e->d_name[0] != '.' && len > 4 && strcmp(e->d_name + len - 4, ".cfg") == 0;
}

static int bytewise(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static bool read_folder(struct old_reading *r, struct environment *set, const char *path)
{
	struct dirent **names = NULL;
	const int count = scandir(path, &names, is_config, bytewise);
	bool ok = count >= 0;

	if (!ok)
		return old_fail(r, path, 0, "%s", strerror(errno));
	/* Names first, because the arena may jump. */
	const char **paths = NULL;

	for (int i = 0; i < count; i++) {
		paths = arena_grow(r->arena, paths, (size_t)i, sizeof(*paths));
		paths[i] = arena_printf(r->arena, "%s/%s", path, names[i]->d_name);
	}
	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
	for (int i = 0; ok && i < count; i++)
		ok = read_file(r, set, paths[i]);
	return ok;
}

bool haproxy_read(struct old_reading *r, const char *const *paths, size_t count)
{
	struct environment set = {.arena = r->arena};

	for (size_t i = 0; i < count; i++) {
		struct stat st;
		const bool folder = stat(paths[i], &st) == 0 && S_ISDIR(st.st_mode);

		if (!(folder ? read_folder(r, &set, paths[i]) : read_file(r, &set, paths[i])))
			return false;
	}
	environment_account(&set);
	return true;
}

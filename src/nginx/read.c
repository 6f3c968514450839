/* SPDX-License-Identifier: MIT
 *
 * read.c - nginx's files as directives with their blocks, as nginx cuts and includes them.
 *
 * What is inside http { } and mail { } is cut, but nothing is included there. Main thread.
 */
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "weir/base/check.h"
#include "weir/nginx/nginx.h"

#define WORD_MAX 4096

/* One file while it is read. */
struct nginx_file {
	struct old_reading *r;
	const struct nginx_file *from; /* that includes it */
	const char *path;
	const char *at;
	unsigned line;
	unsigned depth;
	const char **words; /* of the directive that is being read */
	size_t count;
	const char **comments;
	size_t comment_count;
};

/* What ends a word or a directive. */
enum stop { STOP_WORD, STOP_SEMICOLON, STOP_OPEN, STOP_CLOSE, STOP_END, STOP_FAILED };

static bool read_block(struct nginx_file *f, struct old_lines *to, unsigned depth, bool foreign);

static enum stop fail(struct nginx_file *f, unsigned line, const char *text)
{
	(void)old_fail(f->r, f->path, line, "%s", text); /* always false */
	return STOP_FAILED;
}

static void take_comment(struct nginx_file *f, struct old_lines *to)
{
	const char *from = ++f->at;
	size_t len = strcspn(from, "\n"), skip = strspn(from, " \t#");
	struct old_line *last = to->count > 0 ? to->list[to->count - 1] : NULL;
	const char *text;

	f->at += len;
	while (len > 0 && strchr(" \t\r", from[len - 1]) != NULL)
		len--;
	if (skip >= len || !old_comment_ok(from + skip, len - skip))
		return;
	text = arena_strndup(f->r->arena, from + skip, len - skip);
	if (last != NULL && last->file == f->path && last->line == f->line && f->count == 0) {
		last->behind = text;
		return;
	}
	f->comments = arena_grow(f->r->arena, f->comments, f->comment_count, sizeof(*f->comments));
	f->comments[f->comment_count++] = text;
}

/* Goes to the next word, keeps comments, counts lines. */
static void skip_blanks(struct nginx_file *f, struct old_lines *to)
{
	for (;; f->at++) {
		if (*f->at == '#')
			take_comment(f, to);
		if (*f->at == '\n') {
			if (f->at[1 + strspn(f->at + 1, " \t\r")] == '\n' && f->count == 0)
				f->comment_count = 0;
			f->line++;
		} else if (*f->at != ' ' && *f->at != '\t' && *f->at != '\r') {
			return;
		}
	}
}

/* Appends a byte after a backslash, as nginx does. */
static size_t unescape(char *out, size_t len, char c)
{
	if (c == 't' || c == 'r' || c == 'n') {
		out[len++] = c == 't' ? '\t' : c == 'r' ? '\r' : '\n';
	} else {
		if (c != '"' && c != '\'' && c != '\\')
			out[len++] = '\\';
		out[len++] = c;
	}
	return len;
}

static bool add_word(struct nginx_file *f, const char *text, size_t len)
{
	if (f->count == OLD_WORDS_MAX)
		return fail(f, f->line, "too many words in one directive") != STOP_FAILED;
	/* route.c marks texts with these. */
	if (memchr(text, '\1', len) != NULL || memchr(text, '\2', len) != NULL ||
	    memchr(text, '\3', len) != NULL)
		return fail(f, f->line, "a control character in a word") != STOP_FAILED;
	f->words = arena_grow(f->r->arena, f->words, f->count, sizeof(*f->words));
	f->words[f->count++] = arena_strndup(f->r->arena, text, len);
	return true;
}

/* Takes what is between quotes; `at` is on the first. */
static enum stop take_quoted(struct nginx_file *f)
{
	const char quote = *f->at++;
	const unsigned from = f->line;
	const char *end = f->at;
	size_t len = 0;
	char *out;

	while (*end != '\0' && *end != quote)
		end += *end == '\\' && end[1] != '\0' ? 2 : 1;
	if (*end == '\0')
		return fail(f, from, "a quote that is not closed");
	out = arena_alloc(f->r->arena, 2 * (size_t)(end - f->at) + 1);
	for (; f->at < end; f->at++) {
		f->line += *f->at == '\n';
		if (*f->at == '\\')
			len = unescape(out, len, *++f->at);
		else
			out[len++] = *f->at;
	}
	f->at++;
	if (*f->at != '\0' && strchr(" \t\r\n;{)", *f->at) == NULL)
		return fail(f, f->line, "a blank, ';' or '{' is missing after a quote");
	return add_word(f, out, len) ? STOP_WORD : STOP_FAILED;
}

static enum stop take_plain(struct nginx_file *f)
{
	char out[WORD_MAX];
	size_t len = 0;

	while (*f->at != '\0' && strchr(" \t\r\n;", *f->at) == NULL) {
		if (*f->at == '{' && (len == 0 || out[len - 1] != '$'))
			break;
		if (len + 3 > sizeof(out))
			return fail(f, f->line, "a word of more than 4096 bytes");
		if (*f->at == '\\' && f->at[1] != '\0') {
			len = unescape(out, len, f->at[1]);
			f->line += f->at[1] == '\n';
			f->at += 2;
		} else {
			out[len++] = *f->at++;
		}
	}
	return add_word(f, out, len) ? STOP_WORD : STOP_FAILED;
}

static enum stop next(struct nginx_file *f, struct old_lines *to)
{
	const char *mark;

	skip_blanks(f, to);
	mark = old_template_mark(f->at, strcspn(f->at, " \t\r\n;"));
	if (mark != NULL) {
		(void)old_fail(f->r, f->path, f->line,
			       "'%s' is of a template that was not rendered: convert what it renders to",
			       mark);
		return STOP_FAILED;
	}
	switch (*f->at) {
	case '\0':
		return STOP_END;
	case ';':
		f->at++;
		return STOP_SEMICOLON;
	case '{':
		f->at++;
		return STOP_OPEN;
	case '}':
		f->at++;
		return STOP_CLOSE;
	case '"':
	case '\'':
		return take_quoted(f);
	default:
		return take_plain(f);
	}
}

static struct old_line *add_line(struct nginx_file *f, struct old_lines *to, unsigned at)
{
	struct arena *a = f->r->arena;
	struct old_line *line = arena_alloc(a, sizeof(*line));
	const char *text = "";

	*line = (struct old_line){.file = f->path, .line = at, .words = f->words, .count = f->count};
	for (size_t i = 0; i < f->count && strlen(text) < 160; i++)
		text = arena_printf(a, "%s%s%s", text, i > 0 ? " " : "", f->words[i]);
	line->shown = old_mask(a, text, f->words, f->count);
	line->above = f->comments;
	line->above_count = f->comment_count;
	f->comments = NULL;
	f->comment_count = 0;
	f->words = NULL;
	f->count = 0;
	return old_add(f->r, to, line) ? line : NULL;
}

/* The end of a long text of Lua, "[[...]]" or "[=[...]=]", that begins at `at`; NULL: none does. */
static const char *end_of_long(const char *at)
{
	size_t level;
	const char *end;

	if (*at != '[')
		return NULL;
	level = strspn(at + 1, "=");
	end = at + 1 + level;
	if (*end != '[')
		return NULL;
	for (end++; *end != '\0'; end++)
		if (*end == ']' && strspn(end + 1, "=") == level && end[1 + level] == ']')
			return end + 2 + level;
	return end;
}

/* The end of a text or a comment of Lua that begins at `at`; NULL: none does. */
static const char *end_of_quoted(const char *at)
{
	const bool comment = strncmp(at, "--", 2) == 0;
	const char *end = end_of_long(at + (comment ? 2 : 0));

	if (end != NULL)
		return end;
	if (comment)
		return at + strcspn(at, "\n");
	if (*at != '"' && *at != '\'')
		return NULL;
	for (end = at + 1; *end != '\0' && *end != '\n' && *end != *at; end++)
		end += *end == '\\' && end[1] != '\0';
	return end + (*end == *at);
}

/* Lua between braces is not nginx's: goes behind its end. */
static bool skip_code(struct nginx_file *f)
{
	unsigned open = 1;
	const unsigned from = f->line;

	while (*f->at != '\0' && open > 0) {
		const char *end = end_of_quoted(f->at);

		if (end == NULL) {
			open += *f->at == '{';
			open -= *f->at == '}';
			end = f->at + 1;
		}
		for (; f->at < end; f->at++)
			f->line += *f->at == '\n';
	}
	return open == 0 || old_fail(f->r, f->path, from, "a '{' that is not closed");
}

static bool read_file(struct old_reading *r, const struct nginx_file *from, const char *path,
		      struct old_lines *to, unsigned depth)
{
	struct nginx_file f = {.r = r, .from = from, .path = path, .line = 1, .depth = depth};

	for (const struct nginx_file *up = from; up != NULL; up = up->from)
		if (strcmp(up->path, path) == 0)
			return old_fail(r, from->path, from->line, "'%s' includes itself", path);
	if (depth > OLD_DEPTH_MAX)
		return old_fail(r, from->path, from->line,
				"files include each other more than %d levels deep", OLD_DEPTH_MAX);
	f.at = old_read_file(r, path, from != NULL ? from->path : NULL, from != NULL ? from->line : 0);
	return f.at != NULL && read_block(&f, to, 0, false);
}

static bool is_missing(const char *path)
{
	struct stat st;

	return stat(path, &st) != 0 && errno == ENOENT;
}

/* A file that is not on this machine: the configuration may be from another one. nginx's packages have
 * folders of files that only load modules. */
static void miss(struct nginx_file *f, struct old_line *line, const char *path)
{
	if (strstr(path, "/modules") != NULL && strstr(path, "mod-") != NULL)
		old_set(f->r->arena, line, OLD_NO_EFFECT, "it is not here; by its name, it loads a module");
	else
		old_set(f->r->arena, line, OLD_LOST,
			"'%s' is not here: convert where it is, or name its folder with --prefix", path);
}

static bool include(struct nginx_file *f, struct old_line *line, struct old_lines *to)
{
	const char *name = old_word(line, 1), *path = name;
	const char **paths = NULL;
	size_t count = 0;
	bool ok = true;
	glob_t found;

	if (line->count != 2)
		return old_fail(f->r, f->path, line->line, "'include' takes one name");
	if (name[0] != '/')
		path = arena_printf(f->r->arena, "%s/%s", f->r->prefix, name);
	old_set(f->r->arena, line, OLD_CARRIED, NULL);
	if (strpbrk(path, "*?[") == NULL && is_missing(path)) {
		miss(f, line, path);
		return true;
	}
	if (strpbrk(path, "*?[") == NULL)
		return read_file(f->r, f, path, to, f->depth + 1);
	if (glob(path, 0, NULL, &found) == 0) {
		count = found.gl_pathc < OLD_FILES_MAX ? found.gl_pathc : OLD_FILES_MAX;
		paths = calloc(count + 1, sizeof(*paths));
		ok = paths != NULL;
		for (size_t i = 0; ok && i < count; i++)
			paths[i] = arena_strndup(f->r->arena, found.gl_pathv[i], strlen(found.gl_pathv[i]));
	}
	globfree(&found);
	if (count == 0)
		old_set(f->r->arena, line, OLD_NO_EFFECT, "no file here has such a name");
	for (size_t i = 0; ok && i < count; i++)
		ok = read_file(f->r, f, paths[i], to, f->depth + 1);
	free(paths);
	return ok;
}

static bool ends_with(const char *text, const char *end)
{
	const size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* A directive whose words have been read, and what ended it. */
static bool take_directive(struct nginx_file *f, struct old_lines *to, enum stop stop, unsigned depth,
			   unsigned at, bool foreign)
{
	struct old_line *line;
	bool inside_foreign;

	if (f->count == 0)
		return stop == STOP_SEMICOLON ||
		       old_fail(f->r, f->path, f->line, "a '{' without a directive");
	line = add_line(f, to, at);
	if (line == NULL)
		return false;
	if (stop == STOP_SEMICOLON)
		return strcmp(line->words[0], "include") != 0 || foreign || include(f, line, to);
	line->block = true;
	if (ends_with(line->words[0], "_by_lua_block"))
		return skip_code(f);
	if (depth + 1 > OLD_DEPTH_MAX)
		return old_fail(f->r, f->path, at, "blocks are more than %d levels deep", OLD_DEPTH_MAX);
	inside_foreign =
	    foreign || strcmp(line->words[0], "http") == 0 || strcmp(line->words[0], "mail") == 0;
	return read_block(f, &line->inside, depth + 1, inside_foreign);
}

static bool read_block(struct nginx_file *f, struct old_lines *to, unsigned depth, bool foreign)
{
	const unsigned from = f->line;
	unsigned at = 0;

	for (;;) {
		const bool first = f->count == 0;
		const enum stop stop = next(f, to);

		if (first)
			at = f->line;
		if (stop == STOP_FAILED)
			return false;
		if (stop == STOP_END && f->count > 0)
			return old_fail(f->r, f->path, at, "a directive without its ';'");
		if (stop == STOP_END)
			return depth == 0 || old_fail(f->r, f->path, from, "a '{' that is not closed");
		if (stop == STOP_CLOSE && f->count > 0)
			return old_fail(f->r, f->path, at, "a directive without its ';'");
		if (stop == STOP_CLOSE)
			return depth > 0 || old_fail(f->r, f->path, f->line, "a '}' that closes nothing");
		if (stop != STOP_WORD && !take_directive(f, to, stop, depth, at, foreign))
			return false;
	}
}

bool nginx_read(struct old_reading *r, const char *path)
{
	const char *slash = strrchr(path, '/');

	r->guessed_prefix = r->guessed_prefix || r->prefix == NULL;
	if (r->prefix == NULL)
		r->prefix = slash == NULL ? "." : arena_strndup(r->arena, path, (size_t)(slash - path));
	return read_file(r, NULL, path, &r->lines, 0);
}

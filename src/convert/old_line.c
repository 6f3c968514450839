/* SPDX-License-Identifier: MIT
 *
 * old_line.c - lines of another program's configuration: reading files, and what became of each line.
 *
 * Main thread.
 */
#include "weir/convert/old_line.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "weir/base/check.h"

bool old_fail(struct old_reading *r, const char *file, unsigned line, const char *fmt, ...)
{
	va_list ap;

	if (r->error.text != NULL)
		return false;
	va_start(ap, fmt);
	r->error = (struct old_error){file, line, arena_vprintf(r->arena, fmt, ap)};
	va_end(ap);
	return false;
}

void old_set(struct arena *a, struct old_line *line, enum old_fate fate, const char *fmt, ...)
{
	const char *why = NULL;
	va_list ap;

	check(fate > OLD_OPEN && fate < OLD_FATES);
	if (fate < line->fate)
		return;
	if (fmt != NULL) {
		va_start(ap, fmt);
		why = arena_vprintf(a, fmt, ap);
		va_end(ap);
	}
	if (fate > line->fate)
		line->why = NULL;
	line->fate = fate;
	if (line->why == NULL)
		line->why = why;
	else if (why != NULL && strstr(line->why, why) == NULL)
		line->why = arena_printf(a, "%s; %s", line->why, why);
}

const char *old_word(const struct old_line *line, size_t i)
{
	return i < line->count ? line->words[i] : "";
}

char *old_read_file(struct old_reading *r, const char *path, const char *from, unsigned line)
{
	const char *file = from != NULL ? from : path;
	char *bytes;
	size_t len;
	int err;

	if (r->files++ >= OLD_FILES_MAX) {
		old_fail(r, file, line, "more than %d files", OLD_FILES_MAX);
		return NULL;
	}
	/* What a file includes must be a regular file: a FIFO would be waited for. */
	err = source_read_file(r->arena, path, from != NULL, &bytes, &len);
	if (err == 0 && len > OLD_BYTES_MAX)
		err = -EFBIG;
	if (err) {
		old_fail(r, file, line, "'%s' cannot be read: %s", path,
			 err == -EFBIG ? "it has more than 10 MiB" : strerror(-err));
		return NULL;
	}
	bytes[len] = '\0';
	if (memchr(bytes, '\0', len) != NULL) {
		unsigned at = 1;

		for (const char *c = bytes; *c != '\0'; c++)
			at += *c == '\n';
		old_fail(r, path, at, "a NUL byte: this is not a text file");
		return NULL;
	}
	if (len >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
		bytes += 3;
	return bytes;
}

bool old_add(struct old_reading *r, struct old_lines *to, struct old_line *line)
{
	if (r->every.count >= OLD_LINES_MAX)
		return old_fail(r, line->file, line->line, "more than %d lines", OLD_LINES_MAX);
	to->list = arena_grow(r->arena, to->list, to->count, sizeof(struct old_line *));
	to->list[to->count++] = line;
	if (to != &r->every) {
		r->every.list =
		    arena_grow(r->arena, r->every.list, r->every.count, sizeof(struct old_line *));
		r->every.list[r->every.count++] = line;
	}
	return true;
}

const char *old_template_mark(const char *text, size_t len)
{
	static const char *const marks[] = {"{{", "{%", "<%", "@@", "$("};

	for (size_t i = 0; i < len; i++)
		for (size_t m = 0; m < ARRAY_LEN(marks); m++)
			if (i + strlen(marks[m]) <= len && strncmp(text + i, marks[m], strlen(marks[m])) == 0)
				return marks[m];
	return NULL;
}

/* Words of which the next is, or begins with, a secret. */
static bool comes_before_secret(const char *first, const char *word)
{
	static const char *const words[] = {"password", "insecure-password", "Authorization", "secret",
					    "Authorization:"};

	if (strcmp(first, "tcp-check") == 0 && (strcmp(word, "AUTH") == 0 || strcmp(word, "PASS") == 0))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcasecmp(word, words[i]) == 0)
			return true;
	return false;
}

/* Does a word carry a secret inside? Returns where that begins, or NULL. */
static const char *secret_inside(const char *word)
{
	static const char *const marks[] = {"AUTH ", "PASS ", "Authorization:", "password=", "AUTH\r\n"};

	for (size_t m = 0; m < ARRAY_LEN(marks); m++) {
		const char *at = strcasestr(word, marks[m]);

		if (at != NULL)
			return at + strlen(marks[m]);
	}
	return NULL;
}

static bool has_secret(const char *const *words, size_t count)
{
	if (count > 2 && strcmp(words[0], "stats") == 0 && strcmp(words[1], "auth") == 0)
		return true;
	for (size_t i = 0; i < count; i++)
		if ((i + 1 < count && comes_before_secret(words[0], words[i])) ||
		    secret_inside(words[i]) != NULL)
			return true;
	return false;
}

const char *old_mask(struct arena *a, const char *text, const char *const *words, size_t count)
{
	const char *out = "";

	if (!has_secret(words, count))
		return text;
	for (size_t i = 0; i < count; i++) {
		const char *inside = secret_inside(words[i]), *colon = strchr(words[i], ':');
		int keep = (int)strlen(words[i]);
		const char *stars = "";

		if (i > 0 && comes_before_secret(words[0], words[i - 1])) {
			keep = 0;
			stars = "***";
		} else if (i == 2 && strcmp(words[1], "auth") == 0 && strcmp(words[0], "stats") == 0) {
			keep = colon != NULL ? (int)(colon + 1 - words[i]) : 0;
			stars = "***";
		} else if (inside != NULL) {
			keep = (int)(inside - words[i]);
			stars = "***";
		}
		out = arena_printf(a, "%s%s%.*s%s", out, i > 0 ? " " : "", keep, words[i], stars);
		if (i > 0 && comes_before_secret(words[0], words[i - 1]))
			return arena_printf(a, "%s ...", out);
	}
	return out;
}

bool old_comment_ok(const char *text, size_t len)
{
	static const char *const marks[] = {"passw", "stats auth", "auth ", "secret", "token", "basic "};
	bool says = false;

	/* A line that only separates says nothing in a shorter file. */
	for (size_t i = 0; i < len && !says; i++)
		says = isalnum((unsigned char)text[i]) || (text[i] & 0x80) != 0;
	if (!says)
		return false;
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)text[i] < ' ' && text[i] != '\t')
			return false;
		for (size_t m = 0; m < ARRAY_LEN(marks); m++)
			if (i + strlen(marks[m]) <= len &&
			    strncasecmp(text + i, marks[m], strlen(marks[m])) == 0)
				return false;
	}
	return len < 400;
}

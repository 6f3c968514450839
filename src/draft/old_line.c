/* SPDX-License-Identifier: MIT
 *
 * old_line.c - lines of another program's configuration: reading files, and what became of each line.
 *
 * Main thread.
 */
#include "weir/draft/old_line.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "weir/base/check.h"

#define WHY_MAX	   400 /* bytes of the reasons of a line: a map may have one for each entry */
#define MASKED_MAX 4096 /* bytes, about, that are shown of a line with a password */

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

static const char *add_reason(struct arena *a, const char *reasons, const char *why)
{
	const char *more = arena_printf(a, "%s; %s", reasons, why);

	return strlen(more) < WHY_MAX ? more : arena_printf(a, "%s; ...", more);
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
	else if (why != NULL && strlen(line->why) < WHY_MAX && strstr(line->why, why) == NULL)
		line->why = add_reason(a, line->why, why);
}

const char *old_word(const struct old_line *line, size_t i)
{
	return i < line->count ? line->words[i] : "";
}

bool old_has_word(const struct old_line *line, size_t from, const char *word)
{
	for (size_t i = from; i < line->count; i++)
		if (strcmp(line->words[i], word) == 0)
			return true;
	return false;
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
			 err == -EFBIG ? "it has more than 10 MiB" : source_why_unread(err));
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

void old_lines_add(struct arena *a, struct old_lines *to, struct old_line *line)
{
	to->list = arena_grow(a, to->list, to->count, sizeof(*to->list));
	to->list[to->count++] = line;
}

bool old_add(struct old_reading *r, struct old_lines *to, struct old_line *line)
{
	if (r->every.count >= OLD_LINES_MAX)
		return old_fail(r, line->file, line->line, "more than %d lines", OLD_LINES_MAX);
	old_lines_add(r->arena, to, line);
	if (to != &r->every)
		old_lines_add(r->arena, &r->every, line);
	return true;
}

/* "{%ci" may be in a log-format of HAProxy's: a field right behind the brace, and no "%}" after it. */
static bool is_log_field(const char *text, size_t len)
{
	return len > 2 && text[0] == '{' && text[1] == '%' && isalpha((unsigned char)text[2]) != 0 &&
	       memmem(text, len, "%}", 2) == NULL;
}

const char *old_template_mark(const char *text, size_t len)
{
	static const char *const marks[] = {"{{", "{%", "<%", "@@", "$("};

	for (size_t i = 0; i < len; i++)
		for (size_t m = 0; m < ARRAY_LEN(marks); m++)
			if (i + strlen(marks[m]) <= len &&
			    strncmp(text + i, marks[m], strlen(marks[m])) == 0 &&
			    !is_log_field(text + i, len - i))
				return marks[m];
	return NULL;
}

static bool ends_with_one(const char *word, const char *const *ends, size_t count)
{
	const size_t len = strlen(word);

	for (size_t i = 0; i < count; i++)
		if (len >= strlen(ends[i]) && strcasecmp(word + len - strlen(ends[i]), ends[i]) == 0)
			return true;
	return false;
}

/* Where the password of "scheme://user:password@host" begins, or NULL. */
static const char *secret_of_url(const char *word)
{
	const char *host = strstr(word, "://"), *colon;
	size_t len;

	if (host == NULL)
		return NULL;
	host += 3;
	len = strcspn(host, "@/");
	colon = memchr(host, ':', len);
	return host[len] == '@' && colon != NULL ? colon + 1 : NULL;
}

const char *old_secret(const char *word)
{
	static const char *const marks[] = {
	    "AUTH ", "PASS ",  "LOGIN ",  "Authorization:", "password=", "passwd=",
	    "pwd=",  "token=", "secret=", "apikey=",	    "api_key=",	 "AUTH\r\n"};

	for (size_t m = 0; m < ARRAY_LEN(marks); m++) {
		const char *at = strcasestr(word, marks[m]);

		if (at != NULL)
			return at + strlen(marks[m]);
	}
	return secret_of_url(word);
}

/* The same for bytes as pairs of hexadecimal digits; their case does not matter there. */
static bool is_secret_in_hex(const char *word)
{
	static const char *const marks[] = {"41555448", "50415353", "4c4f47494e",
					    "61757468", "70617373", "6c6f67696e"};

	for (size_t m = 0; m < ARRAY_LEN(marks); m++)
		if (strcasestr(word, marks[m]) != NULL)
			return true;
	return false;
}

static const char *const secret_words[] = {
    "password", "passwd", "secret", "token", "api-key", "api_key", "apikey", "anonkey", "authorization",
    "authorization:"};

bool old_is_secret_name(const char *name)
{
	static const char *const names[] = {"pass", "pwd", "pw", "key"};

	return ends_with_one(name, names, ARRAY_LEN(names)) ||
	       ends_with_one(name, secret_words, ARRAY_LEN(secret_words));
}

/* Is the word behind number `i` a secret, or does it begin one? */
static bool comes_before_secret(const char *const *words, size_t count, size_t i)
{
	static const char *const logins[] = {"AUTH", "PASS", "LOGIN"};
	const char *first = words[0], *word = words[i];

	if (i + 1 >= count)
		return false;
	if (strcmp(first, "tcp-check") == 0 &&
	    (ends_with_one(word, logins, ARRAY_LEN(logins)) ||
	     (i == 1 && strcmp(word, "send-binary") == 0 && is_secret_in_hex(words[i + 1]))))
		return true;
	if (i == 1 && (strcmp(first, "setenv") == 0 || strcmp(first, "presetenv") == 0) &&
	    old_is_secret_name(word))
		return true;
	return ends_with_one(word, secret_words, ARRAY_LEN(secret_words));
}

/* The word of "stats auth USER:PASSWORD" that has the password; 0 = another line. */
static size_t login_at(const char *const *words, size_t count)
{
	const size_t at = count > 0 && strcmp(words[0], "no") == 0 ? 1 : 0;

	if (count > at + 2 && strcmp(words[at], "stats") == 0 && strcmp(words[at + 1], "auth") == 0)
		return at + 2;
	return 0;
}

static bool has_secret(const char *const *words, size_t count)
{
	if (login_at(words, count) > 0)
		return true;
	for (size_t i = 0; i < count; i++)
		if (comes_before_secret(words, count, i) || old_secret(words[i]) != NULL)
			return true;
	return false;
}

const char *old_mask(struct arena *a, const char *text, const char *const *words, size_t count)
{
	const size_t login = login_at(words, count);
	const char *out = "";

	if (!has_secret(words, count))
		return text;
	for (size_t i = 0; i < count && strlen(out) <= MASKED_MAX; i++) {
		const char *inside = old_secret(words[i]), *colon = strchr(words[i], ':');
		int keep = (int)strlen(words[i]);
		const char *stars = "";

		if (i > 0 && comes_before_secret(words, count, i - 1))
			return arena_printf(a, "%s *** ...", out);
		if (login > 0 && i == login) {
			keep = colon != NULL ? (int)(colon + 1 - words[i]) : 0;
			stars = "***";
		} else if (inside != NULL) {
			keep = (int)(inside - words[i]);
			stars = "***";
		}
		out = arena_printf(a, "%s%s%.*s%s", out, i > 0 ? " " : "", keep, words[i], stars);
		if (login > 0 && i == login)
			return out;
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
		if (((unsigned char)text[i] < ' ' && text[i] != '\t') || text[i] == 0x7f)
			return false;
		for (size_t m = 0; m < ARRAY_LEN(marks); m++)
			if (i + strlen(marks[m]) <= len &&
			    strncasecmp(text + i, marks[m], strlen(marks[m])) == 0)
				return false;
	}
	return len < 400;
}

/* SPDX-License-Identifier: MIT
 *
 * log_fields.c - text that is safe in a log line, and the members of a JSON log line.
 *
 * Never overruns a buffer and never splits an escape. Any thread.
 */
#include "weir/base/log_fields.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"

#define MARK_LEN    (sizeof(LOG_CUT_MARK) - 1)
#define ESCAPED_MAX 5u /* "\\xNN" inside of JSON */

static const char digits[] = "0123456789abcdef";

/* Must `c` be seen as a number, because it could end the line or hide what follows? */
static bool is_unprintable(unsigned char c)
{
	return c < ' ' || c > 126;
}

/* Writes `c` as it stands in a text, or inside of a JSON string; the length. */
static size_t put_char(unsigned char c, bool json, char out[static ESCAPED_MAX])
{
	size_t n = 0;

	if (!is_unprintable(c)) {
		if (json && (c == '"' || c == '\\'))
			out[n++] = '\\';
		out[n++] = (char)c;
		return n;
	}
	if (json)
		out[n++] = '\\';
	out[n++] = '\\';
	out[n++] = 'x';
	out[n++] = digits[c >> 4];
	out[n++] = digits[c & 15];
	return n;
}

/* Writes at most `room` bytes, no NUL; cut with a mark, which `room` has place for. */
static size_t put_text(const char *in, size_t len, bool json, struct log_fields *to)
{
	char one[ESCAPED_MAX];
	size_t fits = 0; /* where the mark would go */
	size_t used = 0;

	check(to->room >= MARK_LEN);
	for (size_t i = 0; i < len; i++) {
		size_t n = put_char((unsigned char)in[i], json, one);

		if (used + n > to->room) {
			memcpy(to->out + fits, LOG_CUT_MARK, MARK_LEN);
			return fits + MARK_LEN;
		}
		memcpy(to->out + used, one, n);
		used += n;
		if (used + MARK_LEN <= to->room)
			fits = used;
	}
	return used;
}

size_t log_plain(const char *in, size_t len, char *out, size_t room)
{
	struct log_fields to = {.out = out, .room = room - 1};
	size_t n;

	check(room > MARK_LEN);
	n = put_text(in, len, false, &to);
	out[n] = '\0';
	return n;
}

void log_fields_init(struct log_fields *f, char *out, size_t room)
{
	check(room > 0);
	*f = (struct log_fields){.out = out, .room = room};
	out[0] = '\0';
}

void log_fields_bytes(struct log_fields *f, const char *key, const char *value, size_t len)
{
	/* ,"key":"..." and the NUL */
	const size_t around = (f->len > 0) + strlen(key) + 5 + 1;
	const size_t left = f->room - f->len;
	struct log_fields to;

	if (left < around + MARK_LEN)
		return;
	f->len += (size_t)snprintf(f->out + f->len, left, "%s\"%s\":\"", f->len > 0 ? "," : "", key);
	to = (struct log_fields){.out = f->out + f->len, .room = left - around};
	f->len += put_text(value, len, true, &to);
	f->out[f->len++] = '"';
	f->out[f->len] = '\0';
	check(f->len < f->room);
}

void log_fields_text(struct log_fields *f, const char *key, const char *value)
{
	log_fields_bytes(f, key, value, strlen(value));
}

void log_fields_number(struct log_fields *f, const char *key, const char *fmt, ...)
{
	const size_t left = f->room - f->len;
	char number[64];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(number, sizeof(number), fmt, ap);
	va_end(ap);
	check(n > 0);
	check((size_t)n < sizeof(number));
	n = snprintf(f->out + f->len, left, "%s\"%s\":%s", f->len > 0 ? "," : "", key, number);
	check(n > 0);
	if ((size_t)n < left)
		f->len += (size_t)n;
	f->out[f->len] = '\0';
}

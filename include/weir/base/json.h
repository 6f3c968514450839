/* SPDX-License-Identifier: MIT
 *
 * json.h - the only JSON writer: strings and their escapes, keys, numbers, arrays, objects, commas.
 *
 * Writes to a text (text.h), which records whether something did not fit. The caller pairs beginnings and
 * ends. An item has a key in an object; in an array, and at the top level, its key is NULL. Everything is on
 * one line except where json_line() starts another. Not thread-safe; allocates nothing itself.
 */
#ifndef WEIR_BASE_JSON_H
#define WEIR_BASE_JSON_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base/text.h"

/* How bytes outside printable ASCII are written. A quote and a backslash are always preceded by a
 * backslash. */
enum json_bytes {
	JSON_CODES, /* each as \u00NN: for names and addresses, which are ASCII */
	JSON_UTF8,  /* valid UTF-8 is kept, other bytes become U+FFFD, control bytes \u00NN: for text that
		     * people write */
	JSON_HEX,   /* each as the four characters \xNN, as in a log line in text form */
};

struct json {
	struct text *out; /* borrows */
	enum json_bytes bytes;
	bool spaced; /* a blank after colons and commas */
	bool more;   /* the next item follows another one */
	bool keyed;  /* the next item has its key already */
	int indent;  /* of the new line that the next item, or the end, goes on; -1 = no new line */
};

void json_init(struct json *j, struct text *out, enum json_bytes bytes);
/* The next item, or the end of its container, goes on a line of its own, indented by `indent` blanks. The end
 * of an empty container stays on the same line. */
void json_line(struct json *j, int indent);

void json_array(struct json *j, const char *key);
void json_array_end(struct json *j);
void json_object(struct json *j, const char *key);
void json_object_end(struct json *j);

/* NULL is null. */
void json_string(struct json *j, const char *key, const char *value);
void json_string_of(struct json *j, const char *key, const char *value, size_t len);
/* A number if `value` is an integer as JSON writes it, otherwise a string. */
void json_word(struct json *j, const char *key, const char *value, size_t len);
void json_unsigned(struct json *j, const char *key, uint64_t value);
void json_signed(struct json *j, const char *key, int64_t value);
void json_bool(struct json *j, const char *key, bool value);
/* Formatted by printf: a number, or anything else that is JSON already. */
void json_printf(struct json *j, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void json_vprintf(struct json *j, const char *key, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));
/* The key of the next item, which is then added with a NULL key. */
void json_key(struct json *j, const char *key, size_t len);

/* Is this byte written unchanged in every mode? */
static inline bool json_is_plain(unsigned char c)
{
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

/* Writes one byte as it appears between quotes: at most JSON_BYTE_MAX bytes, no NUL; returns how many. (In
 * UTF-8, a single byte above 127 is not a character.) */
#define JSON_BYTE_MAX 6
size_t json_escape(unsigned char c, enum json_bytes bytes, char out[static JSON_BYTE_MAX]);

#endif

/* SPDX-License-Identifier: MIT
 *
 * json.h - the one writer of JSON: strings and their escapes, keys, numbers, arrays, objects, commas.
 *
 * Writes to a text (text.h), which remembers what did not fit. Begins and ends are the caller's to pair. An
 * item has a key in an object; in an array, and as the whole, its key is NULL. Everything stands in one line,
 * but where json_line() says otherwise. Not thread-safe; allocates nothing itself.
 */
#ifndef WEIR_BASE_JSON_H
#define WEIR_BASE_JSON_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base/text.h"

/* What becomes of bytes that are no printable ASCII. A quote and a backslash have a backslash before them
 * in any case. */
enum json_bytes {
	JSON_CODES, /* each as \u00NN: for names and addresses, which are ASCII */
	JSON_UTF8,  /* UTF-8 stays, what is none becomes U+FFFD, control bytes \u00NN: what people write */
	JSON_HEX,   /* each as the four characters \xNN, which a log line as text has too */
};

struct json {
	struct text *out; /* borrows */
	enum json_bytes bytes;
	bool spaced; /* a blank behind colons and commas */
	bool more;   /* an item stands before the next one */
	bool keyed;  /* the next item has its key already */
	int indent;  /* of the line that the next item, or the end, begins; -1 = none */
};

void json_init(struct json *j, struct text *out, enum json_bytes bytes);
/* The next item, or the end of what holds it, stands on a line of its own, so many blanks in. The end of
 * what is empty does not. */
void json_line(struct json *j, int indent);

void json_array(struct json *j, const char *key);
void json_array_end(struct json *j);
void json_object(struct json *j, const char *key);
void json_object_end(struct json *j);

/* NULL is null. */
void json_string(struct json *j, const char *key, const char *value);
void json_string_of(struct json *j, const char *key, const char *value, size_t len);
/* A number when it reads as a whole one, as JSON writes it; else a string. */
void json_word(struct json *j, const char *key, const char *value, size_t len);
void json_unsigned(struct json *j, const char *key, uint64_t value);
void json_signed(struct json *j, const char *key, int64_t value);
void json_bool(struct json *j, const char *key, bool value);
/* As printf makes it: a number, or what else is JSON already. */
void json_printf(struct json *j, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void json_vprintf(struct json *j, const char *key, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));
/* The key of the next item, which is then added with NULL for one. */
void json_key(struct json *j, const char *key, size_t len);

/* Does this byte stand for itself, whatever becomes of others? */
static inline bool json_is_plain(unsigned char c)
{
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

/* How one byte stands between quotes: at most JSON_BYTE_MAX bytes, no NUL; returns how many. (As UTF-8 one
 * byte above 127 is none.) */
#define JSON_BYTE_MAX 6
size_t json_escape(unsigned char c, enum json_bytes bytes, char out[static JSON_BYTE_MAX]);

#endif

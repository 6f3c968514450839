/* SPDX-License-Identifier: MIT
 *
 * text.h - a string that grows, for answers of the admin socket, or that fills a buffer of the caller.
 *
 * Running out of memory (or past TEXT_BYTES_MAX, or of the buffer) sets `failed`, which is checked once at
 * the end, not after each line. Not thread-safe.
 */
#ifndef WEIR_BASE_TEXT_H
#define WEIR_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TEXT_BYTES_MAX (256u << 20)

struct text {
	char *bytes; /* owns, or borrows the caller's buffer */
	size_t len;
	size_t room;
	bool fixed;  /* `bytes` is borrowed and never grows */
	bool failed; /* something did not fit: do not use the text */
};

void text_init(struct text *t);
/* Begins an empty text in a buffer of `room` bytes, NUL included. Allocates nothing; nothing has to be
 * freed. */
void text_over(struct text *t, char *buf, size_t room);
/* Frees the bytes; the text is then empty and reusable. */
void text_free(struct text *t);
/* Shortens the text to its first `len` bytes; it has at least as many. */
void text_cut(struct text *t, size_t len);
void text_add(struct text *t, const char *bytes, size_t len);
void text_printf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_vprintf(struct text *t, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Writes the whole text, or nothing if it failed. */
void text_print(const struct text *t, FILE *out);

#endif

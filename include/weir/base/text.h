/* SPDX-License-Identifier: MIT
 *
 * text.h - a text that grows, for the answers of the admin socket, or that fills a buffer of its caller's.
 *
 * Running out of memory (or past TEXT_BYTES_MAX, or of the buffer) is remembered in `failed` and asked once
 * at the end, not after each line. Not thread-safe.
 */
#ifndef WEIR_BASE_TEXT_H
#define WEIR_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TEXT_BYTES_MAX (256u << 20)

struct text {
	char *bytes; /* owns, or borrows what it was laid over */
	size_t len;
	size_t room;
	bool fixed;  /* borrows, and never grows */
	bool failed; /* something did not fit: the text is not to be used */
};

void text_init(struct text *t);
/* An empty text in a buffer of `room` bytes, its NUL among them: nothing is allocated, nor to be freed. */
void text_over(struct text *t, char *buf, size_t room);
/* Frees the bytes; the text is empty and may be used again. */
void text_free(struct text *t);
void text_add(struct text *t, const char *bytes, size_t len);
void text_printf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_vprintf(struct text *t, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Writes all of it, but nothing of a text that is not to be used. */
void text_print(const struct text *t, FILE *out);

#endif

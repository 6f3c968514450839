/* SPDX-License-Identifier: MIT
 *
 * text.h - a text that grows, for the answers of the admin socket.
 *
 * Running out of memory (or past TEXT_BYTES_MAX) is remembered in `failed` and asked once at the
 * end, not after each line. Not thread-safe.
 */
#ifndef WEIR_BASE_TEXT_H
#define WEIR_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define TEXT_BYTES_MAX (256u << 20)

struct text {
	char *bytes; /* owns */
	size_t len;
	size_t room;
	bool failed; /* something did not fit: the text is not to be used */
};

void text_init(struct text *t);
/* Frees the bytes; the text is empty and may be used again. */
void text_free(struct text *t);
void text_add(struct text *t, const char *bytes, size_t len);
void text_printf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif

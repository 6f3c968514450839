/* SPDX-License-Identifier: MIT
 *
 * last_text.h - builds a line of text where no function of the C library may be called.
 *
 * For last_words.c and check.c. All but last_text_prepare() are safe in a signal handler.
 */
#ifndef WEIR_BASE_LAST_TEXT_H
#define WEIR_BASE_LAST_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Below PIPE_BUF, so that a pipe takes the line whole, and below what a syslog server accepts (RFC 5424,
 * 6.1). */
#define LAST_TEXT_MAX 2048u

struct last_text {
	size_t len;
	char bytes[LAST_TEXT_MAX]; /* NUL-terminated; what does not fit is cut */
};

/* Records what cannot be queried later: the loaded modules and the time zone. Main thread, once. */
void last_text_prepare(void);

void last_text_begin(struct last_text *t);
void last_text_put(struct last_text *t, const char *text);
void last_text_number(struct last_text *t, uint64_t n, unsigned base);
/* Adds an address of this process as "weir+0x1234", the form that addr2line(1) takes. */
void last_text_place(struct last_text *t, uintptr_t address);
/* Adds a newline, even when there is no room left. */
void last_text_end_line(struct last_text *t);
/* Sets `t` to `text` inside `frame` (last_words.h). */
void last_text_frame(struct last_text *t, const char *frame, const char *text);

#endif

/* SPDX-License-Identifier: MIT
 *
 * last_text.h - a line of text, made where no function of the C library may be called.
 *
 * For last_words.c and check.c. Safe in a signal handler, but for last_text_prepare().
 */
#ifndef WEIR_BASE_LAST_TEXT_H
#define WEIR_BASE_LAST_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Less than PIPE_BUF, so that a pipe takes it whole, and than what a syslog server takes (RFC 5424, 6.1). */
#define LAST_TEXT_MAX 2048u

struct last_text {
	size_t len;
	char bytes[LAST_TEXT_MAX]; /* NUL-terminated; what does not fit is cut */
};

/* Learns what cannot be asked later: the modules in memory, the time zone. Main thread, once. */
void last_text_prepare(void);

void last_text_begin(struct last_text *t);
void last_text_put(struct last_text *t, const char *text);
void last_text_number(struct last_text *t, uint64_t n, unsigned base);
/* "weir+0x1234" of an address in our memory: what addr2line(1) takes. */
void last_text_place(struct last_text *t, uintptr_t address);
/* A newline, also where there is no room left. */
void last_text_end_line(struct last_text *t);
/* Begins `t` with a frame of last_words.h around `text`. */
void last_text_frame(struct last_text *t, const char *frame, const char *text);

#endif

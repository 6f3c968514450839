/* SPDX-License-Identifier: MIT
 *
 * crash_text.h - builds a line of text where no function of the C library may be called.
 *
 * For crash_report.c and check.c. All but crash_text_prepare() are safe in a signal handler.
 */
#ifndef WEIR_BASE_CRASH_TEXT_H
#define WEIR_BASE_CRASH_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Below PIPE_BUF, so that a pipe takes the line whole, and below what a syslog server accepts (RFC 5424,
 * 6.1). */
#define CRASH_TEXT_MAX 2048u

struct crash_text {
	size_t len;
	char bytes[CRASH_TEXT_MAX]; /* NUL-terminated; what does not fit is cut */
};

/* Records what cannot be queried later: the loaded modules and the time zone. Main thread, once. */
void crash_text_prepare(void);

void crash_text_begin(struct crash_text *t);
void crash_text_put(struct crash_text *t, const char *text);
void crash_text_number(struct crash_text *t, uint64_t n, unsigned base);
/* Adds an address of this process as "weir+0x1234", the form that addr2line(1) takes. */
void crash_text_place(struct crash_text *t, uintptr_t address);
/* Adds a newline, even when there is no room left. */
void crash_text_end_line(struct crash_text *t);
/* Sets `t` to `text` inside `frame` (crash_report.h). */
void crash_text_frame(struct crash_text *t, const char *frame, const char *text);

#endif

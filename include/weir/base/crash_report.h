/* SPDX-License-Identifier: MIT
 *
 * crash_report.h - what a daemon writes when a failed check or a fatal signal ends it.
 *
 * Two lines, to stderr and to each log target: one says what happened, in which thread, and which session
 * that thread handled last; the other is a backtrace. The dying thread writes them, using only system calls
 * and memory that it already has: the heap may be corrupt and any lock may be held. Then the process ends as
 * it would have without this: same signal, same core file.
 */
#ifndef WEIR_BASE_CRASH_REPORT_H
#define WEIR_BASE_CRASH_REPORT_H

#include <stddef.h>
#include <stdint.h>

/* The text around a line, with its NUL. */
#define CRASH_REPORT_FRAME_MAX 384u
/* Further targets are ignored. */
#define CRASH_REPORT_TARGETS 16u

/* In a frame: where the time (UTC as "2026-11-21T10:00:00.123Z", or local as "Nov 21 10:00:00") and the text
 * go. The text has no quotes and no backslashes. */
#define CRASH_REPORT_UTC "\1"
#define CRASH_REPORT_LOCAL "\2"
#define CRASH_REPORT_TEXT "\3"

/* One destination of the lines. */
struct crash_report_target {
	const int *fd; /* borrows; read when lines are written; below 0 or stderr's: skipped */
	char frame[CRASH_REPORT_FRAME_MAX]; /* with a newline: none for a datagram socket, NUL for a stream */
};

/* From now on fatal signals (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT) and failed checks write their lines.
 * If something else already handles SIGSEGV, as a sanitizer does, no handler is changed. Called once, on the
 * main thread, before any other thread starts. */
void crash_report_begin(void);
/* Names the calling thread (cut to 15 bytes) and lets it handle fatal signals, on a separate stack. */
void crash_report_thread(const char *name);

/* Adds or removes a target. It still belongs to the caller and must not move. Harmless if it is not there, or
 * if there are too many. Any thread. */
void crash_report_add(struct crash_report_target *t);
void crash_report_remove(struct crash_report_target *t);

/* A check has failed, or control cannot continue: writes lines for `cause` as for a signal. Before
 * crash_report_begin() it only writes the cause to stderr. From here on SIGABRT ends the process with no
 * further lines. Any thread. */
void crash_report_cause(const char *cause);

/* The session that this thread is handling, for the lines above: set on each event of a session. */
extern _Thread_local uint64_t crash_report_at; /* 1 + number; 0 = none yet */
static inline void crash_report_session(uint32_t number)
{
	crash_report_at = 1 + (uint64_t)number;
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * last_words.h - what a daemon writes when it ends by a broken check or a fatal signal.
 *
 * Two lines, to stderr and to each log target: what happened, in which thread, with which session last; and a
 * backtrace. Written by the thread that is dying, with nothing but system calls and memory that is there
 * already: the heap may be broken and any lock held. Then the process ends as it would have without this:
 * the same signal, the same core file.
 */
#ifndef WEIR_BASE_LAST_WORDS_H
#define WEIR_BASE_LAST_WORDS_H

#include <stddef.h>
#include <stdint.h>

/* What stands around a line, with its NUL. */
#define LAST_WORDS_FRAME_MAX 384u
/* More targets than that hear nothing. */
#define LAST_WORDS_TARGETS 16u

/* In a frame: where the time (UTC as "2026-11-21T10:00:00.123Z", or local as "Nov 21 10:00:00") and the text
 * are put. The text has no quotes and no backslashes. */
#define LAST_WORDS_UTC "\1"
#define LAST_WORDS_LOCAL "\2"
#define LAST_WORDS_TEXT "\3"

/* One place that the lines go to. */
struct last_words_target {
	const int *fd; /* borrows: whatever is in it then is written to; below 0 or stderr's: nothing */
	char frame[LAST_WORDS_FRAME_MAX]; /* with the newline; a socket gets no newline, or NUL if a stream */
};

/* From now on fatal signals (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT) and broken checks write their lines.
 * Where somebody else handles SIGSEGV, as a sanitizer does, all of them stay as they are. For the main
 * thread, once, before there are others. */
void last_words_begin(void);
/* Names the calling thread (15 bytes; cut), and lets it take fatal signals, on a stack of their own. */
void last_words_thread(const char *name);

/* Adds a target, or takes it away again. It stays the caller's, and must not move. Harmless when it is not
 * there, or when there are too many. Any thread. */
void last_words_add(struct last_words_target *t);
void last_words_remove(struct last_words_target *t);

/* A check has failed, or control cannot go on: writes `cause` as a signal's lines are written. Does nothing
 * before last_words_begin() but to write the cause to stderr. SIGABRT ends the process from here on. Any
 * thread. */
void last_words_check(const char *cause);

/* The session that this thread is at, for the record: each event of one says so. */
extern _Thread_local uint64_t last_words_at; /* 1 + number; 0 = none yet */
static inline void last_words_session(uint32_t number)
{
	last_words_at = 1 + (uint64_t)number;
}

#endif

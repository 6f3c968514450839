/* SPDX-License-Identifier: MIT
 *
 * last_words.h - what a daemon writes when a failed check or a fatal signal ends it.
 *
 * Two lines, to stderr and to each log target: one says what happened, in which thread, and which session
 * that thread handled last; the other is a backtrace. The dying thread writes them, using only system calls
 * and memory that it already has: the heap may be corrupt and any lock may be held. Then the process ends as
 * it would have without this: same signal, same core file.
 */
#ifndef WEIR_BASE_LAST_WORDS_H
#define WEIR_BASE_LAST_WORDS_H

#include <stddef.h>
#include <stdint.h>

/* The text around a line, with its NUL. */
#define LAST_WORDS_FRAME_MAX 384u
/* Further targets are ignored. */
#define LAST_WORDS_TARGETS 16u

/* In a frame: where the time (UTC as "2026-11-21T10:00:00.123Z", or local as "Nov 21 10:00:00") and the text
 * go. The text has no quotes and no backslashes. */
#define LAST_WORDS_UTC "\1"
#define LAST_WORDS_LOCAL "\2"
#define LAST_WORDS_TEXT "\3"

/* One destination of the lines. */
struct last_words_target {
	const int *fd; /* borrows; read when lines are written; below 0 or stderr's: skipped */
	char frame[LAST_WORDS_FRAME_MAX]; /* with a newline: none for a datagram socket, NUL for a stream */
};

/* From now on fatal signals (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT) and failed checks write their lines.
 * If something else already handles SIGSEGV, as a sanitizer does, no handler is changed. Called once, on the
 * main thread, before any other thread starts. */
void last_words_begin(void);
/* Names the calling thread (cut to 15 bytes) and lets it handle fatal signals, on a separate stack. */
void last_words_thread(const char *name);

/* Adds or removes a target. It still belongs to the caller and must not move. Harmless if it is not there, or
 * if there are too many. Any thread. */
void last_words_add(struct last_words_target *t);
void last_words_remove(struct last_words_target *t);

/* A check has failed, or control cannot continue: writes lines for `cause` as for a signal. Before
 * last_words_begin() it only writes the cause to stderr. From here on SIGABRT ends the process with no
 * further lines. Any thread. */
void last_words_check(const char *cause);

/* The session that this thread is handling, for the lines above: set on each event of a session. */
extern _Thread_local uint64_t last_words_at; /* 1 + number; 0 = none yet */
static inline void last_words_session(uint32_t number)
{
	last_words_at = 1 + (uint64_t)number;
}

#endif

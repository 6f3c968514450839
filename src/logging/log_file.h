/* SPDX-License-Identifier: MIT
 *
 * log_file.h - a thread that writes one log file, so that a disk that hangs delays nobody else.
 *
 * Lines wait in a queue of LOG_QUEUE_BYTES; what does not fit stays with the caller. On request the thread
 * reopens the file between two lines, or ends once it has written everything. If it hangs at shutdown it is
 * abandoned. Also serves pipes and terminals, which other processes may fill between poll(2) and write(2).
 * Control calls everything here. Nothing waits, except the two functions with a timeout.
 */
#ifndef WEIR_LOGGING_LOG_FILE_H
#define WEIR_LOGGING_LOG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_file;

struct log_file_start {
	int fd;		  /* the descriptor to write to */
	bool owned;	  /* close `fd` at the end; else it is stderr, which stays open */
	const char *path; /* copied; for reopening; NULL for stderr */
	/* Opens `path` for appending: a descriptor or -errno. Called by the thread, as it may hang. */
	int (*open)(const char *path);
	/* Called by the thread when log_file_look() has something new, when there is room again after a
	 * log_file_put() that did not take everything, and when the thread has ended after log_file_leave().
	 * Must not block; never called after log_file_free() has begun. */
	void (*wake)(void *arg);
	void *arg;
};

/* What the thread has done so far. Times are those of one write, or of opening the file. */
struct log_file_view {
	uint64_t lost;	    /* lines that the kernel refused, and those below */
	uint64_t unwritten; /* lines for which a full pipe had no room when the thread had to end */
	bool refused;	    /* the last write was refused; later lines may succeed */
	int64_t stalled_ns; /* sum of those that took a second or longer; files only */
	int64_t waiting_ns; /* duration of the current one; 0 = nothing to write */
	unsigned opened;    /* how many log_file_reopen() are done */
	int open_err;	    /* of the last one: 0, or -errno and the old file is still in use */
};

/* Starts the thread; takes `s->fd` if it is owned. NULL on failure, with `*err` -ENOMEM, -EAGAIN (no more
 * threads) or -EMFILE; then the caller still has `s->fd`. */
struct log_file *log_file_new(const struct log_file_start *s, int *err);
/* Ends the thread once it has written everything, its pipe is full, or `timeout_ms` have passed. In the last
 * case it is abandoned with everything it uses. */
void log_file_free(struct log_file *f, int timeout_ms);
/* Ends the thread once it has written everything, however long that takes; it closes the file. Nothing may be
 * put any more. */
void log_file_leave(struct log_file *f);
/* After log_file_leave(): a full pipe is no longer waited for, but its lines are dropped and counted. A disk
 * that hangs still is. */
void log_file_hurry(struct log_file *f);
/* Has the thread ended? Then log_file_look() has its last counts, and log_file_free() does not wait. */
bool log_file_has_ended(struct log_file *f);
/* Takes as many whole lines from the start of `lines` as fit; returns their length in bytes. */
size_t log_file_put(struct log_file *f, const char *lines, size_t len);
/* Asks the thread to reopen its path. Lines already queued may still go to the old file. */
void log_file_reopen(struct log_file *f);
void log_file_look(struct log_file *f, struct log_file_view *view);
/* Where its descriptor number is stored, for the crash report of a dying process; valid until
 * log_file_free(). */
const int *log_file_fd(const struct log_file *f);
/* Is everything written and every requested reopen done? Waits for at most `timeout_ms`. */
bool log_file_wait(struct log_file *f, int timeout_ms);

#endif

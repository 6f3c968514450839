/* SPDX-License-Identifier: MIT
 *
 * log_file.h - a thread that writes one log file, so that a disk that hangs holds up nobody else.
 *
 * Lines wait in a queue of LOG_FILE_BYTES; what does not fit stays with the caller. The thread opens the
 * file again between two lines when it is asked to. It is left behind when it hangs at the end. Serves
 * pipes and terminals too, which other processes may fill between poll(2) and write(2). Everything here
 * is called by control and never waits, but for the two that say how long.
 */
#ifndef WEIR_LOGGING_LOG_FILE_H
#define WEIR_LOGGING_LOG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_FILE_BYTES (1024u * 1024u)

struct log_file;

struct log_file_start {
	int fd;		  /* is written to from now on */
	bool owned;	  /* `fd` is closed at the end; else it is stderr, which stays open */
	const char *path; /* copied; to be opened again by it; NULL with stderr */
	/* Opens `path` for appending: a descriptor or -errno. Called by the thread: it may hang. */
	int (*open)(const char *path);
	/* Called by the thread when log_file_look() has something new, or a log_file_put() that took too
	 * little would take more now. Must not block; never called after log_file_free() has begun. */
	void (*wake)(void *arg);
	void *arg;
};

/* What the thread has done so far. Times are of one write, or of opening. */
struct log_file_view {
	uint64_t lost;	    /* lines that the kernel refused */
	bool refused;	    /* the last write was; later lines may go */
	int64_t stalled_ns; /* all that took a second or longer, together; of files alone */
	int64_t waiting_ns; /* the present one has lasted so long; 0 = nothing is to be written */
	unsigned opened;    /* how many log_file_reopen() have been done */
	int open_err;	    /* the last one: 0 or -errno, the old file is still in use */
};

/* Starts the thread; takes `s->fd` if it is owned. NULL with `*err` -ENOMEM, -EAGAIN (no more threads) or
 * -EMFILE; then `s->fd` is still the caller's. */
struct log_file *log_file_new(const struct log_file_start *s, int *err);
/* Ends the thread when it has written what is there, or its pipe is full, or `timeout_ms` are over: then it
 * is left behind, with all that it uses. */
void log_file_free(struct log_file *f, int timeout_ms);
/* Takes the whole lines at the beginning of `lines` that there is room for; how many bytes they are. */
size_t log_file_put(struct log_file *f, const char *lines, size_t len);
/* Asks the thread to open its path again. Lines that are in the queue may still go to the old file. */
void log_file_reopen(struct log_file *f);
void log_file_look(struct log_file *f, struct log_file_view *view);
/* Where the number of its descriptor is, for the last words of a process that dies; until log_file_free(). */
const int *log_file_fd(const struct log_file *f);
/* Is everything written, and opened that was to be? Waits for it at most `timeout_ms`. */
bool log_file_wait(struct log_file *f, int timeout_ms);

#endif

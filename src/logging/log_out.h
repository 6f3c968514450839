/* SPDX-License-Identifier: MIT
 *
 * log_out.h - whole lines to a descriptor: a file, a pipe, a terminal or a socket.
 *
 * Knows how each kind must be written to, and where a line was cut in two. Owns no buffer and no thread:
 * one thread at a time calls it, control or a log_file's.
 */
#ifndef WEIR_LOGGING_LOG_OUT_H
#define WEIR_LOGGING_LOG_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Most bytes of one write, so many that a busy log costs few of them. */
#define LOG_OUT_BYTES 65536u

enum log_out_kind {
	LOG_OUT_NONE,   /* the descriptor is closed */
	LOG_OUT_FILE,	/* always writable; its disk may make a write wait */
	LOG_OUT_STREAM, /* pipe, terminal, device: poll(2), then a bounded write */
	LOG_OUT_SOCKET, /* MSG_DONTWAIT */
};

struct log_out {
	int fd; /* borrows */
	enum log_out_kind kind;
	size_t chunk; /* one write is at most so long */
	bool begun;   /* the last byte written was not the end of a line */
	bool torn;    /* and the rest of that line was dropped */
};

/* Begins with `fd` at the beginning of a line, and learns how it must be written to. */
void log_out_init(struct log_out *o, int fd);
/* One write of the lines at `from`, whole ones where it can: the bytes that are done with, -EAGAIN when a
 * stream or a socket has no room, or -errno. */
ssize_t log_out_write(struct log_out *o, const char *from, size_t len);
/* The caller drops what is left of its lines: the next write begins a new one. */
void log_out_drop(struct log_out *o);

#endif

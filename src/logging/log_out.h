/* SPDX-License-Identifier: MIT
 *
 * log_out.h - writes whole lines to a descriptor: a file, a pipe, a terminal or a socket.
 *
 * Knows how to write to each kind, and whether a line was cut in two. Owns no buffer and no thread. One
 * thread at a time calls it: control, or that of a log_file.
 */
#ifndef WEIR_LOGGING_LOG_OUT_H
#define WEIR_LOGGING_LOG_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Maximum bytes of one write; large enough that a busy log needs few writes. */
#define LOG_OUT_BYTES 65536u

enum log_out_kind {
	LOG_OUT_NONE,   /* closed descriptor */
	LOG_OUT_FILE,	/* always writable, but its disk may make a write wait */
	LOG_OUT_STREAM, /* pipe, terminal, device: poll(2), then a bounded write */
	LOG_OUT_SOCKET, /* MSG_DONTWAIT */
};

struct log_out {
	int fd; /* borrows */
	enum log_out_kind kind;
	size_t chunk; /* maximum length of one write */
	bool begun;   /* the last byte written did not end a line */
	bool torn;    /* the rest of that line was dropped */
};

/* Starts with `fd` at the beginning of a line, and finds out how to write to it. */
void log_out_init(struct log_out *o, int fd);
/* Writes once from the lines at `from`, whole lines if possible. Returns the bytes it is finished with,
 * -EAGAIN if a stream or socket has no room, or -errno. */
ssize_t log_out_write(struct log_out *o, const char *from, size_t len);
/* The caller drops the rest of its lines: the next write begins a new one. */
void log_out_drop(struct log_out *o);

#endif

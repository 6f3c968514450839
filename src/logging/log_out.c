/* SPDX-License-Identifier: MIT
 *
 * log_out.c - writes whole lines to a descriptor: a file, a pipe, a terminal or a socket.
 *
 * stderr is shared with other processes, so we must not set O_NONBLOCK on it. A pipe is polled with poll(2)
 * and then given at most PIPE_BUF bytes; the kernel takes these without waiting if it reported a free slot
 * and nobody else has used it since. A socket gets MSG_DONTWAIT. Owns nothing. Any thread, one at a time.
 */
#include "log_out.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#include "weir/base/check.h"
#include "weir/sys/sys.h"

/* A terminal reports "writable" while there is room for 256 bytes (n_tty's WAKEUP_CHARS). */
#define CHUNK_TERMINAL 256u

void log_out_init(struct log_out *o, int fd)
{
	struct stat st;

	memset(o, 0, sizeof(*o));
	o->fd = fd;
	if (fstat(fd, &st) != 0)
		return;
	o->kind = LOG_OUT_STREAM;
	o->chunk = PIPE_BUF;
	if (S_ISREG(st.st_mode)) {
		o->kind = LOG_OUT_FILE;
		o->chunk = LOG_OUT_BYTES;
	} else if (S_ISSOCK(st.st_mode)) {
		o->kind = LOG_OUT_SOCKET;
	} else if (S_ISCHR(st.st_mode)) {
		o->chunk = CHUNK_TERMINAL;
	}
}

/* How much to write at once: whole lines if they fit into a chunk, so that the lines of two processes on one
 * pipe do not mix. */
static size_t next_chunk(const struct log_out *o, const char *from, size_t len)
{
	const char *last;

	if (len <= o->chunk)
		return len;
	last = memrchr(from, '\n', o->chunk);
	return last != NULL ? (size_t)(last - from) + 1 : o->chunk;
}

/* Returns the bytes of the buffer it is finished with, or -errno if none can be written. */
static ssize_t write_bytes(const struct log_out *o, const char *from, size_t len)
{
	struct pollfd pfd = {.fd = o->fd, .events = POLLOUT};
	int n;

	if (o->kind == LOG_OUT_SOCKET)
		return sys_send(o->fd, from, len);
	if (o->kind == LOG_OUT_STREAM) {
		n = poll(&pfd, 1, 0);
		if (n < 0)
			return errno == EINTR ? -EAGAIN : -errno;
		if (n == 0)
			return -EAGAIN;
	}
	return sys_write(o->fd, from, len);
}

ssize_t log_out_write(struct log_out *o, const char *from, size_t len)
{
	ssize_t n;

	check(len > 0);
	/* After the disk was full, the file may end with the beginning of a line. */
	if (o->torn) {
		n = write_bytes(o, "\n", 1);
		if (n < 0)
			return n;
		o->torn = false;
	}
	n = write_bytes(o, from, next_chunk(o, from, len));
	if (n > 0)
		o->begun = from[n - 1] != '\n';
	return n;
}

void log_out_drop(struct log_out *o)
{
	o->torn = o->torn || o->begun;
	o->begun = false;
}

/* SPDX-License-Identifier: MIT
 *
 * log_syslog.h - a socket to a syslog daemon: by Unix socket or UDP, lost and found again.
 *
 * Never blocks. A daemon that is away is asked for again at most once a second, and only when there
 * is a line for it, so that nothing has to wait for it. Main thread.
 */
#ifndef WEIR_LOGGING_LOG_SYSLOG_H
#define WEIR_LOGGING_LOG_SYSLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/net/addr.h"

struct log_syslog {
	const struct addr *to; /* borrows; IP or Unix */
	int fd;		       /* owns; -1 = not connected */
	int type;	       /* of the socket: SOCK_DGRAM, or SOCK_STREAM as a Unix socket may be */
	bool begun;	       /* the first part of a line is out, on a stream */
	int64_t retry_ns;      /* nobody is asked for before */
	uint64_t refused;      /* datagrams of which the kernel said later that nobody took them */
};

/* What became of a line. */
enum log_sent {
	LOG_SENT_ALL,
	LOG_SENT_PART,	 /* of a stream; call again with the rest */
	LOG_SENT_WAIT,	 /* there is no room now: wait until `fd` is writable */
	LOG_SENT_LOST,	 /* this line does not go, another may */
	LOG_SENT_ABSENT, /* nobody is there: no line goes now, nor the rest of one */
};

void log_syslog_init(struct log_syslog *s, const struct addr *to);
/* 0 or -errno; -EAGAIN before the pause after the last time is over. */
int log_syslog_connect(struct log_syslog *s);
void log_syslog_close(struct log_syslog *s);
/* Sends one line, or the rest of one, of `len` bytes, the last of which is its newline; connects first
 * when need be. `*sent` is how much of it went. */
enum log_sent log_syslog_send(struct log_syslog *s, const char *line, size_t len, size_t *sent);

#endif

/* SPDX-License-Identifier: MIT
 *
 * log_syslog.h - a connection to a syslog daemon, over a Unix socket or UDP, reconnected when lost.
 *
 * Never blocks. Tries to reconnect at most once a second, and only if there is a line to send, so it needs no
 * timer. Main thread.
 */
#ifndef WEIR_LOGGING_LOG_SYSLOG_H
#define WEIR_LOGGING_LOG_SYSLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/net/addr.h"

struct log_syslog {
	const struct addr *to; /* borrows; IP or Unix; its `len` is 0 until a name is resolved */
	int fd;		       /* owns; -1 = not connected */
	int type;	       /* of the socket: SOCK_DGRAM, or SOCK_STREAM, which a Unix socket may be */
	bool begun;	       /* on a stream, the first part of a line has been sent */
	int64_t retry_ns;      /* do not reconnect before this time */
	uint64_t refused;      /* datagrams that the kernel later reported as not received */
};

/* The result of sending a line. */
enum log_sent {
	LOG_SENT_ALL,
	LOG_SENT_PART,	 /* on a stream: call again with the rest */
	LOG_SENT_WAIT,	 /* no room now: wait until `fd` is writable */
	LOG_SENT_LOST,	 /* this line cannot be sent, another may */
	LOG_SENT_ABSENT, /* no daemon: neither this line nor the rest of one can be sent */
};

void log_syslog_init(struct log_syslog *s, const struct addr *to);
/* 0 or -errno; -EAGAIN until the pause since the last attempt is over; -EADDRNOTAVAIL: no address yet. */
int log_syslog_connect(struct log_syslog *s);
void log_syslog_close(struct log_syslog *s);
/* Sends one line, or the rest of one, of `len` bytes, the last of which is its newline. Connects first if
 * needed. Stores how much was sent in `*sent`. */
enum log_sent log_syslog_send(struct log_syslog *s, const char *line, size_t len, size_t *sent);

#endif

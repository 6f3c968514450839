/* SPDX-License-Identifier: MIT
 *
 * log_syslog.c - a connection to a syslog daemon, over a Unix socket or UDP, reconnected when lost.
 *
 * Sends as syslog(3) does: one datagram per line; on a stream each line ends with NUL. Never delays the
 * control loop: sockets are nonblocking, and no name is looked up. Main thread.
 */
#include "log_syslog.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/sys/low_fds.h"
#include "weir/sys/sys.h"

#define RETRY_NS NS_PER_SEC

void log_syslog_init(struct log_syslog *s, const struct addr *to)
{
	memset(s, 0, sizeof(*s));
	s->to = to;
	s->fd = -1;
	s->type = SOCK_DGRAM;
}

void log_syslog_close(struct log_syslog *s)
{
	if (s->fd >= 0)
		low_fds_close(s->fd);
	s->fd = -1;
}

static int connect_as(struct log_syslog *s, int type)
{
	int fd = socket(s->to->sa.sa_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int err;

	fd = low_fds_take(fd < 0 ? -errno : fd);
	if (fd < 0)
		return fd;
	/* A Unix socket connects at once or not at all, a datagram socket only notes the address. */
	err = sys_connect(fd, &s->to->sa, s->to->len);
	if (err) {
		low_fds_close(fd);
		return err;
	}
	s->fd = fd;
	s->type = type;
	return 0;
}

int log_syslog_connect(struct log_syslog *s)
{
	const int64_t now_ns = clock_mono_ns();
	int err;

	check(s->fd < 0);
	if (s->to->len == 0)
		return -EADDRNOTAVAIL;
	if (now_ns < s->retry_ns)
		return -EAGAIN;
	s->retry_ns = now_ns + RETRY_NS;
	err = connect_as(s, SOCK_DGRAM);
	/* Errors if the socket at that name is of the other type: EPROTOTYPE for a path; ECONNREFUSED for an
	 * abstract name, which the kernel looks up by type. */
	if (err == -EPROTOTYPE || (err == -ECONNREFUSED && addr_is_unix(s->to)))
		err = connect_as(s, SOCK_STREAM);
	return err;
}

static ssize_t send_line(const struct log_syslog *s, const char *line, size_t len)
{
	char text[4096];

	if (s->type == SOCK_DGRAM)
		return sys_send(s->fd, line, len - 1);
	check(len <= sizeof(text));
	memcpy(text, line, len);
	text[len - 1] = '\0';
	return sys_send(s->fd, text, len);
}

/* Is the error about this line rather than the connection? */
static bool is_of_the_line(int err)
{
	return err == -EMSGSIZE || err == -ENOBUFS || err == -ENOMEM;
}

/* Tries once; LOG_SENT_ABSENT if the connection is no longer usable. */
static enum log_sent try_send(struct log_syslog *s, const char *line, size_t len, size_t *sent)
{
	const size_t wanted = s->type == SOCK_DGRAM ? len - 1 : len;
	ssize_t n = send_line(s, line, len);

	/* UDP: the error is about an earlier line; this one has not been processed. */
	if (n == -ECONNREFUSED && !addr_is_unix(s->to)) {
		s->refused++;
		n = send_line(s, line, len);
	}
	if (n == -EAGAIN)
		return LOG_SENT_WAIT;
	if (n < 0)
		return is_of_the_line((int)n) || !addr_is_unix(s->to) ? LOG_SENT_LOST : LOG_SENT_ABSENT;
	s->begun = (size_t)n < wanted;
	*sent = s->begun ? (size_t)n : len;
	return s->begun ? LOG_SENT_PART : LOG_SENT_ALL;
}

enum log_sent log_syslog_send(struct log_syslog *s, const char *line, size_t len, size_t *sent)
{
	enum log_sent result;

	check(len > 0);
	*sent = 0;
	if (s->fd >= 0) {
		result = try_send(s, line, len, sent);
		if (result != LOG_SENT_ABSENT)
			return result;
		log_syslog_close(s);
	}
	if (log_syslog_connect(s) != 0) {
		s->begun = false; /* the caller drops the rest too */
		return LOG_SENT_ABSENT;
	}
	/* Its beginning went to a peer that is gone; the rest alone is not a line. */
	if (s->begun) {
		s->begun = false;
		return LOG_SENT_LOST;
	}
	result = try_send(s, line, len, sent);
	if (result == LOG_SENT_ABSENT)
		log_syslog_close(s);
	return result;
}

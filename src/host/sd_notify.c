/* SPDX-License-Identifier: MIT
 *
 * sd_notify.c - messages to the service manager: our own implementation of the sd_notify(3) protocol.
 *
 * Owns one unconnected socket, so a manager that restarts at the same address still gets messages. Never
 * blocks, never waits for a reply. Main thread.
 */
#include "weir/host/sd_notify.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/config/values.h"
#include "weir/sys/sys.h"

static const char *const environment[] = {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"};

int sd_notify_address(const char *text, struct addr *to)
{
	const size_t len = strlen(text);

	memset(to, 0, sizeof(*to));
	if ((text[0] != '/' && text[0] != '@') || len < 2 || len >= sizeof(to->un.sun_path))
		return -EINVAL;
	to->un.sun_family = AF_UNIX;
	memcpy(to->un.sun_path, text, len);
	/* An abstract name counts in full; a path includes its NUL. */
	to->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (text[0] == '/' ? 1 : 0));
	if (text[0] == '@')
		to->un.sun_path[0] = '\0';
	return 0;
}

int64_t sd_notify_watchdog(const char *usec, const char *watchdog_pid, pid_t pid)
{
	uint64_t us = 0, meant = 0;

	if (usec == NULL || value_number(usec, &us) != 0 || us == 0 || us > INT64_MAX / NS_PER_US)
		return 0;
	/* Without a process ID it is for any process that reads it. */
	if (watchdog_pid != NULL && (value_number(watchdog_pid, &meant) != 0 || meant != (uint64_t)pid))
		return 0;
	return (int64_t)us * NS_PER_US;
}

int sd_notify_open(struct sd_notify *n)
{
	const char *to = getenv("NOTIFY_SOCKET");
	int err = 0;

	memset(n, 0, sizeof(*n));
	n->fd = -1;
	if (to != NULL && to[0] != '\0') {
		err = sd_notify_address(to, &n->to);
		if (!err)
			n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (!err && n->fd < 0)
			err = -errno;
	}
	if (n->fd >= 0)
		n->watchdog_ns =
		    sd_notify_watchdog(getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"), getpid());
	for (size_t i = 0; i < ARRAY_LEN(environment); i++)
		(void)unsetenv(environment[i]); /* fails only for a name with '=' */
	return err;
}

void sd_notify_close(struct sd_notify *n)
{
	if (n->fd >= 0)
		sys_close(n->fd);
	n->fd = -1;
}

bool sd_notify_send(const struct sd_notify *n, const char *text)
{
	if (n->fd < 0)
		return true;
	/* If the manager is gone, the message is lost; the next one has the then current state. */
	return sendto(n->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL, &n->to.sa, n->to.len) >= 0 ||
	       errno != EAGAIN;
}

/* SPDX-License-Identifier: MIT
 *
 * sock.c - sockets and their options: listeners as configured, and connecting sockets.
 *
 * Owns nothing: descriptors are the caller's. Any thread. Floor 1.
 */
#include "sluice/io/sock.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/base/check.h"
#include "sluice/io/sys.h"

#define SOCK_BACKLOG 4096

/* Also in <linux/in.h>, which clashes with <netinet/in.h> on some systems. */
#ifndef IP_BIND_ADDRESS_NO_PORT
#define IP_BIND_ADDRESS_NO_PORT 24
#endif

static int set_int(int fd, int level, int name, int value)
{
	return sys_setsockopt(fd, level, name, &value, sizeof(value));
}

static int set_tcp(int fd, const struct sock_tcp *tcp)
{
	int err = 0;

	if (tcp->keepalive) {
		err = set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
		if (!err && tcp->keepalive_idle_s > 0)
			err = set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, tcp->keepalive_idle_s);
		if (!err && tcp->keepalive_interval_s > 0)
			err = set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, tcp->keepalive_interval_s);
		if (!err && tcp->keepalive_count > 0)
			err = set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, tcp->keepalive_count);
	}
	if (!err && tcp->user_timeout_ms > 0)
		err = set_int(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, tcp->user_timeout_ms);
	if (!err && tcp->lazy_ack)
		err = set_int(fd, IPPROTO_TCP, TCP_QUICKACK, 0);
	return err;
}

/* Everything that an accepted connection inherits. */
static int set_inherited(int fd, const struct sock_listen *opt)
{
	/* The urgent byte stays in the stream; accept(2) inherits this for TCP. */
	int err = set_int(fd, SOL_SOCKET, SO_OOBINLINE, 1);

	if (!err && opt->tcp.nodelay)
		err = set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	if (!err && opt->defer_accept_s > 0)
		err = set_int(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, opt->defer_accept_s);
	return err ? err : set_tcp(fd, &opt->tcp);
}

/* What must be set before bind(2), and the rest at once. */
static int set_listener(int fd, const struct addr *a, const struct sock_listen *opt)
{
	int err = set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);

	if (!err && a->sa.sa_family == AF_INET6)
		err = set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, opt->v6only ? 1 : 0);
	return err ? err : set_inherited(fd, opt);
}

int sock_find_stale(const struct addr *a)
{
	struct stat st;
	int fd;
	int err;

	if (a->un.sun_path[0] == '\0' || lstat(a->un.sun_path, &st) != 0)
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return -EADDRINUSE;
	fd = sys_socket(AF_UNIX);
	if (fd < 0)
		return fd;
	err = sys_connect(fd, &a->sa, a->len);
	sys_close(fd);
	/* Only a refusal proves that nobody listens: a full backlog says EAGAIN, another kind of
	 * socket EPROTOTYPE. */
	return err == -ECONNREFUSED ? 1 : -EADDRINUSE;
}

/* Removes a Unix socket that nobody listens on. 0 when the path is free afterwards. */
static int clear_stale(const struct addr *a)
{
	const int found = sock_find_stale(a);

	if (found <= 0)
		return found;
	return unlink(a->un.sun_path) == 0 || errno == ENOENT ? 0 : -errno;
}

static bool is_owned(const char *path, const struct sock_listen *opt)
{
	struct stat st;

	return lstat(path, &st) == 0 && (opt->uid == (uid_t)-1 || opt->uid == st.st_uid) &&
	       (opt->gid == (gid_t)-1 || opt->gid == st.st_gid);
}

static int own_path(const struct addr *a, const struct sock_listen *opt)
{
	if (a->un.sun_path[0] == '\0')
		return 0;
	/* What is so already is not asked for: a sandbox may refuse chown(2) altogether. */
	if (!is_owned(a->un.sun_path, opt) && chown(a->un.sun_path, opt->uid, opt->gid) != 0)
		return -errno;
	if (opt->mode >= 0 && chmod(a->un.sun_path, (mode_t)opt->mode) != 0)
		return -errno;
	return 0;
}

/* bind(2), for a path with its owner and mode. Between bind and listen nobody can connect. */
static int bind_at(int fd, const struct addr *a, const struct sock_listen *opt)
{
	int err;

	if (!addr_is_unix(a))
		return sys_bind(fd, &a->sa, a->len);
	err = clear_stale(a);
	if (err)
		return err;
	err = sys_bind(fd, &a->sa, a->len);
	if (err)
		return err;
	err = own_path(a, opt);
	if (err && a->un.sun_path[0] != '\0')
		(void)unlink(a->un.sun_path); /* we made it just now */
	return err;
}

int sock_listen(struct addr *a, const struct sock_listen *opt)
{
	const int backlog = opt->backlog > 0 ? opt->backlog : SOCK_BACKLOG;
	const bool is_unix = addr_is_unix(a);
	socklen_t len = sizeof(a->un);
	int fd;
	int err;

	fd = sys_socket(a->sa.sa_family);
	if (fd < 0)
		return fd;
	err = is_unix ? 0 : set_listener(fd, a, opt);
	if (!err)
		err = bind_at(fd, a, opt);
	if (!err && listen(fd, backlog) != 0)
		err = -errno;
	if (!err && !is_unix) {
		if (getsockname(fd, &a->sa, &len) != 0)
			err = -errno;
		else
			a->len = len;
	}
	if (err) {
		sys_close(fd);
		return err;
	}
	return fd;
}

int sock_adopt(int fd, struct addr *a, const struct sock_listen *opt)
{
	socklen_t len = sizeof(a->un);
	int err = 0;

	memset(a, 0, sizeof(*a));
	if (getsockname(fd, &a->sa, &len) != 0)
		return -errno;
	a->len = len < sizeof(a->un) ? len : sizeof(a->un);
	if (!addr_is_unix(a))
		err = set_inherited(fd, opt);
	/* On a socket that listens already this changes the length of its queue and nothing else. */
	if (!err && opt->backlog > 0 && listen(fd, opt->backlog) != 0)
		err = -errno;
	return err;
}

/* A port is chosen at connect(2), so that one source port serves many servers. */
static int bind_source(int fd, const struct addr *source)
{
	if (source->sa.sa_family == AF_INET && source->in.sin_port == 0)
		(void)set_int(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1); /* only an optimisation */
	if (source->sa.sa_family == AF_INET6 && source->in6.sin6_port == 0)
		(void)set_int(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1); /* only an optimisation */
	return sys_bind(fd, &source->sa, source->len);
}

int sock_open(const struct addr *to, const struct addr *source, const struct sock_tcp *tcp)
{
	const int fd = sys_socket(to->sa.sa_family);
	int err;

	if (fd < 0)
		return fd;
	err = set_int(fd, SOL_SOCKET, SO_OOBINLINE, 1);
	if (!err && !addr_is_unix(to))
		err = set_tcp(fd, tcp);
	if (!err && source->len != 0 && source->sa.sa_family == to->sa.sa_family && !addr_is_unix(to))
		err = bind_source(fd, source);
	if (err) {
		sys_close(fd);
		return err;
	}
	return fd;
}

void sock_ack_now(int fd)
{
	(void)set_int(fd, IPPROTO_TCP, TCP_QUICKACK, 1); /* refused, the kernel's own timer does it */
}

void sock_nodelay(int fd)
{
	(void)set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
}

void sock_accepted_unix(int fd)
{
	/* Kernels without Unix urgent data (before 5.15) need none of it. */
	(void)set_int(fd, SOL_SOCKET, SO_OOBINLINE, 1);
}

/* SPDX-License-Identifier: MIT
 *
 * sock.c - sockets and their options: listeners as configured, and connecting sockets.
 *
 * Owns nothing: descriptors are the caller's. Any thread.
 */
#include "weir/net/sock.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/stat.h>

#include "weir/base/check.h"
#include "weir/net/sock_path.h"
#include "weir/sys/sys.h"

#define SOCK_BACKLOG 4096
/* Connections whose first bytes came with their SYN, and whose ACK is still to come: a stranger can make
 * us keep so many. */
#define TFO_MAX 1024

/* Also in <linux/in.h>, which clashes with <netinet/in.h> on some systems. */
#ifndef IP_BIND_ADDRESS_NO_PORT
#define IP_BIND_ADDRESS_NO_PORT 24
#endif
#ifndef IPV6_FREEBIND
#define IPV6_FREEBIND 78
#endif
#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

static int set_int(int fd, int level, int name, int value)
{
	return sys_setsockopt(fd, level, name, &value, sizeof(value));
}

/* Remembers that it was this option, if it failed. */
static int named(const struct sock_tcp *tcp, enum sock_option which, int err)
{
	if (err && tcp->refused != NULL)
		*tcp->refused = which;
	return err;
}

static int set_transparent(int fd, int family)
{
	return family == AF_INET6 ? set_int(fd, IPPROTO_IPV6, IPV6_TRANSPARENT, 1)
				  : set_int(fd, IPPROTO_IP, IP_TRANSPARENT, 1);
}

/* Where its connections come from and go to. */
static int set_place(int fd, int family, const struct sock_listen *opt)
{
	const int backlog = opt->backlog > 0 ? opt->backlog : SOCK_BACKLOG;
	int err = 0;

	if (opt->interface != NULL)
		err = named(&opt->tcp, SOCK_OPTION_INTERFACE,
			    sys_setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, opt->interface,
					   (socklen_t)strlen(opt->interface)));
	if (!err && opt->transparent)
		err = named(&opt->tcp, SOCK_OPTION_TRANSPARENT, set_transparent(fd, family));
	if (!err && opt->tfo)
		err = named(&opt->tcp, SOCK_OPTION_TFO,
			    set_int(fd, IPPROTO_TCP, TCP_FASTOPEN, backlog < TFO_MAX ? backlog : TFO_MAX));
	return err;
}

/* Everything that an accepted connection inherits, and what a socket that listens already takes. */
static int set_inherited(int fd, int family, const struct sock_listen *opt)
{
	const bool mptcp = sock_is_mptcp(fd);
	/* The urgent byte stays in the stream; accept(2) inherits this for TCP. MPTCP has no urgent bytes. */
	int err = set_int(fd, SOL_SOCKET, SO_OOBINLINE, 1);

	if (err == -EOPNOTSUPP && mptcp)
		err = 0;
	if (!err && opt->tcp.nodelay)
		err = set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	if (!err && opt->defer_accept_s > 0)
		err = set_int(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, opt->defer_accept_s);
	if (!err)
		err = set_place(fd, family, opt);
	if (!err)
		err = sock_set_tcp(fd, family, mptcp ? SOCK_MPTCP_LISTENER : SOCK_LISTENER, &opt->tcp);
	return err;
}

/* What must be set before bind(2), and the rest at once. */
static int set_listener(int fd, const struct addr *a, const struct sock_listen *opt)
{
	const int family = a->sa.sa_family;
	int err = set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);

	if (!err && family == AF_INET6)
		err = set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, opt->v6only ? 1 : 0);
	if (!err && opt->freebind)
		err = named(&opt->tcp, SOCK_OPTION_FREEBIND,
			    family == AF_INET6 ? set_int(fd, IPPROTO_IPV6, IPV6_FREEBIND, 1)
					       : set_int(fd, IPPROTO_IP, IP_FREEBIND, 1));
	return err ? err : set_inherited(fd, family, opt);
}

/* bind(2) of a path that is claimed, with its mode from the first moment on. */
static int bind_path(int fd, const struct addr *a, const struct sock_listen *opt)
{
	int err;

	/* The file that bind(2) makes gets the mode of the socket, less the umask (Linux, unix_bind()).
	 * Where that is not so, or the umask takes too much, sock_path_own() makes it good. */
	if (opt->mode >= 0)
		(void)fchmod(fd, (mode_t)opt->mode);
	err = sys_bind(fd, &a->sa, a->len);
	return err ? err : sock_path_own(opt->path, fd, a, opt);
}

/* bind(2), for a path with its owner and mode. Between bind and listen nobody can connect. */
static int bind_at(int fd, const struct addr *a, const struct sock_listen *opt)
{
	int err;

	if (!addr_is_unix(a) || a->un.sun_path[0] == '\0')
		return sys_bind(fd, &a->sa, a->len);
	check(opt->path != NULL);
	err = sock_path_claim(opt->path, a);
	if (err)
		return err;
	err = bind_path(fd, a, opt);
	if (err)
		sock_path_release(opt->path, a);
	return err;
}

bool sock_is_mptcp(int fd)
{
	int protocol = 0;
	socklen_t len = sizeof(protocol);

	return sys_getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) == 0 && protocol == IPPROTO_MPTCP;
}

/* A socket for a listener: of MPTCP if that is wanted and there. */
static int open_socket(int family, const struct sock_listen *opt)
{
	if (opt->mptcp && family != AF_UNIX) {
		const int fd =
			socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_MPTCP);

		if (fd >= 0)
			return fd;
	}
	return sys_socket(family);
}

/* A socket with its options, bound. The descriptor or -errno. */
static int open_bound(const struct addr *a, const struct sock_listen *opt)
{
	const int fd = open_socket(a->sa.sa_family, opt);
	int err;

	if (fd < 0)
		return fd;
	err = addr_is_unix(a) ? 0 : set_listener(fd, a, opt);
	if (!err)
		err = bind_at(fd, a, opt);
	if (err) {
		sys_close(fd);
		return err;
	}
	return fd;
}

int sock_try_bind(const struct addr *a, const struct sock_listen *opt)
{
	const int fd = open_bound(a, opt);

	if (fd < 0)
		return fd;
	sys_close(fd);
	return 0;
}

int sock_listen(struct addr *a, const struct sock_listen *opt)
{
	const int backlog = opt->backlog > 0 ? opt->backlog : SOCK_BACKLOG;
	const int fd = open_bound(a, opt);
	socklen_t len = sizeof(a->un);
	int err = 0;

	if (fd < 0)
		return fd;
	if (listen(fd, backlog) != 0)
		err = -errno;
	if (!err && !addr_is_unix(a)) {
		if (getsockname(fd, &a->sa, &len) != 0)
			err = -errno;
		else
			a->len = len;
	}
	if (err) {
		if (opt->path != NULL)
			sock_path_release(opt->path, a);
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
		err = set_inherited(fd, a->sa.sa_family, opt);
	/* On a socket that listens already this changes the length of its queue and nothing else. */
	if (!err && opt->backlog > 0 && listen(fd, opt->backlog) != 0)
		err = -errno;
	return err;
}

static uint16_t port_of(const struct addr *a)
{
	return a->sa.sa_family == AF_INET6 ? a->in6.sin6_port : a->in.sin_port;
}

/* A port is chosen at connect(2), so that one source port serves many servers. One that was written may
 * still be in TIME_WAIT from a connection to another server. */
static int bind_source(int fd, const struct addr *source)
{
	/* An optimisation, and the option's level is IPv4's for both families. */
	if (port_of(source) == 0)
		(void)set_int(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
	else
		(void)set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1); /* refused, bind(2) tells */
	return sys_bind(fd, &source->sa, source->len);
}

int sock_open(const struct addr *to, const struct addr *source, const struct sock_tcp *tcp)
{
	const int family = to->sa.sa_family;
	const int fd = sys_socket(family);
	int err;

	if (fd < 0)
		return fd;
	err = set_int(fd, SOL_SOCKET, SO_OOBINLINE, 1);
	if (!err && family != AF_UNIX)
		err = sock_set_tcp(fd, family, SOCK_CONNECTED, tcp);
	if (!err && tcp->transparent && family != AF_UNIX)
		err = named(tcp, SOCK_OPTION_SOURCE_CLIENT, set_transparent(fd, family));
	if (!err && source->len != 0 && source->sa.sa_family == family && family != AF_UNIX)
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

void sock_harden(int fd)
{
	const struct linger hard = {.l_onoff = 1, .l_linger = 0};

	/* If the option is refused the peer sees FIN instead, which close() cannot help. */
	(void)sys_setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
}

void sock_accepted_unix(int fd)
{
	/* Kernels without Unix urgent data (before 5.15) need none of it. */
	(void)set_int(fd, SOL_SOCKET, SO_OOBINLINE, 1);
}

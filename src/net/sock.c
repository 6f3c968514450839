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
/* Maximum connections whose first bytes came with the SYN and whose ACK is still missing: a stranger can make
 * us keep this many. */
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

/* Records this option if it was refused. */
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

int sock_tfo_queue(const struct sock_listen *opt)
{
	return opt->backlog > 0 && opt->backlog < TFO_MAX ? opt->backlog : TFO_MAX;
}

/* Options about where its connections come from and go to. */
static int set_place(int fd, int family, const struct sock_listen *opt)
{
	int err = 0;

	if (opt->interface != NULL)
		err = named(&opt->tcp, SOCK_OPTION_INTERFACE,
			    sys_setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, opt->interface,
					   (socklen_t)strlen(opt->interface)));
	if (!err && opt->transparent)
		err = named(&opt->tcp, SOCK_OPTION_TRANSPARENT, set_transparent(fd, family));
	if (!err && opt->tfo)
		err = named(&opt->tcp, SOCK_OPTION_TFO,
			    set_int(fd, IPPROTO_TCP, TCP_FASTOPEN, sock_tfo_queue(opt)));
	return err;
}

/* Everything that an accepted connection inherits and that an already listening socket accepts. */
static int set_inherited(int fd, int family, const struct sock_listen *opt)
{
	const bool mptcp = sock_is_mptcp(fd);
	/* Keeps the urgent byte in the stream; accept(2) inherits this for TCP. MPTCP has no urgent bytes. */
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

/* Sets the options that must precede bind(2), and all others with them. */
static int set_listener(int fd, const struct addr *a, const struct sock_listen *opt)
{
	const int family = a->sa.sa_family;
	int err = set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);

	if (!err && opt->share_port)
		err = set_int(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (!err && family == AF_INET6)
		err = set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, opt->v6only ? 1 : 0);
	if (!err && opt->freebind)
		err = named(&opt->tcp, SOCK_OPTION_FREEBIND,
			    family == AF_INET6 ? set_int(fd, IPPROTO_IPV6, IPV6_FREEBIND, 1)
					       : set_int(fd, IPPROTO_IP, IP_FREEBIND, 1));
	return err ? err : set_inherited(fd, family, opt);
}

/* bind(2) of a claimed path, with its mode set from the first moment. */
static int bind_path(int fd, const struct addr *a, const struct sock_listen *opt)
{
	int err;

	/* The file that bind(2) creates gets the mode of the socket, less the umask (Linux, unix_bind()). If
	 * it does not, or the umask removes too much, sock_path_own() corrects it. */
	if (opt->mode >= 0)
		(void)fchmod(fd, (mode_t)opt->mode);
	err = sys_bind(fd, &a->sa, a->len);
	return err ? err : sock_path_own(opt->path, fd, a, opt);
}

/* bind(2), and owner and mode of a path. Nobody can connect between bind and listen. */
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

int sock_make(int family, bool mptcp)
{
	if (mptcp && family != AF_UNIX) {
		const int fd =
			socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_MPTCP);

		if (fd >= 0)
			return fd;
	}
	return sys_socket(family);
}

/* A bound socket with its options. Returns the descriptor or -errno. */
static int open_bound(const struct addr *a, const struct sock_listen *opt)
{
	const int fd = sock_make(a->sa.sa_family, opt->mptcp);
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

int sock_bind(struct addr *a, const struct sock_listen *opt)
{
	const int fd = open_bound(a, opt);
	socklen_t len = sizeof(a->un);
	int err;

	if (fd < 0 || addr_is_unix(a))
		return fd;
	if (getsockname(fd, &a->sa, &len) != 0) {
		err = -errno;
		sys_close(fd);
		return err;
	}
	a->len = len;
	return fd;
}

int sock_start(int fd, int backlog)
{
	return listen(fd, backlog > 0 ? backlog : SOCK_BACKLOG) != 0 ? -errno : 0;
}

int sock_listen(struct addr *a, const struct sock_listen *opt)
{
	const int fd = sock_bind(a, opt);
	const int err = fd < 0 ? fd : sock_start(fd, opt->backlog);

	if (fd >= 0 && err) {
		if (opt->path != NULL)
			sock_path_release(opt->path, a);
		sys_close(fd);
	}
	return err ? err : fd;
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
	/* On a socket that already listens this changes only the length of its queue. */
	return !err && opt->backlog > 0 ? sock_start(fd, opt->backlog) : err;
}

static uint16_t port_of(const struct addr *a)
{
	return a->sa.sa_family == AF_INET6 ? a->in6.sin6_port : a->in.sin_port;
}

/* The kernel chooses a port at connect(2), so that one source port serves many servers. A configured port may
 * still be in TIME_WAIT from a connection to another server. */
static int bind_source(int fd, const struct addr *source)
{
	/* Only an optimisation, so a failure is ignored. The option's level is IPv4's for both families. */
	if (port_of(source) == 0)
		(void)set_int(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
	else
		(void)set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1); /* if it is refused, bind(2) reports it */
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
	(void)set_int(fd, IPPROTO_TCP, TCP_QUICKACK, 1); /* if it is refused, the kernel's own timer sends the
							  * ACK */
}

void sock_nodelay(int fd)
{
	(void)set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
}

void sock_send_at_once(int fd, int bytes)
{
	(void)set_int(fd, SOL_SOCKET, SO_SNDBUF, bytes);
}

void sock_harden(int fd)
{
	const struct linger hard = {.l_onoff = 1, .l_linger = 0};

	/* If the option is refused the peer sees a FIN instead; nothing can be done about that. */
	(void)sys_setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
}

void sock_accepted_unix(int fd)
{
	/* Kernels without Unix urgent data (before 5.15) do not need it. */
	(void)set_int(fd, SOL_SOCKET, SO_OOBINLINE, 1);
}

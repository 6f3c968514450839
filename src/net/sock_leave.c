/* SPDX-License-Identifier: MIT
 *
 * sock_leave.c - leaving a listening address without losing a client, and replacing it by an overlapping one.
 *
 * Only sets options: when to set them, and how long to wait, is the caller's business. Owns nothing. Any
 * thread.
 */
#include "weir/net/sock_leave.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "weir/sys/sys.h"

/* No packet that a router has forwarded arrives with this many hops left, and the usual TTL is 64. */
#define TTL_DEAF 255

static int set_int(int fd, int level, int name, int value)
{
	return sys_setsockopt(fd, level, name, &value, sizeof(value));
}

static int family_of(int fd)
{
	int domain = 0;
	socklen_t len = sizeof(domain);
	const int err = sys_getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len);

	return err ? err : domain;
}

/* IPv4's limit applies to the IPv4 clients of a dual-stack socket. */
static int set_limits(int fd, int family, int ttl)
{
	int err = 0;

	if (family == AF_INET6)
		err = set_int(fd, IPPROTO_IPV6, IPV6_MINHOPCOUNT, ttl);
	return err ? err : set_int(fd, IPPROTO_IP, IP_MINTTL, ttl);
}

int sock_go_deaf(int fd)
{
	const int family = family_of(fd);
	int err;

	if (family < 0 || family == AF_UNIX)
		return family < 0 ? family : 0;
	err = set_limits(fd, family, TTL_DEAF);
	if (err)
		(void)set_limits(fd, family, 0); /* 0 is not refused where 255 was accepted */
	return err;
}

int sock_hear_again(int fd)
{
	const int family = family_of(fd);

	if (family < 0 || family == AF_UNIX)
		return family < 0 ? family : 0;
	return set_limits(fd, family, 0);
}

void sock_accepted_from_deaf(int fd)
{
	/* Refused by a socket of another family, which has no such limit. */
	(void)set_int(fd, IPPROTO_IP, IP_MINTTL, 0);
	(void)set_int(fd, IPPROTO_IPV6, IPV6_MINHOPCOUNT, 0);
}

static int set_share(int fd, int on)
{
	const int family = family_of(fd);

	if (family < 0 || family == AF_UNIX)
		return family < 0 ? family : 0;
	return set_int(fd, SOL_SOCKET, SO_REUSEPORT, on);
}

int sock_share_port(int fd)
{
	return set_share(fd, 1);
}

int sock_unshare_port(int fd)
{
	return set_share(fd, 0);
}

/* SPDX-License-Identifier: MIT
 *
 * egress_route.c - whose address is it? Asks the kernel for the route that a packet would take (rtnetlink(7),
 * RTM_GETROUTE): the rule for the table "local" comes before all others, so an address of this machine has a
 * route of type RTN_LOCAL, whatever else is configured.
 *
 * The kernel answers within the call. Where a sandbox has no AF_NETLINK, bind(2) says whether an address is
 * of this machine. No packet is sent in either case. Control thread.
 */
#include "egress_route.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "weir/base/check.h"

#define ANSWER_BYTES 4096

struct request {
	struct nlmsghdr head;
	struct rtmsg route;
	struct rtattr dst;
	uint8_t ip[16];
};

static bool ask(int fd, const struct addr_brief *a)
{
	const size_t len = a->family == AF_INET ? 4 : 16;
	struct request r = {
		.head = {.nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST},
		.route = {.rtm_family = (unsigned char)a->family, .rtm_dst_len = (unsigned char)(8 * len)},
		.dst = {.rta_type = RTA_DST, .rta_len = (unsigned short)RTA_LENGTH(len)},
	};

	memcpy(r.ip, a->ip, len);
	r.head.nlmsg_len = (uint32_t)(offsetof(struct request, ip) + len);
	return send(fd, &r, r.head.nlmsg_len, MSG_DONTWAIT) == (ssize_t)r.head.nlmsg_len;
}

static enum egress_route meaning_of(unsigned char type)
{
	switch (type) {
	case RTN_LOCAL:
		return EGRESS_ROUTE_OWN;
	case RTN_BROADCAST:
	case RTN_ANYCAST:
	case RTN_MULTICAST:
		return EGRESS_ROUTE_GROUP;
	default:
		return EGRESS_ROUTE_FAR;
	}
}

/* Without a route it is nobody's: a connect fails by itself. */
static enum egress_route meaning_of_error(int err)
{
	switch (-err) {
	case ENETUNREACH:
	case EHOSTUNREACH:
	case EACCES:
	case EINVAL:
		return EGRESS_ROUTE_FAR;
	default:
		return EGRESS_ROUTE_UNKNOWN;
	}
}

static enum egress_route read_answer(int fd)
{
	_Alignas(struct nlmsghdr) uint8_t bytes[ANSWER_BYTES];
	const ssize_t len = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	const struct nlmsghdr *head = (const struct nlmsghdr *)(const void *)bytes;

	if (len < (ssize_t)sizeof(*head) || head->nlmsg_len > (uint32_t)len)
		return EGRESS_ROUTE_UNKNOWN;
	if (head->nlmsg_type == RTM_NEWROUTE && head->nlmsg_len >= NLMSG_LENGTH(sizeof(struct rtmsg)))
		return meaning_of(((const struct rtmsg *)NLMSG_DATA(head))->rtm_type);
	if (head->nlmsg_type == NLMSG_ERROR && head->nlmsg_len >= NLMSG_LENGTH(sizeof(struct nlmsgerr)))
		return meaning_of_error(((const struct nlmsgerr *)NLMSG_DATA(head))->error);
	return EGRESS_ROUTE_UNKNOWN;
}

/* Without IP_FREEBIND only an address of this machine can be bound. With sysctl ip_nonlocal_bind every
 * address can be: then all are refused. */
enum egress_route egress_route_by_bind(const struct addr_brief *a)
{
	const int fd = socket(a->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct addr_brief any_port = *a;
	struct addr to;
	int err;

	if (fd < 0)
		return errno == EAFNOSUPPORT ? EGRESS_ROUTE_FAR : EGRESS_ROUTE_UNKNOWN;
	any_port.port = 0;
	addr_of_brief(&to, &any_port);
	err = bind(fd, &to.sa, to.len) == 0 ? 0 : errno;
	(void)close(fd);
	return err == 0 ? EGRESS_ROUTE_OWN : err == EADDRNOTAVAIL ? EGRESS_ROUTE_FAR : EGRESS_ROUTE_UNKNOWN;
}

static enum egress_route route_of(int *fd, const struct addr_brief *a)
{
	enum egress_route route = EGRESS_ROUTE_UNKNOWN;

	check(a->family == AF_INET || a->family == AF_INET6);
	if (*fd < 0)
		*fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	if (*fd < 0)
		return egress_route_by_bind(a);
	if (ask(*fd, a))
		route = read_answer(*fd);
	/* An answer that came late would be taken for that to the next question. */
	if (route == EGRESS_ROUTE_UNKNOWN)
		egress_route_close(fd);
	return route;
}

enum egress_route egress_route_of(int *fd, const struct addr_brief *a)
{
	enum egress_route route = route_of(fd, a);
	struct addr_brief inner;

	if (route == EGRESS_ROUTE_FAR && egress_translated(a, &inner))
		route = route_of(fd, &inner);
	return route;
}

void egress_route_close(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

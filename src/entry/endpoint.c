/* SPDX-License-Identifier: MIT
 *
 * endpoint.c - a bound address: its socket's options as configured, and what is logged when one is missing.
 *
 * Makes the descriptors that the engine owns. Control thread, except for endpoint_accepted().
 */
#include "weir/entry/endpoint.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/log.h"
#include "weir/entry/frontend.h"

/* TCP_DEFER_ACCEPT: a client that sends nothing for this long is accepted all the same. */
#define DEFER_ACCEPT_S 5

struct sock_tcp sock_tcp_of(const struct config_tcp *tcp)
{
	return (struct sock_tcp){
		.nodelay = tcp->nodelay,
		.keepalive = tcp->keepalive,
		.keepalive_idle_s = tcp->keepalive_idle_s,
		.keepalive_interval_s = tcp->keepalive_interval_s,
		.keepalive_count = tcp->keepalive_count,
#define SOCK_TCP_OPTION(which, word, capability, kind, member, ...) .member = tcp->member,
#include "weir/net/sock_options.tbl.h"
	};
}

struct sock_listen sock_listen_of(const struct config_frontend *fe, const struct config_bind *b)
{
	return (struct sock_listen){
		.backlog = b->backlog,
		.v6only = b->v6only,
		.defer_accept_s = b->defer_accept ? DEFER_ACCEPT_S : 0,
		.interface = b->interface,
		.freebind = b->freebind,
		.transparent = b->transparent,
		.tfo = b->tfo,
		.mptcp = b->mptcp,
		.mode = b->owner.mode,
		.uid = b->owner.uid,
		.gid = b->owner.gid,
		.tcp = sock_tcp_of(&fe->tcp),
	};
}

static struct sock_listen options_of(struct endpoint *ep)
{
	struct sock_listen opt = sock_listen_of(ep->frontend->config, ep->config);

	ep->refused = SOCK_OPTION_NONE;
	opt.tcp.refused = &ep->refused;
	opt.path = &ep->path;
	return opt;
}

/* Finds out whether the socket is an MPTCP one, and logs what is missing in either case. */
static void look_for_mptcp(struct endpoint *ep)
{
	const struct config_tcp *tcp = &ep->frontend->config->tcp;
	char text[ADDR_TEXT_MAX];

	check(ep->fd >= 0);
	ep->mptcp = !addr_is_unix(&ep->addr) && sock_is_mptcp(ep->fd);
	if (ep->config->mptcp && !ep->mptcp && !addr_is_unix(&ep->addr))
		log_line(LOG_LEVEL_NOTICE,
			 "%s speaks plain TCP instead of MPTCP: %s",
			 addr_format(&ep->addr, text),
			 ep->config->addr.kind == ADDR_FD
				 ? "the .socket unit passed no MPTCP socket (set SocketProtocol=mptcp there)"
				 : "the kernel does not support it, or sysctl net.mptcp.enabled is 0");
	if (ep->mptcp && (tcp->pacing > 0 || tcp->user_timeout_ms > 0))
		log_line(LOG_LEVEL_WARNING,
			 "%s: the kernel does not support pacing and tcp-user-timeout for clients that speak "
			 "MPTCP; these options affect only clients that speak plain TCP",
			 addr_format(&ep->addr, text));
}

int endpoint_bind(struct endpoint *ep)
{
	const struct config_bind *b = ep->config;
	const struct sock_listen opt = options_of(ep);

	check(ep->fd < 0);
	check(b->addr.kind != ADDR_FD);
	ep->fd = sock_listen(&ep->addr, &opt);
	if (ep->fd == -EAFNOSUPPORT && b->addr.kind == ADDR_ANY && !b->v6only) {
		/* ":443" on a machine without IPv6 means IPv4. */
		memset(&ep->addr, 0, sizeof(ep->addr));
		ep->addr.len = sizeof(ep->addr.in);
		ep->addr.in.sin_family = AF_INET;
		ep->addr.in.sin_port = htons(b->addr.port);
		ep->fd = sock_listen(&ep->addr, &opt);
	}
	if (ep->fd < 0)
		return ep->fd;
	look_for_mptcp(ep);
	return 0;
}

int endpoint_adopt(struct endpoint *ep, int fd)
{
	const struct sock_listen opt = options_of(ep);
	int err;

	check(ep->fd < 0);
	check(fd >= 0);
	ep->fd = fd;
	err = sock_adopt(fd, &ep->addr, &opt);
	if (err)
		return err;
	look_for_mptcp(ep);
	return 0;
}

void endpoint_accepted(const struct endpoint *ep, int fd)
{
	const struct sock_tcp tcp = sock_tcp_of(&ep->frontend->config->tcp);

	check(ep->mptcp);
	sock_accepted_mptcp(fd, ep->addr.sa.sa_family, &tcp);
}

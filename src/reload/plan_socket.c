/* SPDX-License-Identifier: MIT
 *
 * plan_socket.c - what the socket of an endpoint can be used for, by its settings alone.
 *
 * Control thread.
 */
#include "plan_socket.h"

#include <netinet/in.h>
#include <string.h>

#include "weir/config/same.h"

static bool is_same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* The options that only a new socket can have. */
static bool is_same_make(const struct config_bind *a, const struct config_bind *b)
{
	return a->transparent == b->transparent && a->mptcp == b->mptcp &&
	       is_same_text(a->interface, b->interface);
}

bool endpoint_can_become(const struct endpoint *ep, const struct config_frontend *fe,
			 const struct config_bind *b)
{
	(void)fe; /* its options can be set on any socket */
	if (ep->inherited || b->addr.kind == ADDR_FD)
		return ep->inherited && config_addr_same(&ep->config->addr, &b->addr);
	if (addr_is_unix(&ep->addr) || b->addr.kind == ADDR_UNIX)
		return addr_is_unix(&ep->addr) && b->addr.kind == ADDR_UNIX;
	if (ep->config->addr.kind != b->addr.kind ||
	    ep->config->addr.addr.sa.sa_family != b->addr.addr.sa.sa_family)
		return false;
	return is_same_make(ep->config, b) && ep->config->v6only == b->v6only &&
	       ep->config->freebind == b->freebind;
}

static bool is_any(const struct addr *a)
{
	return a->sa.sa_family == AF_INET ? a->in.sin_addr.s_addr == htonl(INADDR_ANY)
					  : IN6_IS_ADDR_UNSPECIFIED(&a->in6.sin6_addr);
}

bool endpoint_is_covered(const struct endpoint *ep, const struct config_bind *b)
{
	const bool six = b->addr.addr.sa.sa_family == AF_INET6;
	const bool four = !six || !b->v6only;

	if (ep->inherited || addr_is_unix(&ep->addr) ||
	    (b->addr.kind != ADDR_IP && b->addr.kind != ADDR_ANY))
		return false;
	if (!is_any(&b->addr.addr) || addr_port(&ep->addr) != b->addr.port ||
	    !is_same_make(ep->config, b))
		return false;
	if (ep->addr.sa.sa_family == AF_INET)
		return four;
	return six && (four || ep->config->v6only || !is_any(&ep->addr));
}

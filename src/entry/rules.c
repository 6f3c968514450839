/* SPDX-License-Identifier: MIT
 *
 * rules.c - what the rules of a frontend say about a client: deny-from, allow-from, use-backend.
 *
 * Decides nothing: admission does, in the engine. Any thread.
 */
#include "weir/entry/rules.h"

#include "weir/net/netset.h"

enum rules_verdict rules_judge(const struct config_frontend *c, bool by_unix, const struct addr_brief *client)
{
	if (c->deny != NULL && netset_has(c->deny, client))
		return RULES_DENIED;
	/* A client of a Unix socket belongs to no network: the socket's mode and allow-uid apply to it. */
	if (c->allow != NULL && !(by_unix && !rules_has_ip(client)) && !netset_has(c->allow, client))
		return RULES_NOT_ALLOWED;
	return RULES_PASS;
}

bool rules_trust(const struct config_frontend *c, const struct addr_brief *peer)
{
	return c->trusted == NULL || peer->family == AF_UNIX || netset_has(c->trusted, peer);
}

static bool has_port(const struct config_route *r, uint16_t port)
{
	if (r->port_count == 0)
		return true;
	for (size_t i = 0; i < r->port_count; i++)
		if (port >= r->ports[i].first && port <= r->ports[i].last)
			return port != 0;
	return false;
}

enum rules_miss rules_match(const struct config_route *r, const struct addr_brief *client, uint16_t port)
{
	if (!has_port(r, port))
		return RULES_MISS_PORT;
	return r->src != NULL && !netset_has(r->src, client) ? RULES_MISS_SRC : RULES_MATCH;
}

size_t rules_route(const struct config_frontend *c, const struct addr_brief *client, uint16_t port)
{
	size_t i = 0;

	while (i < c->route_count && rules_match(&c->routes[i], client, port) != RULES_MATCH)
		i++;
	return i;
}

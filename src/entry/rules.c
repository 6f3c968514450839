/* SPDX-License-Identifier: MIT
 *
 * rules.c - what the rules of a frontend say about a client: deny-from, allow-from, use-backend.
 *
 * Decides nothing: admission does, in the engine. Any thread.
 */
#include "weir/entry/rules.h"

#include <string.h>

#include "weir/net/host_set.h"
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

bool rules_limit_source(const struct config_frontend *c, const struct addr_brief *client)
{
	return rules_has_ip(client) && (c->exempt == NULL || !netset_has(c->exempt, client));
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

static bool has_name(const struct config_route *r, const struct rules_hello *hello)
{
	if (hello->name_len == 0)
		return r->sni.none && hello->came;
	return r->sni.any || (r->hosts != NULL && host_set_has(r->hosts, hello->name, hello->name_len));
}

static bool offers(const struct rules_hello *hello, const char *protocol)
{
	const size_t len = strlen(protocol);

	if (hello->offered != NULL)
		return client_hello_offers(hello->offered, protocol, len);
	return len == hello->protocol_len && memcmp(protocol, hello->protocol, len) == 0;
}

static bool has_protocol(const struct config_route *r, const struct rules_hello *hello)
{
	for (size_t i = 0; i < r->alpn_count; i++)
		if (offers(hello, r->alpn[i].text))
			return true;
	return false;
}

bool rules_use_names(const struct config_frontend *c)
{
	bool uses = config_sniffs_tls(&c->sniff);

	for (size_t i = 0; i < c->route_count; i++)
		uses = uses || config_route_has_sni(&c->routes[i]) || c->routes[i].alpn_count > 0;
	return uses;
}

enum rules_miss rules_match(const struct config_route *r, const struct addr_brief *client, uint16_t port,
			    const struct rules_hello *hello)
{
	if (!has_port(r, port))
		return RULES_MISS_PORT;
	if (r->src != NULL && !netset_has(r->src, client))
		return RULES_MISS_SRC;
	if (config_route_has_sni(r) && !has_name(r, hello))
		return RULES_MISS_SNI;
	if (r->alpn_count > 0 && !has_protocol(r, hello))
		return RULES_MISS_ALPN;
	return r->protos != 0 && (r->protos & hello->proto) == 0 ? RULES_MISS_PROTO : RULES_MATCH;
}

size_t rules_route(const struct config_frontend *c, const struct addr_brief *client, uint16_t port,
		   const struct rules_hello *hello)
{
	size_t i = 0;

	while (i < c->route_count && rules_match(&c->routes[i], client, port, hello) != RULES_MATCH)
		i++;
	return i;
}

/* SPDX-License-Identifier: MIT
 *
 * port_use.c - how many of the local ports for connections to a server are in use.
 *
 * Owns nothing. Control thread.
 */
#include "weir/stats/port_use.h"

#include "weir/balance/server.h"
#include "weir/engine/engine.h"
#include "weir/sys/sys.h"

uint32_t port_range(void)
{
	uint16_t first, last;

	if (sys_port_range(&first, &last) != 0 || last < first)
		return 0;
	return (uint32_t)(last - first) + 1;
}

static bool has_port(const struct addr *source)
{
	return source->sa.sa_family == AF_INET6 ? source->in6.sin6_port != 0 : source->in.sin_port != 0;
}

/* A source of another family than the server's address is never used. */
static uint32_t ports_of_sources(const struct config_sources *sources, int family, uint32_t range)
{
	uint64_t ports = 0;

	if (sources->count == 0)
		return range;
	for (size_t i = 0; i < sources->count; i++)
		if (sources->list[i].sa.sa_family == family)
			ports += has_port(&sources->list[i]) ? 1 : range;
	return ports < UINT32_MAX ? (uint32_t)ports : UINT32_MAX;
}

bool port_use_of_server(const struct server *s, uint32_t range, struct port_use *out)
{
	const struct addr *a = server_addr(s);
	const int sessions = atomic_load_explicit(&s->sessions, memory_order_relaxed);

	if (a == NULL || addr_is_unix(a) || s->config->source.client)
		return false;
	out->used = sessions > 0 ? (uint32_t)sessions : 0;
	out->available = ports_of_sources(&s->config->source, a->sa.sa_family, range);
	return out->available > 0;
}

static bool uses_more(const struct port_use *a, const struct port_use *b)
{
	return b->available == 0 || (uint64_t)a->used * b->available > (uint64_t)b->used * a->available;
}

struct port_use port_use_most(const struct engine *e, uint32_t range)
{
	struct port_use most = {0}, one;

	for (size_t i = 0; i < e->backend_count; i++)
		for (size_t j = 0; j < e->backends[i]->server_count; j++)
			if (port_use_of_server(e->backends[i]->servers[j], range, &one) &&
			    uses_more(&one, &most))
				most = one;
	return most;
}

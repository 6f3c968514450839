/* SPDX-License-Identifier: MIT
 *
 * roster_homes.c - the servers that clients may come back to, by address: for `persist`.
 *
 * As in HAProxy, persistence goes to a server that drains, too, and to a backup server while others are up.
 * Built by control, read by any thread.
 */
#include <stdlib.h>

#include "weir/balance/backend.h"
#include "weir/balance/roster.h"
#include "weir/balance/server.h"
#include "weir/base/check.h"
#include "roster_parts.h"

/* The address that a cookie can name; false: none. A server with the client's port (0) has none. */
static bool home_of(struct server *s, struct roster_home *out)
{
	const struct addr *a = server_addr(s);

	if (a == NULL || a->sa.sa_family != AF_INET || addr_port(a) == 0)
		return false;
	*out = (struct roster_home){
		.server = s,
		.ip = a->in.sin_addr.s_addr,
		.port = addr_port(a),
	};
	return true;
}

/* As with `sticky`, a member that leaves its set is none of them: in HAProxy it is in maintenance. Unlike
 * there, neither is one that is only in use because all are down (`panic`). */
static bool takes_back(const struct server *s)
{
	return atomic_load(&s->keeps);
}

static int compare(uint32_t a_ip, uint16_t a_port, const struct roster_home *b)
{
	if (a_ip != b->ip)
		return a_ip < b->ip ? -1 : 1;
	return (a_port > b->port) - (a_port < b->port);
}

static int compare_homes(const void *left, const void *right)
{
	const struct roster_home *a = left, *b = right;
	const int by_address = compare(a->ip, a->port, b);

	if (by_address != 0)
		return by_address;
	return (a->server->id > b->server->id) - (a->server->id < b->server->id);
}

void roster_make_homes(struct roster *r, const struct backend *b)
{
	check(r->homes != NULL);
	check(r->room.servers >= b->server_count);
	for (size_t i = 0; i < b->server_count; i++)
		if (takes_back(b->servers[i]) && home_of(b->servers[i], &r->homes[r->home_count]))
			r->home_count++;
	qsort(r->homes, r->home_count, sizeof(*r->homes), compare_homes);
}

/* Its state and its address may have changed since the roster was made: the next one is on its way. */
static bool is_still_at(const struct roster_home *h)
{
	struct roster_home now;

	return takes_back(h->server) && home_of(h->server, &now) && compare(now.ip, now.port, h) == 0;
}

struct server *roster_find_home(const struct roster *r, uint32_t ip, uint16_t port)
{
	size_t low = 0, high = r->home_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (compare(ip, port, &r->homes[middle]) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < r->home_count && compare(ip, port, &r->homes[low]) == 0; low++)
		if (is_still_at(&r->homes[low]))
			return r->homes[low].server;
	return NULL;
}

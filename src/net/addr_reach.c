/* SPDX-License-Identifier: MIT
 *
 * addr_reach.c - which clients a listening TCP address takes: does it overlap with another, does it cover it?
 *
 * Plain comparisons; owns nothing. Any thread.
 */
#include "weir/net/addr_reach.h"

#include <netinet/in.h>
#include <string.h>

/* What an address takes of each family: nobody, the clients of one address, or all. */
enum share { SHARE_NONE, SHARE_ONE, SHARE_ALL };

struct reach {
	enum share v4, v6;
	const void *ip4, *ip6; /* where it is SHARE_ONE; borrows */
};

static struct reach reach_of(const struct addr_reach *r)
{
	const struct in6_addr *ip6 = &r->addr->in6.sin6_addr;
	const bool is_any4 = r->addr->in.sin_addr.s_addr == htonl(INADDR_ANY);

	if (r->addr->sa.sa_family == AF_INET)
		return (struct reach){.v4 = is_any4 ? SHARE_ALL : SHARE_ONE, .ip4 = &r->addr->in.sin_addr};
	if (IN6_IS_ADDR_UNSPECIFIED(ip6))
		return (struct reach){.v4 = r->v6only ? SHARE_NONE : SHARE_ALL, .v6 = SHARE_ALL};
	if (IN6_IS_ADDR_V4MAPPED(ip6))
		return (struct reach){.v4 = SHARE_ONE, .ip4 = &ip6->s6_addr[12]};
	return (struct reach){.v6 = SHARE_ONE, .ip6 = ip6};
}

static bool is_tcp(const struct addr *a)
{
	return a->len != 0 && !addr_is_unix(a);
}

static bool have_one_port(const struct addr *a, const struct addr *b)
{
	return is_tcp(a) && is_tcp(b) && addr_port(a) != 0 && addr_port(a) == addr_port(b);
}

static bool meet(enum share a, enum share b, const void *ip_a, const void *ip_b, size_t len)
{
	if (a == SHARE_NONE || b == SHARE_NONE)
		return false;
	return a == SHARE_ALL || b == SHARE_ALL || memcmp(ip_a, ip_b, len) == 0;
}

bool addr_overlaps(const struct addr_reach *a, const struct addr_reach *b)
{
	struct reach x, y;

	if (!have_one_port(a->addr, b->addr))
		return false;
	x = reach_of(a);
	y = reach_of(b);
	return meet(x.v4, y.v4, x.ip4, y.ip4, sizeof(struct in_addr)) ||
	       meet(x.v6, y.v6, x.ip6, y.ip6, sizeof(struct in6_addr));
}

static bool is_wildcard(const struct addr_reach *r)
{
	const struct reach x = reach_of(r);

	return x.v4 == SHARE_ALL || x.v6 == SHARE_ALL;
}

bool addr_is_narrower(const struct addr_reach *a, const struct addr_reach *b)
{
	return addr_overlaps(a, b) && !is_wildcard(a) && is_wildcard(b);
}

bool addr_covers(const struct addr_reach *wide, const struct addr_reach *b)
{
	struct reach w, y;

	if (!have_one_port(wide->addr, b->addr))
		return false;
	w = reach_of(wide);
	y = reach_of(b);
	return (y.v4 == SHARE_NONE || w.v4 == SHARE_ALL) && (y.v6 == SHARE_NONE || w.v6 == SHARE_ALL);
}

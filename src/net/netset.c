/* SPDX-License-Identifier: MIT
 *
 * netset.c - a set of networks as sorted ranges that do not touch; net_prefix.c parses and prints one.
 *
 * IPv4 and IPv6 have one list of ranges each, so a lookup is one binary search whatever was written. Built on
 * the main thread, then read by any thread.
 */
#include "weir/net/netset.h"

#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"

/* An address as a number; `high` is 0 for IPv4. */
struct ip_number {
	uint64_t high;
	uint64_t low;
};

struct ip_range {
	struct ip_number first;
	struct ip_number last;
};

/* First and last addresses are kept apart: a search reads only the first ones, so they are close together. */
struct range_list {
	struct ip_number *firsts; /* owns */
	struct ip_number *lasts;  /* owns */
	size_t count;
};

/* Another set whose networks belong to this one, too. */
struct part {
	const struct netset *set; /* borrows */
	struct part *next;        /* owns */
};

struct netset {
	struct range_list ip4;
	struct range_list ip6;
	struct part *parts; /* owns */
};

static bool is_less(struct ip_number a, struct ip_number b)
{
	return a.high != b.high ? a.high < b.high : a.low < b.low;
}

static uint64_t read_big_endian(const uint8_t *bytes, unsigned count)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < count; i++)
		n = n << 8 | bytes[i];
	return n;
}

static struct ip_number number_of(uint16_t family, const uint8_t *ip)
{
	if (family == AF_INET)
		return (struct ip_number){0, read_big_endian(ip, 4)};
	return (struct ip_number){read_big_endian(ip, 8), read_big_endian(ip + 8, 8)};
}

/* A number whose `count` lowest bits are 1; all of them from 64 on. */
static uint64_t low_ones(unsigned count)
{
	return count >= 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1;
}

static struct ip_range range_of(const struct net_prefix *p)
{
	const unsigned free_bits = (p->family == AF_INET ? 32u : 128u) - p->bits;
	struct ip_range r;

	r.first = number_of(p->family, p->ip);
	r.last.low = r.first.low | low_ones(free_bits);
	r.last.high = r.first.high | (free_bits > 64 ? low_ones(free_bits - 64) : 0);
	return r;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct ip_range *left = a;
	const struct ip_range *right = b;

	if (is_less(left->first, right->first))
		return -1;
	return is_less(right->first, left->first) ? 1 : 0;
}

/* Does `next` begin within the range that ends at `last`, or right after it? */
static bool continues(struct ip_number last, struct ip_number next)
{
	if (!is_less(last, next))
		return true;
	last.low++;
	if (last.low == 0)
		last.high++; /* there is an address after `last`: it does not wrap */
	return last.high == next.high && last.low == next.low;
}

/* Sorts `ranges` and merges those that overlap or touch. Returns how many are left. */
static size_t join_ranges(struct ip_range *ranges, size_t count)
{
	size_t kept = 0;

	if (count == 0)
		return 0;
	qsort(ranges, count, sizeof(*ranges), compare_ranges);
	for (size_t i = 1; i < count; i++) {
		struct ip_range *r = &ranges[kept];

		if (!continues(r->last, ranges[i].first))
			ranges[++kept] = ranges[i];
		else if (is_less(r->last, ranges[i].last))
			r->last = ranges[i].last;
	}
	return kept + 1;
}

/* Builds the list of one family; `ranges` has room for all prefixes. False when out of memory. */
static bool make_list(struct range_list *list, uint16_t family, const struct net_prefix *prefixes,
		      struct ip_range *ranges, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (prefixes[i].family == family)
			ranges[n++] = range_of(&prefixes[i]);
	n = join_ranges(ranges, n);
	list->firsts = calloc(n + 1, sizeof(*list->firsts));
	list->lasts = calloc(n + 1, sizeof(*list->lasts));
	if (list->firsts == NULL || list->lasts == NULL)
		return false;
	list->count = n;
	for (size_t i = 0; i < n; i++) {
		list->firsts[i] = ranges[i].first;
		list->lasts[i] = ranges[i].last;
	}
	return true;
}

struct netset *netset_new(const struct net_prefix *prefixes, size_t count)
{
	struct netset *set = calloc(1, sizeof(*set));
	struct ip_range *ranges = calloc(count + 1, sizeof(*ranges));
	bool made = false;

	if (set != NULL && ranges != NULL)
		made = make_list(&set->ip4, AF_INET, prefixes, ranges, count) &&
		       make_list(&set->ip6, AF_INET6, prefixes, ranges, count);
	free(ranges);
	if (made)
		return set;
	netset_free(set);
	return NULL;
}

bool netset_include(struct netset *set, const struct netset *other)
{
	struct part *part = calloc(1, sizeof(*part));

	if (part == NULL)
		return false;
	*part = (struct part){other, set->parts};
	set->parts = part;
	return true;
}

void netset_free(struct netset *set)
{
	if (set == NULL)
		return;
	while (set->parts != NULL) {
		struct part *part = set->parts;

		set->parts = part->next;
		free(part);
	}
	free(set->ip4.firsts);
	free(set->ip4.lasts);
	free(set->ip6.firsts);
	free(set->ip6.lasts);
	free(set);
}

/* Only the last range that begins at or before `n` can contain it. */
static bool list_has(const struct range_list *list, struct ip_number n)
{
	size_t from = 0; /* all ranges before this one begin at or before `n` */
	size_t to = list->count; /* this range and all after it begin after `n` */

	while (from < to) {
		const size_t middle = from + (to - from) / 2;

		if (is_less(n, list->firsts[middle]))
			to = middle;
		else
			from = middle + 1;
	}
	return from > 0 && !is_less(list->lasts[from - 1], n);
}

static bool has_itself(const struct netset *set, const struct addr_brief *a)
{
	struct in6_addr ip;

	if (a->family == AF_INET)
		return list_has(&set->ip4, number_of(AF_INET, a->ip));
	if (a->family != AF_INET6)
		return false;
	/* A PROXY header may carry an IPv4-mapped address: it must not bypass a list of IPv4 networks. */
	memcpy(&ip, a->ip, sizeof(ip));
	if (IN6_IS_ADDR_V4MAPPED(&ip))
		return list_has(&set->ip4, number_of(AF_INET, a->ip + 12));
	return list_has(&set->ip6, number_of(AF_INET6, a->ip));
}

bool netset_has(const struct netset *set, const struct addr_brief *a)
{
	bool has = has_itself(set, a);

	for (const struct part *part = set->parts; part != NULL && !has; part = part->next)
		has = netset_has(part->set, a);
	return has;
}

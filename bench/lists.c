/* SPDX-License-Identifier: MIT
 *
 * lists.c - nanoseconds per lookup in lists of networks and names, as files of use-backend lines fill them,
 * and in the table of clients that maxconn-per-source counts.
 *
 * Prints one line per list: entries, how many are found, nanoseconds each. Half of what is looked up (of
 * clients, all) is in the list, and no two lookups in a row are neighbours, so that the caches hold what they
 * would under traffic.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "weir/base/clock.h"
#include "weir/net/host_set.h"
#include "weir/net/netset.h"
#include "weir/net/source_table.h"

#define LOOKUPS 2000000u
#define ASKED	65536u

static uint64_t seed = 0x9e3779b97f4a7c15u;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void *room(size_t count, size_t size)
{
	void *bytes = calloc(count, size);

	if (bytes == NULL)
		abort();
	return bytes;
}

static void report(const char *what, size_t entries, size_t found, int64_t took_ns)
{
	printf("%-8s %8zu entries %9zu of %u found %8.1f ns each\n", what, entries, found, LOOKUPS,
	       (double)took_ns / LOOKUPS);
}

/* Networks /24 (IPv4) or /48 (IPv6), each second one of a row: a lookup meets one of them half the time. */
static struct net_prefix network(uint16_t family, size_t i)
{
	const uint32_t n = (uint32_t)i;
	struct net_prefix p = {.family = family, .bits = 24,
			       .ip = {(uint8_t)(10 + (n >> 16)), (uint8_t)(n >> 8), (uint8_t)n}};

	if (family == AF_INET6)
		p = (struct net_prefix){.family = family, .bits = 48,
					.ip = {0x20, 1, 0xd, (uint8_t)(n >> 16), (uint8_t)(n >> 8),
					       (uint8_t)n}};
	return p;
}

static struct addr_brief source_of(size_t i)
{
	const struct net_prefix p = network(AF_INET, i);
	struct addr_brief a = {.family = AF_INET};

	for (size_t k = 0; k < sizeof(p.ip); k++)
		a.ip[k] = p.ip[k];
	return a;
}

static void look_up_networks(uint16_t family, size_t entries)
{
	struct net_prefix *list = room(entries, sizeof(*list));
	struct addr_brief *asked = room(ASKED, sizeof(*asked));
	struct netset *set;
	size_t found = 0;
	int64_t begin;

	for (size_t i = 0; i < entries; i++)
		list[i] = network(family, 2 * i);
	set = netset_new(list, entries);
	if (set == NULL)
		abort();
	for (size_t i = 0; i < ASKED; i++) {
		const struct net_prefix p = network(family, next() % (2 * entries));

		asked[i].family = family;
		for (size_t k = 0; k < sizeof(p.ip); k++)
			asked[i].ip[k] = p.ip[k];
	}
	begin = clock_mono_ns();
	for (size_t i = 0; i < LOOKUPS; i++)
		found += netset_has(set, &asked[i % ASKED]) ? 1 : 0;
	report(family == AF_INET ? "ipv4" : "ipv6", entries, found, clock_mono_ns() - begin);
	netset_free(set);
	free(asked);
	free(list);
}

/* Clients that are counted: one more session of a source that has some, and its end. */
static void look_up_sources(size_t entries)
{
	struct source_entry **held = room(entries, sizeof(*held)), *e;
	struct addr_brief *asked = room(ASKED, sizeof(*asked));
	struct source_table *t = source_table_new();
	size_t found = 0;
	int64_t begin;

	if (t == NULL)
		abort();
	for (size_t i = 0; i < entries; i++) {
		const struct addr_brief a = source_of(i);

		if (source_table_enter(t, &a, UINT32_MAX, 0, &held[i]) != 0)
			abort();
	}
	for (size_t i = 0; i < ASKED; i++)
		asked[i] = source_of(next() % entries);
	begin = clock_mono_ns();
	for (size_t i = 0; i < LOOKUPS; i++) {
		if (source_table_enter(t, &asked[i % ASKED], UINT32_MAX, 0, &e) != 0)
			continue;
		found++;
		(void)source_table_leave(t, e, false);
	}
	report("sources", entries, found, clock_mono_ns() - begin);
	for (size_t i = 0; i < entries; i++)
		(void)source_table_leave(t, held[i], false);
	source_table_free(t);
	free(asked);
	free(held);
}

struct name {
	char text[48];
	uint8_t len;
};

static struct name name_of(size_t i, const char *below)
{
	struct name n;

	n.len = (uint8_t)snprintf(n.text, sizeof(n.text), "%sshop%zu.eu-west-%zu.example.com", below, i,
				  i % 9);
	return n;
}

/* `suffixes`: the list has domains, and what is looked up is below them. */
static void look_up_names(size_t entries, bool suffixes)
{
	struct host_set *set = host_set_room(entries, entries * sizeof(struct name));
	struct name *asked = room(ASKED, sizeof(*asked));
	size_t found = 0;
	int64_t begin;

	if (set == NULL)
		abort();
	for (size_t i = 0; i < entries; i++) {
		const struct name n = name_of(2 * i, "");
		struct host_pattern p;
		char text[sizeof(n.text) + 1];
		const char *why;

		(void)snprintf(text, sizeof(text), "%s%s", suffixes ? "." : "", n.text);
		if (host_pattern_parse(text, &p, &why) != 0)
			abort();
		host_set_add(set, &p);
	}
	for (size_t i = 0; i < ASKED; i++)
		asked[i] = name_of(next() % (2 * entries), suffixes ? "www." : "");
	begin = clock_mono_ns();
	for (size_t i = 0; i < LOOKUPS; i++)
		found += host_set_has(set, asked[i % ASKED].text, asked[i % ASKED].len) ? 1 : 0;
	report(suffixes ? "suffixes" : "names", entries, found, clock_mono_ns() - begin);
	host_set_free(set);
	free(asked);
}

static void look_up_all(size_t entries)
{
	look_up_networks(AF_INET, entries);
	look_up_networks(AF_INET6, entries);
	look_up_names(entries, false);
	look_up_names(entries, true);
	look_up_sources(entries);
}

/* With an argument: lists of that many entries alone. */
int main(int argc, char **argv)
{
	static const size_t sizes[] = {100, 10000, 100000, 1000000};

	if (argc > 1) {
		look_up_all(strtoul(argv[1], NULL, 10));
		return 0;
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		look_up_all(sizes[i]);
	return 0;
}

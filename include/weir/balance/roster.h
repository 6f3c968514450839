/* SPDX-License-Identifier: MIT
 *
 * roster.h - the servers that may be chosen now, with their weights, and the tables of the algorithms that
 * hash.
 *
 * Immutable and reference-counted. Control builds one per change, so that no worker ever builds a table. It
 * contains backup servers only if there is no other (all of them with allbackups, otherwise the first); with
 * `panic`, if no server is up, all that have an address and are not in maintenance. Any thread.
 */
#ifndef WEIR_BALANCE_ROSTER_H
#define WEIR_BALANCE_ROSTER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct backend;
struct server;

/* Prime, and large compared with the number of servers (Maglev, NSDI 2016, section 3.4). */
#define ROSTER_MAGLEV_SLOTS 65537u
/* Points on the ring per unit of weight, as in HAProxy. */
#define ROSTER_RING_POINTS 16u
/* A larger ring is thinned out: all servers get half the points, or a quarter and so on, but at least one
 * each. */
#define ROSTER_RING_MAX (1u << 18)

struct roster_entry {
	struct server *server; /* borrows */
	unsigned weight;       /* in sixteenths, > 0 */
	unsigned index;        /* index of the server */
	uint64_t weight_end;   /* sum of the weights of this entry and all before it */
};

/* A place on the ring of `hash=consistent`. */
struct ring_point {
	uint64_t hash;
	uint32_t entry; /* index into by_key */
};

struct roster {
	atomic_int refs;
	uint64_t number;
	size_t count;
	uint64_t weight; /* sum */
	struct roster_entry *by_place; /* owns; in file order */
	struct roster_entry *by_key;   /* owns; sorted by server->key: the same on every machine */
	uint32_t *maglev;              /* owns; ROSTER_MAGLEV_SLOTS indexes into by_key; NULL if not wanted */
	struct ring_point *ring;       /* owns; sorted by hash; NULL if not wanted */
	size_t ring_count;
	/* Over the tables in which a hash is looked up, including keys and weights of the servers: two
	 * machines with the same file agree, however its lines are ordered. Without hashing: over keys and
	 * weights. */
	uint64_t checksum;
};

/* Builds a roster of the servers of `b` as they are now, with one reference. NULL when out of memory. Control
 * thread. */
struct roster *roster_new(const struct backend *b, uint64_t number);
struct roster *roster_ref(struct roster *r);
/* Releases a reference; the last one frees it. */
void roster_unref(struct roster *r);

#endif

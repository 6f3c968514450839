/* SPDX-License-Identifier: MIT
 *
 * sticky_parts.h - the parts of a table of clients, and their entries; included only by sticky_table.c and
 * sticky_control.c.
 *
 * Entries refer to each other by number: 0 is none, and the entry 0 of a part is the head of its order. Each
 * function about a part is called under its lock. Any thread.
 */
#ifndef WEIR_NET_STICKY_PARTS_H
#define WEIR_NET_STICKY_PARTS_H

#include <stdatomic.h>

#include "weir/base/check.h"
#include "weir/base/spinlock.h"
#include "weir/net/source_key.h"
#include "weir/net/sticky_table.h"

#define STICKY_PART_BITS_MAX 6u
#define STICKY_PARTS_MAX     (1u << STICKY_PART_BITS_MAX)

struct sticky_entry {
	uint64_t network;
	uint64_t server;
	int64_t expires_ns;
	uint32_t family; /* 0 = free */
	uint32_t next;	 /* in its chain, or the next free one */
	uint32_t newer;	 /* in the order of use, which is a ring through entry 0 */
	uint32_t older;
};

/* One cache line each. */
struct sticky_part {
	_Alignas(64) struct spinlock lock;
	uint32_t room;		 /* entries; those that were never used are the last ones */
	uint32_t touched;	 /* of these, how many were ever used */
	uint32_t free;		 /* the first of those that were and are not */
	uint32_t *chains;	 /* borrows from the table */
	struct sticky_entry *entries;	 /* borrows; with the head, room + 1 */
	struct sticky_table *to; /* borrows from the table: where its entries go, and new ones; NULL = here */
	atomic_uint used;	 /* written under the lock */
};

struct sticky_table {
	struct sticky_part parts[STICKY_PARTS_MAX];
	uint64_t seed[SOURCE_SEED_WORDS];
	unsigned held;
	uint32_t size;
	unsigned part_bits;
	unsigned chain_bits; /* of each part */
	void *memory;	     /* owns: chains and entries of all parts */
	struct sticky_table *to; /* holds: where its entries go, or have gone; NULL = they are here */
};

/* The part that a client belongs to, locked, with its hash; in the table that has its entries now. */
struct sticky_place {
	struct sticky_table *table;
	struct sticky_part *part;
	uint64_t hash;
};

/* Locks the part where the entry of `k` is, or is to be. */
struct sticky_place sticky_lock_place(struct sticky_table *t, const struct sticky_key *k);
/* Locks the part in this table, even if its entries have gone. */
struct sticky_place sticky_lock_here(struct sticky_table *t, const struct sticky_key *k);
/* The head of the client's chain. */
uint32_t *sticky_chain_of(const struct sticky_table *t, const struct sticky_part *p, uint64_t hash);
/* The entry of `k` in its chain, expired or not; 0 = none. */
uint32_t sticky_find(const struct sticky_part *p, const uint32_t *chain, const struct sticky_key *k);
/* Adds an entry behind `at` in the order of use: 0 = as the one that was used last. There must be room. */
void sticky_add(struct sticky_part *p, uint32_t *chain, const struct sticky_entry *content, uint32_t at);
/* An entry of a part whose entries go elsewhere is not here any more. It stays in its chain, where no other
 * takes its place. */
void sticky_leave(struct sticky_part *p, uint32_t n);
/* The same, and it is at that place, locked too, behind `at` in the order of use, unless the client has one
 * there. There must be room. */
void sticky_carry(struct sticky_part *p, uint32_t n, const struct sticky_place *to, uint32_t at);
/* All entries of such a part have gone. */
void sticky_forget(struct sticky_part *p);
/* Removes an entry. */
void sticky_drop(const struct sticky_table *t, struct sticky_part *p, uint32_t n);
/* Removes entries that have expired, those that were not used for longest first: at most `max`. Returns how
 * many. */
int sticky_drop_expired(const struct sticky_table *t, struct sticky_part *p, int64_t now_ns, int max);

/* The entry that was not used for longest; 0 = there is none. */
static inline uint32_t sticky_oldest(const struct sticky_part *p)
{
	return p->entries[0].newer;
}

static inline struct sticky_key sticky_key_of_entry(const struct sticky_entry *e)
{
	return (struct sticky_key){.network = e->network, .family = e->family};
}

static inline uint32_t sticky_used_of(const struct sticky_part *p)
{
	return atomic_load_explicit(&p->used, memory_order_relaxed);
}

#endif

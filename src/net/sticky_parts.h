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
/* Words of the seed for the hosts of keys. */
#define STICKY_HOST_WORDS    2

struct sticky_entry {
	uint64_t network;
	uint64_t server;
	int64_t expires_ns;
	uint32_t family; /* 0 = free */
	uint32_t next;	 /* in its chain, or the next free one */
	uint32_t newer;	 /* in the order of use, which is a ring through entry 0 */
	uint32_t older;
};

/* What an entry says. */
struct sticky_content {
	struct sticky_key key;
	uint64_t server;
	int64_t expires_ns;
};

/* One cache line each. */
struct sticky_part {
	_Alignas(64) struct spinlock lock;
	uint32_t room;		 /* entries; those that were never used are the last ones */
	uint32_t touched;	 /* of these, how many were ever used */
	uint32_t free;		 /* the first of those that were and are not */
	uint32_t *chains;	 /* borrows from the table */
	struct sticky_entry *entries;	 /* borrows; with the head, room + 1 */
	uint64_t *hosts; /* borrows; of the key of each entry; NULL = all are 0: a table of clients */
	struct sticky_table *to; /* borrows from the table: where its entries go, and new ones; NULL = here */
	atomic_uint used;	 /* written under the lock */
};

/* How far a move is. Control's. */
enum sticky_moving {
	STICKY_STAYS,    /* there is none, or it has ended */
	STICKY_PREPARES, /* the other table gets its memory from the kernel */
	STICKY_OPENS,
	STICKY_MOVES,
};

struct sticky_table {
	struct sticky_part parts[STICKY_PARTS_MAX];
	uint64_t seed[SOURCE_SEED_WORDS + STICKY_HOST_WORDS];
	enum sticky_keys kind;
	unsigned held;
	uint32_t size;
	unsigned part_bits;
	unsigned chain_bits; /* of each part */
	void *memory;	     /* owns: entries, hosts and chains of all parts */
	struct sticky_table *to; /* holds: where its entries go, or have gone; NULL = they are here */
	enum sticky_moving moving;
	unsigned prepared; /* parts of `to` */
	int64_t newest[STICKY_PARTS_MAX]; /* when the newest entry of each part expires */
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
void sticky_add(struct sticky_part *p, uint32_t *chain, const struct sticky_content *c, uint32_t at);
/* An entry of a part whose entries go elsewhere is not here any more. It stays in its chain, where no other
 * takes its place. */
void sticky_leave(struct sticky_part *p, uint32_t n);
/* The same, and it is at that place, locked too, behind `at` in the order of use, unless the client has one
 * there. There must be room. */
void sticky_carry(struct sticky_part *p, uint32_t n, const struct sticky_place *to, uint32_t at);
/* All entries of a part have gone. Its chains still have them. */
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

static inline uint64_t sticky_host_of(const struct sticky_part *p, uint32_t n)
{
	return p->hosts != NULL ? p->hosts[n] : 0;
}

static inline struct sticky_key sticky_key_at(const struct sticky_part *p, uint32_t n)
{
	const struct sticky_entry *e = &p->entries[n];

	return (struct sticky_key){e->network, sticky_host_of(p, n), e->family};
}

static inline uint32_t sticky_used_of(const struct sticky_part *p)
{
	return atomic_load_explicit(&p->used, memory_order_relaxed);
}

#endif

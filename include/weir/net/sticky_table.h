/* SPDX-License-Identifier: MIT
 *
 * sticky_table.h - which server each client has, or each address that clients connect to.
 *
 * A client is an IPv4 address, or the /64 of an IPv6 one; an address that clients connect to is a whole one.
 * A value is any number but 0 that stands for a server. An entry expires a while after its last use; where
 * the table is full, the entry that was not used for longest leaves. All memory is taken when the table is
 * made, and its pages are touched only as entries need them. Tables of 2048 entries and more are cut into
 * parts with a lock each, of which each has its share of the entries and its own order of use. Which part
 * and chain a client belongs to depends on a random seed of the table, so nobody can choose addresses that
 * share one. `now_ns` is the monotonic clock. Any thread, unless a function says otherwise.
 */
#ifndef WEIR_NET_STICKY_TABLE_H
#define WEIR_NET_STICKY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/net/addr.h"

#define STICKY_SIZE_MAX (1u << 24)
#define STICKY_AGED_MAX 4096

struct sticky_table; /* opaque */

/* What the entries of a table are about. */
enum sticky_keys {
	STICKY_CLIENTS,
	STICKY_DESTINATIONS, /* addresses that clients connect to */
};

struct sticky_key {
	uint64_t network; /* IPv4: the address; IPv6: its first 64 bits; as in memory */
	uint64_t host;    /* IPv6: the last 64 bits of a destination; otherwise 0 */
	uint32_t family;  /* AF_INET or AF_INET6 */
};

/* A copy of an entry. */
struct sticky_row {
	struct sticky_key key;
	uint64_t server;
	int64_t expires_ns;
	unsigned part;
	uint32_t number; /* in its part, from 1 */
};

/* The key of an address; false if it has none, as clients of Unix sockets. */
bool sticky_key_of(enum sticky_keys kind, const struct addr_brief *a, struct sticky_key *out);
/* The client's network, or the address, with port 0. */
struct addr_brief sticky_key_addr(const struct sticky_key *k);

/* A table of at most `size` entries (1 to STICKY_SIZE_MAX), held once. NULL when out of memory. */
struct sticky_table *sticky_table_new(enum sticky_keys kind, uint32_t size);
/* Holds it once more; returns it. NULL is harmless. Control thread, like the next. */
struct sticky_table *sticky_table_hold(struct sticky_table *t);
/* Held once less: the last time frees it, and no other thread may have it. NULL is harmless. */
void sticky_table_put(struct sticky_table *t);
/* How much memory such a table has once it is full. */
size_t sticky_table_bytes(enum sticky_keys kind, uint32_t size);
enum sticky_keys sticky_table_keys(const struct sticky_table *t);

/* The server of this client, whose entry lives until `expires_ns` from now on; 0 = it has no entry. */
uint64_t sticky_table_use(struct sticky_table *t, const struct sticky_key *k, int64_t now_ns,
			  int64_t expires_ns);
/* The same, without using the entry. */
uint64_t sticky_table_look(struct sticky_table *t, const struct sticky_key *k, int64_t now_ns);

/* A client is to have another server. */
struct sticky_change {
	uint64_t from; /* the server that it had when it was looked up; 0 = none */
	uint64_t to;
	int64_t now_ns;
	int64_t expires_ns;
};

/* Gives the client the server `to`, unless it has got one that is neither `from` nor `to` meanwhile. Returns
 * the server that it has now. `*evicted`: another entry has left for this one. */
uint64_t sticky_table_set(struct sticky_table *t, const struct sticky_key *k, const struct sticky_change *c,
			  bool *evicted);

/* Removes the entry of `k`, NULL = all entries. Returns how many were removed. */
uint32_t sticky_table_clear(struct sticky_table *t, const struct sticky_key *k);
/* Removes what has expired, at most STICKY_AGED_MAX entries of a part: the next call goes on. */
void sticky_table_age(struct sticky_table *t, int64_t now_ns);
/* Entries, those that have expired and were not removed yet included. */
uint32_t sticky_table_used(const struct sticky_table *t);
uint32_t sticky_table_size(const struct sticky_table *t);
unsigned sticky_table_parts(const struct sticky_table *t);
/* Copies entries of one part from number `*next` on (begin with 1) to `rows`, at most `room`, and sets
 * `*next` for the next call; 0 = that was all. Returns how many, which may be none. In no particular order;
 * entries that come or go meanwhile may be missing. */
size_t sticky_table_read(struct sticky_table *t, unsigned part, uint32_t *next, struct sticky_row *rows,
			 size_t room);
/* Copies the entry of `k`; false if there is none. */
bool sticky_table_find(struct sticky_table *t, const struct sticky_key *k, struct sticky_row *row);

/* Moves all entries to `to`, which is new and of the same kind, as far as they fit, the one used last first:
 * their order of use stays, also across parts, if all were to expire the same time after their last use.
 * Meanwhile and from then on, whoever has `t` finds those of `to`, which `t` holds; to look at a client
 * during the move counts as a use. Nobody else has `to` before the move has ended. Until then, the functions
 * above see both as one table, of the size of `to`; an entry that moves while they are read may be seen
 * twice. Control thread. */
void sticky_table_begin_move(struct sticky_table *t, struct sticky_table *to);
/* The next step of it: up to 12 MiB of memory, or at least some hundred entries, a few under one lock.
 * False: it has ended, or there is none. */
bool sticky_table_step_move(struct sticky_table *t);
/* Where it goes, or has gone; NULL = nowhere. */
struct sticky_table *sticky_table_to(const struct sticky_table *t);

#endif

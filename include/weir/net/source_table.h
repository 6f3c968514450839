/* SPDX-License-Identifier: MIT
 *
 * source_table.h - how many sessions each source has: an IPv4 address, or the /64 of an IPv6 one.
 *
 * An entry exists while it counts somebody, so there are never more of them than sessions. Which entries
 * share a chain depends on a random seed of this process, so nobody can choose addresses that do. Who finds
 * no place may wait while others of its source are ending: whoever leaves gives its place to the first who
 * waits. Any thread: the counts are exact.
 */
#ifndef WEIR_NET_SOURCE_TABLE_H
#define WEIR_NET_SOURCE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/net/addr.h"

struct source_entry; /* opaque */
struct source_table; /* opaque */

/* Who waits for a place. Filled by source_table_wait(); its maker's, and the table's as long as it waits. */
struct source_waiter {
	struct source_entry *entry; /* borrows; NULL = it does not wait */
	struct source_waiter *next; /* of those who wait there, the first first */
	unsigned worker;            /* whose it is */
	bool granted;               /* under the table's lock */
	void (*wake)(void *arg);    /* called without a lock by who gives the place away; must not block */
	void *wake_arg;
};

/* So many may wait of one source, and no more than its limit: each has at most one session to wait for. */
#define SOURCE_WAITERS_MAX 8

/* Of a worker, in the mask of source_table_wait(). */
static inline uint64_t source_worker_bit(unsigned worker)
{
	return UINT64_C(1) << worker % 64;
}

/* NULL without memory. */
struct source_table *source_table_new(void);
/* Everybody has left. NULL is fine. */
void source_table_free(struct source_table *t);

/* Counts one more of the source of `a`, which is IPv4 or IPv6, unless `limit` are counted already; it is one
 * of worker `worker`. 0 with `*out` what source_table_leave() takes; -EDQUOT; -ENOMEM. */
int source_table_enter(struct source_table *t, const struct addr_brief *a, unsigned limit, unsigned worker,
		       struct source_entry **out);
/* One of the source is about to leave: said once, before source_table_leave(). */
void source_table_ending(struct source_table *t, struct source_entry *e);
/* Counts one less; the last one ends the entry. `ending`: source_table_ending() was called for it. True when
 * the place was given to one who waited, which was woken. */
bool source_table_leave(struct source_table *t, struct source_entry *e, bool ending);

/* Waits for a place: 0 with `*workers` those that may have sessions of this source (source_worker_bit());
 * -EAGAIN when there is room (enter), -EDQUOT when enough wait already or none may before `now_ns`. */
int source_table_wait(struct source_table *t, const struct addr_brief *a, unsigned limit, int64_t now_ns,
		      struct source_waiter *w, uint64_t *workers);
/* Has it been given its place? */
bool source_table_is_granted(struct source_table *t, const struct source_waiter *w);
/* Are as many of its source ending as wait, up to this one; or has it been given its place? */
bool source_table_is_hopeful(struct source_table *t, const struct source_waiter *w);
/* Ends the wait. NULL, and nobody of its source begins to wait before `again_ns`; or the entry in which it
 * is counted, as it was given its place. */
struct source_entry *source_table_stop_waiting(struct source_table *t, struct source_waiter *w,
					       int64_t again_ns);

/* Is `e` the entry of the source of `a`, which is IPv4 or IPv6? */
bool source_table_is_of(const struct source_entry *e, const struct addr_brief *a);
/* How many the source of `a` has now. */
unsigned source_table_count(struct source_table *t, const struct addr_brief *a);
/* How many entries there are: walks all of the table, for tests. */
size_t source_table_size(struct source_table *t);

#endif

/* SPDX-License-Identifier: MIT
 *
 * source_table.h - how many sessions each source has: an IPv4 address, or the /64 of an IPv6 one.
 *
 * An entry exists while its count is above 0, so there are never more entries than sessions. Which entries
 * share a chain depends on a random seed of this process, so nobody can choose addresses that do. A client
 * that finds its source at the limit may wait while other sessions of that source are ending: a session that
 * leaves gives its place to the first waiter. Any thread: the counts are exact.
 */
#ifndef WEIR_NET_SOURCE_TABLE_H
#define WEIR_NET_SOURCE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/net/addr.h"

struct source_entry; /* opaque */
struct source_table; /* opaque */

/* A client that waits for a place. Filled in by source_table_wait(). The caller owns it; the table borrows it
 * while it waits. */
struct source_waiter {
	struct source_entry *entry; /* borrows; NULL = not waiting */
	struct source_waiter *next; /* the next waiter of the same source */
	unsigned worker;            /* the worker that it belongs to */
	bool granted;               /* under the table's lock */
	void (*wake)(void *arg);    /* called by any thread, without a lock; must not block */
	void *wake_arg;
};

/* Maximum waiters per source. There are also never more than its limit: each waits for a session to end. */
#define SOURCE_WAITERS_MAX 8

/* The bit of a worker in the mask of source_table_wait(); every 64th worker shares it. */
static inline uint64_t source_worker_bit(unsigned worker)
{
	return UINT64_C(1) << worker % 64;
}

/* NULL when out of memory. */
struct source_table *source_table_new(void);
/* Frees the table; nothing may be counted in it. NULL is allowed. */
void source_table_free(struct source_table *t);

/* Counts one more session, of worker `worker`, for the source of `a`, which is IPv4 or IPv6. 0, with the
 * entry to pass to source_table_leave() in `*out`; -EDQUOT if the source has `limit` already; or -ENOMEM. */
int source_table_enter(struct source_table *t, const struct addr_brief *a, unsigned limit, unsigned worker,
		       struct source_entry **out);
/* A session of the source is about to leave. At most once per session, before source_table_leave(). */
void source_table_ending(struct source_table *t, struct source_entry *e);
/* Counts one session less; the last one frees the entry. `ending`: source_table_ending() was called for the
 * session. True when its place was given to a waiter, which was woken. */
bool source_table_leave(struct source_table *t, struct source_entry *e, bool ending);

/* Starts to wait for a place: 0, with the workers that may have sessions of this source in `*workers`
 * (source_worker_bit()); -EAGAIN when there is room: enter; -EDQUOT when enough others wait already, or when
 * nobody may wait yet at `now_ns`. */
int source_table_wait(struct source_table *t, const struct addr_brief *a, unsigned limit, int64_t now_ns,
		      struct source_waiter *w, uint64_t *workers);
/* Has the waiter been given a place? */
bool source_table_is_granted(struct source_table *t, const struct source_waiter *w);
/* Is a place in sight: are at least as many sessions of the source ending as there are waiters up to this
 * one, or has it been given a place? */
bool source_table_is_hopeful(struct source_table *t, const struct source_waiter *w);
/* Ends the wait. Returns the entry in which the waiter is counted if it was given a place; otherwise NULL,
 * and no client of its source may start to wait before `again_ns`. */
struct source_entry *source_table_stop_waiting(struct source_table *t, struct source_waiter *w,
					       int64_t again_ns);

/* Is `e` the entry of the source of `a`, which is IPv4 or IPv6? */
bool source_table_is_of(const struct source_entry *e, const struct addr_brief *a);
/* How many sessions the source of `a` has now. */
unsigned source_table_count(struct source_table *t, const struct addr_brief *a);
/* The number of entries. Walks the whole table; for tests. */
size_t source_table_size(struct source_table *t);

#endif

/* SPDX-License-Identifier: MIT
 *
 * picker_parts.h - shared by the algorithms; included only by picker.c and pick_*.c.
 *
 * Worker thread.
 */
#ifndef WEIR_BALANCE_PICKER_PARTS_H
#define WEIR_BALANCE_PICKER_PARTS_H

#include "weir/balance/backend.h"
#include "weir/balance/picker.h"
#include "weir/balance/roster.h"
#include "weir/balance/server.h"
#include "weir/base/chunks.h"

/* The algorithms. The roster is current and not empty; `avoid` is not its only server. */
enum pick pick_least(struct picker *p, const struct server *avoid, struct server **out);
enum pick pick_random(struct picker *p, const struct server *avoid, struct server **out);
enum pick pick_first(struct picker *p, const struct server *avoid, struct server **out);
enum pick pick_by_hash(struct picker *p, const struct pick_request *q, struct server **out);

/* What the worker keeps of a server. */
static inline struct pick_mark *pick_mark_of(const struct picker *p, const struct roster_entry *e)
{
	return chunks_at(p->marks, e->slot);
}

/* The index in by_key of the entry that owns the unit of weight `at`, which is below r->weight. */
size_t pick_find_by_weight(const struct roster *r, uint64_t at);

/* The bound on each server's load during one choice (`hash-balance-factor`). */
struct pick_bound {
	uint64_t slots; /* of all servers together; 0 = no bound */
	uint64_t weight;
};

struct pick_bound pick_bound_now(const struct picker *p);
/* May entry `e` of by_key take one more session? */
bool pick_bound_admits(const struct pick_bound *b, const struct roster_entry *e);

/* The load of a server as leastconn compares it. */
uint64_t pick_load_key(const struct roster_entry *e);
/* Is `a` less loaded than `b` as random compares them? */
bool pick_is_less_loaded(const struct roster_entry *a, const struct roster_entry *b);
/* Where pick_by_hash() would settle under this bound, without settling there: uses p->roster alone. NULL if
 * everything is full; `*result` is then unchanged. Any thread. */
const struct roster_entry *pick_hash_look(const struct picker *p, uint64_t key,
					  const struct pick_bound *bound, enum pick *result);

/* Would a new client have to wait? Clients waiting for this server go first. */
static inline bool pick_is_full(const struct server *s)
{
	const unsigned limit = atomic_load_explicit(&s->limit, memory_order_relaxed);

	return limit != 0 &&
	       ((unsigned)atomic_load_explicit(&s->sessions, memory_order_relaxed) >= limit ||
		atomic_load_explicit(&s->queued, memory_order_relaxed) > 0);
}

static inline bool pick_enter(struct server *s)
{
	return !pick_is_full(s) && server_enter(s);
}

#endif

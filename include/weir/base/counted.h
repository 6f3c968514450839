/* SPDX-License-Identifier: MIT
 *
 * counted.h - how many of a worker's sessions use a thing: counted for each worker, with one writer.
 *
 * The counts lie in a table of the worker, under the number of the thing, so that counting touches no memory
 * that another worker writes. What a worker took, the same worker gives back; a use moves to another worker
 * when that one takes it before this one gives it back.
 */
#ifndef WEIR_BASE_COUNTED_H
#define WEIR_BASE_COUNTED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/base/check.h"
#include "weir/base/chunks.h"
#include "weir/base/slot_space.h"

struct counted {
	uint32_t slot;	     /* in the space whose tables hold the counts */
	/* Unpublished: whoever gives back a last one notifies control. Set before retire_add(): the rounds
	 * make sure that a worker sees it, or control the count. */
	atomic_bool leaving;
};

/* An entry of a table of counts. Both only grow, and wrap. While they are equal, this worker does not use the
 * thing, and its number may be given to another. */
typedef struct {
	_Atomic uint32_t taken;
	_Atomic uint32_t given;
} counted_entry;

/* One more of this worker's sessions uses it. The thread that owns `mine`. */
static inline void counted_take(const struct chunks *mine, const struct counted *c)
{
	counted_entry *n = chunks_at(mine, c->slot);
	const uint32_t taken = atomic_load_explicit(&n->taken, memory_order_relaxed) + 1;

	check(taken != atomic_load_explicit(&n->given, memory_order_relaxed));
	atomic_store_explicit(&n->taken, taken, memory_order_relaxed);
}

/* One fewer. True when control waits for that: it was the last one here of a thing that leaves. */
static inline bool counted_give_back(const struct chunks *mine, const struct counted *c)
{
	counted_entry *n = chunks_at(mine, c->slot);
	const uint32_t taken = atomic_load_explicit(&n->taken, memory_order_relaxed);
	const uint32_t given = atomic_load_explicit(&n->given, memory_order_relaxed);
	const bool leaving = atomic_load_explicit(&c->leaving, memory_order_relaxed);

	check(taken != given);
	/* Whatever was read through it comes before this. */
	atomic_store_explicit(&n->given, given + 1, memory_order_release);
	return taken == given + 1 && leaving;
}

/* How often it is in use, over all tables of the space; perhaps more, never less. What was given back is
 * summed before what was taken: a use that moves meanwhile is missed by neither sum, as it was taken again
 * before it was given back. Zero means that nobody uses it only as retire.h says. Control thread. */
static inline uint64_t counted_sum(const struct slot_space *s, const struct counted *c)
{
	uint32_t given = 0, taken = 0;

	for (const struct list *l = s->tables.next; l != &s->tables; l = l->next) {
		counted_entry *n = chunks_at(list_entry(l, struct chunks, link), c->slot);

		given += atomic_load_explicit(&n->given, memory_order_acquire);
	}
	for (const struct list *l = s->tables.next; l != &s->tables; l = l->next) {
		counted_entry *n = chunks_at(list_entry(l, struct chunks, link), c->slot);

		taken += atomic_load_explicit(&n->taken, memory_order_relaxed);
	}
	return taken - given;
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * counted.h - how many of a worker's sessions use a thing: counted for each worker, with one writer.
 *
 * The counts lie in a table of the worker, under the number of the thing, so that counting touches no memory
 * that another worker writes. What a worker took, the same worker gives back.
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
	atomic_bool leaving; /* unpublished: whoever gives back a last one notifies control */
};

/* An entry of a table of counts. */
typedef _Atomic uint32_t counted_entry;

/* One more of this worker's sessions uses it. The thread that owns `mine`. */
static inline void counted_take(const struct chunks *mine, const struct counted *c)
{
	counted_entry *n = chunks_at(mine, c->slot);
	const uint32_t before = atomic_load_explicit(n, memory_order_relaxed);

	check(before < UINT32_MAX);
	atomic_store_explicit(n, before + 1, memory_order_relaxed);
}

/* One fewer. True when control waits for that: it was the last one here of a thing that leaves. */
static inline bool counted_give_back(const struct chunks *mine, const struct counted *c)
{
	counted_entry *n = chunks_at(mine, c->slot);
	const uint32_t before = atomic_load_explicit(n, memory_order_relaxed);
	const bool leaving = atomic_load_explicit(&c->leaving, memory_order_relaxed);

	check(before > 0);
	/* Whatever was read through it comes before this. */
	atomic_store_explicit(n, before - 1, memory_order_release);
	return before == 1 && leaving;
}

/* The sum over all tables of the space. A sum of zero means that nobody uses it only as retire.h says.
 * Control thread. */
static inline uint64_t counted_sum(const struct slot_space *s, const struct counted *c)
{
	uint64_t sum = 0;

	for (const struct list *l = s->tables.next; l != &s->tables; l = l->next)
		sum += atomic_load_explicit(
			(counted_entry *)chunks_at(list_entry(l, struct chunks, link), c->slot),
			memory_order_acquire);
	return sum;
}

#endif

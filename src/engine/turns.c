/* SPDX-License-Identifier: MIT
 *
 * turns.c - how long the turns of the workers' loops take, while control wants to know.
 *
 * Each worker has a figure of its own, which control reads.
 */
#include "turns.h"

#include "weir/base/clock.h"
#include "weir/engine/engine.h"

/* Two system calls more than a turn needs. */
static void turn_watched(struct worker *w, uint32_t watch)
{
	const int64_t begun_ns = clock_thread_ns();
	uint64_t took_ns;

	worker_turn(w);
	took_ns = (uint64_t)(clock_thread_ns() - begun_ns);
	if (atomic_load_explicit(&w->turn_watch, memory_order_relaxed) != watch ||
	    took_ns > atomic_load_explicit(&w->longest_turn_ns, memory_order_relaxed))
		atomic_store_explicit(&w->longest_turn_ns, took_ns, memory_order_relaxed);
	atomic_store_explicit(&w->turn_watch, watch, memory_order_release);
}

void turns_take(struct worker *w)
{
	const uint32_t watch = atomic_load_explicit(&w->engine->turn_watch, memory_order_relaxed);

	if (likely(watch == 0))
		worker_turn(w);
	else
		turn_watched(w, watch);
}

void engine_watch_turns(struct engine *e, bool watch)
{
	if (watch && ++e->last_turn_watch == 0)
		e->last_turn_watch = 1;
	atomic_store_explicit(&e->turn_watch, watch ? e->last_turn_watch : 0, memory_order_relaxed);
}

uint64_t engine_longest_turn_ns(const struct engine *e)
{
	uint64_t longest = 0;

	for (unsigned i = 0; i < e->worker_count; i++) {
		const struct worker *w = e->workers[i];
		const uint32_t watch = atomic_load_explicit(&w->turn_watch, memory_order_acquire);
		const uint64_t ns = atomic_load_explicit(&w->longest_turn_ns, memory_order_relaxed);

		if (watch == e->last_turn_watch && ns > longest)
			longest = ns;
	}
	return longest;
}

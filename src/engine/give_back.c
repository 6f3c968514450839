/* SPDX-License-Identifier: MIT
 *
 * give_back.c - what a worker gives back when nothing needs it: pipes, buffers, memory of sessions.
 *
 * Owns the timer of the cycle, and decides how much goes back at a time after a burst: a worker that gave
 * back the memory of half a million sessions at once would be busy for tens of milliseconds. A worker's
 * thread.
 */
#include "give_back.h"

#include "weir/base/clock.h"
#include "extra.h"
#include "worker.h"

/* Pages of sessions: half a megabyte at a time takes about fifty microseconds. */
#define GIVE_BACK_PAGES 32u
#define GIVE_BACK_PAUSE_NS (2 * NS_PER_MS)

static bool caches_rest(const struct worker *w)
{
	if (shelf_size(&w->loop.pipes.list) > 0)
		return true;
	for (int i = 0; i < BUF_TIERS; i++)
		if (shelf_size(&w->loop.bufs.tiers[i]) > 0)
			return true;
	return false;
}

/* Runs from a timer: all events of the turn have been handled, so none of them refers to a page that goes. */
static void give_back_fired(struct timer *t)
{
	struct worker *w = container_of(t, struct worker, age);

	if (w->slab.dead == NULL && w->extras.dead == NULL && w->ported.dead == NULL &&
	    w->questions.dead == NULL) {
		/* give_back_arm() checks itself whether anything is left. */
		(void)pipe_cache_age(&w->loop.pipes);
		(void)buf_cache_age(&w->loop.bufs);
		slab_age(&w->slab);
		slab_age(&w->extras);
		slab_age(&w->ported);
		slab_age(&w->questions);
		timer_heap_trim(&w->loop.timers);
	}
	if (slab_give_back(&w->slab, GIVE_BACK_PAGES) || slab_give_back(&w->extras, GIVE_BACK_PAGES) ||
	    slab_give_back(&w->ported, GIVE_BACK_PAGES) || slab_give_back(&w->questions, GIVE_BACK_PAGES))
		(void)timer_set(&w->loop.timers, t, w->loop.now_ns + GIVE_BACK_PAUSE_NS); /* there is room: it
											   * has just fired */
}

void give_back_init(struct worker *w)
{
	timer_init(&w->age, give_back_fired);
}

void give_back_arm(struct worker *w)
{
	const int64_t cycle_ns =
		atomic_load_explicit(&w->engine->settings.pipe_cycle_ns, memory_order_relaxed);

	if (timer_is_set(&w->age) || cycle_ns <= 0)
		return;
	if (caches_rest(w) || slab_rests(&w->slab) || slab_rests(&w->extras) || slab_rests(&w->ported) ||
	    slab_rests(&w->questions))
		(void)timer_set(&w->loop.timers, &w->age, w->loop.now_ns + cycle_ns); /* if this fails, a
										       * later turn tries
										       * again */
}

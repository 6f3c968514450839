/* SPDX-License-Identifier: MIT
 *
 * slots.c - the reservations of maxconn: one per session, taken before accept.
 *
 * Owns no memory: the counts belong to the engine and its frontends. Any worker's thread.
 */
#include "slots.h"

#include "weir/base/check.h"
#include "weir/engine/engine.h"

static unsigned process_limit(const struct engine *e)
{
	return atomic_load_explicit(&e->settings.maxconn, memory_order_relaxed);
}

/* Never exceeds the limit, not even for a moment: a listener that looks for room just then would stay paused,
 * although a slot has come free. */
static bool reserve(atomic_int *count, unsigned limit)
{
	int before = atomic_load(count);

	do {
		check(before >= 0);
		if ((unsigned)before >= limit)
			return false;
	} while (!atomic_compare_exchange_weak(count, &before, before + 1));
	return true;
}

/* Is there room after a release that found `before`? There is none while more are counted than a limit that
 * has been lowered. The limit is read after the release and sequentially consistent, as control writes it
 * before it looks who is paused: a listener that found no room under a limit just raised is woken here or
 * there. */
static bool has_room(int before, const atomic_uint *limit)
{
	return (unsigned)before <= atomic_load(limit);
}

static void release_process(struct engine *e)
{
	const int before = atomic_fetch_sub(&e->sessions, 1);

	check(before > 0);
	if (has_room(before, &e->settings.maxconn))
		paused_wake_one(&e->paused);
}

void slots_release(struct engine *e, struct frontend *fe)
{
	const int before = atomic_fetch_sub(&fe->sessions, 1);

	check(before > 0);
	if (has_room(before, &fe->limit))
		paused_wake_one(&fe->paused);
	release_process(e);
}

enum listener_limit slots_take(struct engine *e, struct frontend *fe)
{
	if (!reserve(&e->sessions, process_limit(e)))
		return LIMIT_PROCESS;
	if (reserve(&fe->sessions, frontend_limit(fe)))
		return LIMIT_NONE;
	release_process(e);
	return LIMIT_FRONTEND;
}

void slots_force(struct engine *e, struct frontend *fe)
{
	const int before = atomic_fetch_add(&e->sessions, 1);
	const int before_here = atomic_fetch_add(&fe->sessions, 1);

	check(before >= 0);
	check(before_here >= 0);
}

void slots_release_rate(struct frontend *fe, int64_t since_ns)
{
	if (likely(rate_limit(&fe->rate) == 0))
		return;
	rate_give_back(&fe->rate, since_ns);
	paused_wake_one(&fe->rate_paused);
}

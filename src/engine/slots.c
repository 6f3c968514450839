/* SPDX-License-Identifier: MIT
 *
 * slots.c - the reservations of maxconn: one per session, taken before accept.
 *
 * Owns no memory: the counts belong to the engine and its frontends. Any worker's thread.
 */
#include "slots.h"

#include "weir/base/check.h"
#include "weir/engine/engine.h"
#include "worker.h"

static unsigned process_limit(const struct engine *e)
{
	return atomic_load_explicit(&e->settings.maxconn, memory_order_relaxed);
}

static bool reserve(atomic_int *count, unsigned limit)
{
	const int before = atomic_fetch_add(count, 1);

	check(before >= 0);
	if ((unsigned)before < limit)
		return true;
	atomic_fetch_sub(count, 1);
	return false;
}

void slots_wake(struct engine *e, const struct frontend *fe, enum listener_limit why)
{
	unsigned i;
	size_t k;

	check(why != LIMIT_NONE);
	check((fe == NULL) == (why == LIMIT_PROCESS));
	for (i = 0; i < e->worker_count; i++) {
		struct worker *w = e->workers[i];

		for (k = 0; w != NULL && k < e->endpoint_count; k++) {
			struct listener *l = &w->listeners[k];

			if (fe != NULL && l->endpoint->frontend != fe)
				continue;
			if (atomic_load(&l->paused_for) != (int)why)
				continue;
			mailbox_signal(&w->mailbox, MAIL_RESUME);
			return;
		}
	}
}

/* May there be room after a release that found `before`? Each worker may just be counting one that it does
 * not get, see reserve(). With more than that above the limit, which has been lowered, there is none. */
static bool may_have_room(const struct engine *e, int before, unsigned limit)
{
	return (unsigned)before <= limit + e->worker_count;
}

static void release_process(struct engine *e)
{
	const int before = atomic_fetch_sub(&e->sessions, 1);

	check(before > 0);
	if (atomic_load(&e->paused) > 0 && may_have_room(e, before, process_limit(e)))
		slots_wake(e, NULL, LIMIT_PROCESS);
}

void slots_release(struct engine *e, struct frontend *fe)
{
	const int before = atomic_fetch_sub(&fe->sessions, 1);

	check(before > 0);
	if (atomic_load(&fe->paused) > 0 && may_have_room(e, before, frontend_limit(fe)))
		slots_wake(e, fe, LIMIT_FRONTEND);
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

void slots_release_rate(struct engine *e, struct frontend *fe, int64_t since_ns)
{
	if (likely(rate_limit(&fe->rate) == 0))
		return;
	rate_give_back(&fe->rate, since_ns);
	if (atomic_load(&fe->rate_paused) > 0)
		slots_wake(e, fe, LIMIT_RATE);
}

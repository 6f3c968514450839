/* SPDX-License-Identifier: MIT
 *
 * evict.c - all sessions with a server end: it was marked down or removed, or the administrator wants it so.
 * Likewise those of a frontend or backend that was removed.
 *
 * Owns the record of the orders that have been carried out. A session that only waits, in a queue or between
 * two tries, has no place at a server and goes on. A worker's thread.
 */
#include "evict.h"

#include <stdatomic.h>

#include "weir/base/check.h"
#include "weir/engine/tallies.h"
#include "connect.h"
#include "session.h"
#include "session_drain.h"
#include "session_end.h"
#include "session_slab.h"
#include "worker.h"

/* Notes what is new for one object; true when anything is. */
static bool note(struct eviction *ev, const struct engine_ends *ends)
{
	ev->due = 0;
	for (unsigned why = 0; why < ENGINE_END_COUNT; why++) {
		const uint32_t number = atomic_load_explicit(&ends->times[why], memory_order_relaxed);

		if (number != ev->done[why])
			ev->due |= 1u << why;
		ev->done[why] = number;
	}
	return ev->due != 0;
}

static bool note_all(struct worker *w)
{
	const struct engine *e = w->engine;
	const uint32_t peak = slot_space_peak(&e->live.objects);
	bool any = false;

	for (uint32_t i = 0; i < peak && chunks_has(&w->evictions, i); i++)
		if (note(chunks_at(&w->evictions, i), chunks_at(&e->ends, i)))
			any = true;
	return any;
}

static unsigned due_at(const struct worker *w, uint32_t slot)
{
	return ((const struct eviction *)chunks_at(&w->evictions, slot))->due;
}

static bool tell_to_drain(struct session *s, unsigned due)
{
	if (s->worker->evict_walk.everyone || due & 1u << ENGINE_END_IDLE)
		session_drain(s);
	return false;
}

/* True when the session had to end. */
static bool evict_from_server(struct session *s)
{
	const unsigned due = due_at(s->worker, s->at->server->slot) & ~(1u << ENGINE_END_IDLE);

	check(s->at->server->owner == s->back->backend);
	if (due & 1u << ENGINE_END_KILLED)
		session_close(s, CLOSE_KILLED);
	else if (due & 1u << ENGINE_END_REMOVED && session_is_forwarding(s))
		session_close(s, CLOSE_REMOVED);
	else if (due != 0)
		connect_server_down(s); /* one that is still connecting may go elsewhere */
	return due != 0;
}

/* The same. One that may go on until it is idle is told so. */
static bool evict(struct session *s)
{
	const struct worker *w = s->worker;
	unsigned due;

	if (s->state == SESSION_CLOSING)
		return false;
	due = due_at(w, s->entry->frontend->slot);
	if (s->backend_counted)
		due |= due_at(w, s->back->backend->slot);
	if (due & 1u << ENGINE_END_REMOVED) {
		session_close(s, CLOSE_REMOVED);
		return true;
	}
	if (!s->server_counted)
		return tell_to_drain(s, due);
	return evict_from_server(s) || tell_to_drain(s, due | due_at(w, s->at->server->slot));
}

static bool begin_walk(struct worker *w)
{
	struct evict_walk *walk = &w->evict_walk;
	const bool any = note_all(w);

	walk->everyone = walk->drains;
	walk->drains = false;
	if (!any && !walk->everyone)
		return false;
	walk->running = true;
	walk->mark = !walk->mark;
	walk->place = 0;
	return true;
}

static void look_at_some(struct worker *w)
{
	struct evict_walk *walk = &w->evict_walk;
	uint32_t budget = EVICT_PLACES_MAX;
	unsigned ended = 0;
	struct session *s;

	while (ended < EVICT_SESSIONS_MAX &&
	       (s = session_slab_next(&w->slab, &walk->place, &budget)) != NULL) {
		if (s->evict_mark == walk->mark)
			continue;
		s->evict_mark = walk->mark;
		if (evict(s))
			ended++;
	}
	walk->running = !slab_is_over(&w->slab, walk->place);
}

void evict_sessions(struct worker *w)
{
	if (!w->evict_walk.running && !begin_walk(w))
		return;
	look_at_some(w);
	/* More may be left to do, or another order may have arrived meanwhile. */
	mailbox_signal(&w->mailbox, MAIL_EVICT);
}

bool evict_has_orders(const struct worker *w)
{
	return w->evict_walk.running || mailbox_is_signalled(&w->mailbox, MAIL_EVICT);
}

void evict_drain(struct worker *w)
{
	w->evict_walk.drains = true;
	mailbox_signal(&w->mailbox, MAIL_EVICT);
}

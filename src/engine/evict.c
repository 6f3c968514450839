/* SPDX-License-Identifier: MIT
 *
 * evict.c - all sessions with a server end: it was marked down, or the administrator wants it so.
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
#include "session_end.h"
#include "session_slab.h"
#include "worker.h"

/* Notes what is new for one server; true when anything is. */
static bool note(struct eviction *ev, const struct engine_ends *ends)
{
	ev->due = 0;
	for (unsigned why = 0; why < SERVER_ENDS; why++) {
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

/* True when the session had to end. */
static bool evict(struct session *s)
{
	const struct eviction *ev;
	unsigned due;

	if (s->state == SESSION_CLOSING || !s->server_counted)
		return false;
	check(s->at->server->owner == s->back->backend);
	ev = chunks_at(&s->worker->evictions, s->at->server->slot);
	due = ev->due;
	if (due & 1u << SERVER_END_KILLED)
		session_close(s, CLOSE_KILLED);
	else if (due & 1u << SERVER_END_DOWN)
		connect_server_down(s);
	return due != 0;
}

static bool begin_walk(struct worker *w)
{
	struct evict_walk *walk = &w->evict_walk;

	if (!note_all(w))
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

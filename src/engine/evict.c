/* SPDX-License-Identifier: MIT
 *
 * evict.c - all sessions with a server end: it was marked down, or the administrator wants it so.
 *
 * Owns the record of the orders that have been carried out. A session that only waits, in a queue or between
 * two tries, has no place at a server and goes on. A worker's thread.
 */
#include "evict.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "weir/base/check.h"
#include "weir/engine/tallies.h"
#include "connect.h"
#include "session.h"
#include "session_end.h"
#include "session_slab.h"
#include "worker.h"

int evict_init(struct worker *w)
{
	w->evictions = calloc(tally_count(w->engine), sizeof(*w->evictions));
	return w->evictions != NULL ? 0 : -ENOMEM;
}

/* Notes what is new for one server; true when anything is. */
static bool note(struct eviction *ev, const struct server *server)
{
	ev->due = 0;
	for (unsigned why = 0; why < SERVER_ENDS; why++) {
		const uint32_t number = atomic_load_explicit(&server->ends[why], memory_order_relaxed);

		check((int32_t)(number - ev->done[why]) >= 0); /* control only raises it */
		if (number != ev->done[why])
			ev->due |= 1u << why;
		ev->done[why] = number;
	}
	return ev->due != 0;
}

static bool note_all(struct worker *w)
{
	const struct engine *e = w->engine;
	bool any = false;

	for (size_t b = 0; b < e->config->backend_count; b++)
		for (size_t i = 0; i < e->backends[b].server_count; i++) {
			const struct server *server = &e->backends[b].servers[i];
			const size_t at = tally_of_server(e, b, server);

			check(at < e->tally_count);
			if (note(&w->evictions[at], server))
				any = true;
		}
	return any;
}

/* True when the session had to end. */
static bool evict(struct session *s)
{
	const struct engine *e = s->worker->engine;
	unsigned due;

	if (s->state == SESSION_CLOSING || !s->server_counted)
		return false;
	check(s->server->owner == s->backend);
	check((size_t)(s->backend - e->backends) < e->config->backend_count);
	due = s->worker->evictions[tally_of_server(e, (size_t)(s->backend - e->backends), s->server)].due;
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

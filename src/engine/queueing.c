/* SPDX-License-Identifier: MIT
 *
 * queueing.c - a session's place in the queue for a server.
 *
 * Owns the length of the wait; balance/queue.c decides who is served next. A worker's thread.
 */
#include "queueing.h"

#include <errno.h>

#include "weir/base/check.h"
#include "extra.h"
#include "session.h"
#include "worker.h"

/* A session that failed at one server waits for any other: the places of a server that is dead but not yet
 * known to be are always free, and would use up all tries of all waiting sessions. If a server's queue has
 * filled up since the choice, the session waits for any other server, too. */
int queueing_enter(struct session *s, struct server *server, bool stuck)
{
	struct waiter *w = &s->extra->waiter;
	struct queue_grants *grants = &s->worker->grants;
	int err;

	check(s->state == SESSION_QUEUED);
	check(w->backend == NULL);
	check(!s->server_counted);
	w->avoid = s->tries > 0 && s->back->config->redispatch ? s->at->server : NULL;
	w->stuck = stuck;
	w->stays = s->tries > 0;
	err = queue_enter(s->back->backend, w, server, grants);
	if (err != -EBUSY || server == NULL || !s->back->config->redispatch)
		return err;
	return queue_enter(s->back->backend, w, NULL, grants);
}

static void end_wait(struct session *s)
{
	struct session_extra *x = s->extra;

	check(s->worker->loop.now_ns >= x->queued_ns);
	x->wait_ns += (uint64_t)(s->worker->loop.now_ns - x->queued_ns);
}

/* What the session counts of the server is not this place: nothing else notifies control. A server that is
 * merely down is out of the roster, too; the notification is then harmless. */
static void tell_if_left(struct worker *w, const struct server *server)
{
	if (unlikely(!atomic_load_explicit(&server->in_roster, memory_order_relaxed)))
		w->engine->notify(w->engine->notify_arg);
}

void queueing_give_back(struct worker *w, struct server *server)
{
	server_leave(server);
	tell_if_left(w, server); /* it is not freed before this worker has passed */
}

void queueing_leave(struct session *s)
{
	const struct server *released;

	if (s->extra->waiter.backend == NULL)
		return;
	check(s->extra->waiter.backend == s->back->backend);
	end_wait(s);
	released = queue_leave(&s->extra->waiter);
	if (released != NULL)
		tell_if_left(s->worker, released);
}

void queueing_take(struct worker *w, queueing_served *served)
{
	struct waiter *waiter;

	while ((waiter = queue_take_granted(&w->grants)) != NULL) {
		struct session_extra *x = container_of(waiter, struct session_extra, waiter);

		check(x->session->worker == w);
		check(x->session->state == SESSION_QUEUED);
		end_wait(x->session);
		served(x->session, waiter->server);
	}
}

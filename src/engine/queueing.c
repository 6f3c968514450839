/* SPDX-License-Identifier: MIT
 *
 * queueing.c - a session waits for a place at a server.
 *
 * Owns the wait: its deadline and its length; who is served next is decided in balance/queue.c. The client
 * is watched meanwhile, as it is while a server is asked. A worker's thread.
 */
#include "queueing.h"

#include <errno.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "extra.h"
#include "session.h"
#include "worker.h"

static int64_t queue_deadline(const struct session *s)
{
	const struct config_timeouts *t = &s->backend->config->timeouts;
	const int64_t timeout_ns = t->queue_ns > 0 ? t->queue_ns : t->connect_ns;

	return timeout_ns > 0 ? s->worker->loop.now_ns + timeout_ns : CLOCK_NEVER;
}

/* Who failed at one server waits for any other: the places of a server that is dead and not yet known to be
 * are always free, and would use up all tries of all who wait. A server's queue that has filled up since the
 * choice sends its clients to the others. */
static int enter(struct session *s, struct server *server)
{
	struct waiter *w = &s->extra->waiter;
	struct queue_grants *grants = &s->worker->grants;
	int err;

	w->avoid = s->tries > 0 && s->backend->config->redispatch ? s->server : NULL;
	err = queue_enter(s->backend, w, server, grants);
	if (err != -EBUSY || server == NULL || !s->backend->config->redispatch)
		return err;
	return queue_enter(s->backend, w, NULL, grants);
}

void queueing_wait(struct session *s, struct server *server)
{
	struct session_extra *x = session_extra(s);

	check(!s->server_counted);
	if (x == NULL) {
		session_close(s, CLOSE_NO_RESOURCE);
		return;
	}
	session_set_state(s, SESSION_QUEUED);
	x->queued_ns = s->worker->loop.now_ns;
	s->fixed_ns = queue_deadline(s);
	session_watch_client(s);
	if (s->state != SESSION_QUEUED)
		return;
	if (enter(s, server) != 0)
		session_close(s, CLOSE_QUEUE_FULL);
	else
		session_rearm(s); /* a place may be given already: the news comes by mail */
}

static void end_wait(struct session *s)
{
	struct session_extra *x = s->extra;

	x->wait_ns += (uint64_t)(s->worker->loop.now_ns - x->queued_ns);
}

void queueing_leave(struct session *s)
{
	if (s->extra->waiter.backend == NULL)
		return;
	end_wait(s);
	queue_leave(&s->extra->waiter);
}

void queueing_take(struct worker *w)
{
	struct waiter *waiter;

	while ((waiter = queue_take_granted(&w->grants)) != NULL) {
		struct session_extra *x = container_of(waiter, struct session_extra, waiter);

		end_wait(x->session);
		session_connect_to(x->session, waiter->server);
	}
}

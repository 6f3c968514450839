/* SPDX-License-Identifier: MIT
 *
 * session_drain.c - `drain = idle`: a session ends once it is idle, because something that it uses leaves.
 *
 * Owns what idle means. Only a session that was told to drain is looked at, by its own timer, once per grace
 * time: the others cost nothing. Whether anything drains is asked again each time, so that a server may come
 * back. A worker's thread.
 */
#include "session_drain.h"

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "session.h"
#include "session_deadline.h"
#include "session_end.h"
#include "worker.h"

/* After the server's last byte. */
#define GRACE_NS NS_PER_SEC
/* After the client's, which may be a question: for the server to answer. */
#define ANSWER_NS (10 * NS_PER_SEC)

static bool is_set(const atomic_bool *flag)
{
	return atomic_load_explicit(flag, memory_order_relaxed);
}

static bool is_wanted(const struct session *s)
{
	const struct backend *b = s->back->backend;

	if (!is_set(&b->drains_idle))
		return false;
	return s->worker->draining || is_set(&b->removed) || is_set(&s->entry->frontend->removed) ||
	       (s->at != NULL && is_set(&s->at->server->drains));
}

void session_drain(struct session *s)
{
	check(s->state != SESSION_CLOSING);
	if (!is_wanted(s))
		return;
	s->drains = true;
	if (session_is_forwarding(s))
		session_rearm(s);
}

static int64_t idle_at(const struct session *s)
{
	return s->last_ns + (s->last_dir == FLOW_TO_CLIENT ? GRACE_NS : ANSWER_NS);
}

int64_t session_drain_look(const struct session *s)
{
	const int64_t now_ns = s->worker->loop.now_ns;
	const int64_t at_ns = idle_at(s);

	check(s->drains);
	if (!session_is_forwarding(s))
		return CLOCK_NEVER;
	/* While the client waits for an answer, that may come at any time. */
	return at_ns > now_ns && at_ns < now_ns + GRACE_NS ? at_ns : now_ns + GRACE_NS;
}

/* A side that has ended its own direction waits for the rest of the other's. */
static bool is_idle(const struct session *s)
{
	for (int i = 0; i < 2; i++) {
		if (s->flows[i].state != FLOW_OPEN || flow_held(&s->flows[i]) > 0 ||
		    io_unacked(&s->sides[i].sock) > 0 || io_unread(&s->sides[i].sock) > 0)
			return false;
	}
	return !s->failed;
}

bool session_drain_fired(struct session *s)
{
	check(s->drains);
	if (!session_is_forwarding(s))
		return false;
	s->drains = is_wanted(s);
	if (!s->drains || s->worker->loop.now_ns < idle_at(s) || !is_idle(s))
		return false;
	session_close(s, CLOSE_DRAINED);
	return true;
}

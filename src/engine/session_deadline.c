/* SPDX-License-Identifier: MIT
 *
 * session_deadline.c - how long a session may go on as it is.
 *
 * Owns the rules of the timeouts and sets the timer; session_timer.c decides what happens when it fires. A
 * worker's thread.
 */
#include "session_deadline.h"

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "session.h"
#include "session_drain.h"
#include "session_end.h"
#include "worker.h"

static const struct config_timeouts *client_timeouts(const struct session *s)
{
	return &s->entry->front->config->timeouts;
}

static const struct config_timeouts *server_timeouts(const struct session *s)
{
	return &s->back->config->timeouts;
}

static int64_t after(int64_t since_ns, int64_t timeout_ns)
{
	return timeout_ns > 0 ? since_ns + timeout_ns : CLOCK_NEVER;
}

static void sooner(int64_t *deadline_ns, enum close_reason *why, int64_t other_ns, enum close_reason reason)
{
	if (other_ns < *deadline_ns) {
		*deadline_ns = other_ns;
		*why = reason;
	}
}

/* The shorter of two limits counts. Until admission has chosen, the backend is not the session's own. */
static int64_t lifetime_end(const struct session *s)
{
	const int64_t front_ns = after(s->accepted_ns, client_timeouts(s)->max_lifetime_ns);
	const int64_t back_ns = s->backend_counted
					? after(s->accepted_ns, server_timeouts(s)->max_lifetime_ns)
					: CLOCK_NEVER;

	return front_ns < back_ns ? front_ns : back_ns;
}

/* One side was reset: how long what it sent is still delivered, if the other side takes it. */
static int64_t delivery_deadline(const struct session *s, enum close_reason *why)
{
	const enum side_name left = s->failed == 1 + SIDE_CLIENT ? SIDE_SERVER : SIDE_CLIENT;
	const int64_t idle_ns = left == SIDE_CLIENT ? client_timeouts(s)->client_ns
						    : server_timeouts(s)->server_ns;
	int64_t deadline_ns = s->fixed_ns;

	check(s->failed != 0);
	check(s->reason != CLOSE_NORMAL);
	*why = (enum close_reason)s->reason;
	sooner(&deadline_ns, why, after(s->last_ns, idle_ns), (enum close_reason)s->reason);
	sooner(&deadline_ns, why, lifetime_end(s), CLOSE_LIFETIME);
	return deadline_ns;
}

/* When a forwarding session ends because nothing happens, and why. A side that does not take what is held for
 * it is the late one. */
static int64_t forwarding_deadline(const struct session *s, enum close_reason *why)
{
	const struct flow *to_client = &s->flows[FLOW_TO_CLIENT];
	const struct flow *to_server = &s->flows[FLOW_TO_SERVER];
	/* With equal timeouts, the late side is the one that got the last bytes and does not answer. One
	 * nanosecond decides. */
	const int64_t is_server_late = s->last_dir == FLOW_TO_SERVER ? 1 : 0;
	int64_t deadline_ns = CLOCK_NEVER;

	*why = CLOSE_CLIENT_TIMEOUT;
	check(s->last_ns >= s->accepted_ns);
	if (s->failed)
		return delivery_deadline(s, why);
	if (!flow_is_blocked(to_server) || flow_is_blocked(to_client))
		sooner(&deadline_ns, why, after(s->last_ns, client_timeouts(s)->client_ns),
		       CLOSE_CLIENT_TIMEOUT);
	if (!flow_is_blocked(to_client) || flow_is_blocked(to_server))
		sooner(&deadline_ns, why, after(s->last_ns - is_server_late, server_timeouts(s)->server_ns),
		       CLOSE_SERVER_TIMEOUT);
	if (to_client->state == FLOW_DONE || to_server->state == FLOW_DONE)
		sooner(&deadline_ns, why,
		       after(s->last_ns, client_timeouts(s)->half_closed_ns), CLOSE_HALF_CLOSED_TIMEOUT);
	if (s->looked_at && deadline_ns < s->fixed_ns)
		deadline_ns = s->fixed_ns;
	sooner(&deadline_ns, why, lifetime_end(s), CLOSE_LIFETIME);
	return deadline_ns;
}

int64_t session_deadline(const struct session *s, enum close_reason *why)
{
	int64_t deadline_ns = s->fixed_ns;

	check(s->state != SESSION_FREE);
	*why = s->state == SESSION_QUEUED      ? CLOSE_QUEUE_TIMEOUT
	       : s->state == SESSION_RESOLVING ? CLOSE_EGRESS_RESOLVER
					       : CLOSE_CONNECT_TIMEOUT;
	if (s->state == SESSION_FORWARDING)
		return forwarding_deadline(s, why);
	if (s->state == SESSION_CLOSING)
		return delivery_deadline(s, why);
	sooner(&deadline_ns, why, lifetime_end(s), CLOSE_LIFETIME);
	return deadline_ns;
}

int64_t session_half_closed_end(const struct session *s)
{
	return after(s->worker->loop.now_ns, client_timeouts(s)->half_closed_ns);
}

void session_rearm(struct session *s)
{
	struct timer_heap *timers = &s->worker->loop.timers;
	enum close_reason why;
	int64_t deadline_ns = session_deadline(s, &why);

	check(s->state > SESSION_ACCEPTED);
	if (unlikely(s->drains))
		sooner(&deadline_ns, &why, session_drain_look(s), CLOSE_DRAINED);
	if (deadline_ns == CLOCK_NEVER) {
		timer_cancel(timers, &s->timer);
		return;
	}
	/* A later deadline needs no work now: the timer fires early and finds it. */
	if (timer_is_set(&s->timer) && timer_deadline(timers, &s->timer) <= deadline_ns)
		return;
	if (timer_set(timers, &s->timer, deadline_ns) && s->state != SESSION_CLOSING)
		session_close(s, CLOSE_NO_RESOURCE);
}

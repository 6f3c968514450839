/* SPDX-License-Identifier: MIT
 *
 * server_updates.c - the only way to change a running server: health, address, administrator.
 *
 * Holds backends (backend.h) until the end of the turn. Every change of a server goes through here, so that
 * each gets batching, slow start, retry and observers. server_change.c computes the result of a change.
 * Control thread.
 */
#include "weir/balance/server_updates.h"

#include <errno.h>

#include "weir/balance/server_set.h"
#include "weir/balance/sticky.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "live_parts.h"
#include "server_change.h"

#define LINES_PER_SECOND 1
#define RETRY_NS	 NS_PER_SEC

/* ---- rosters ---- */

/* Call before a change that may be one of many: it needs no roster until the end of the turn. */
void updates_hold(struct server_updates *u, struct backend *b)
{
	backend_hold(b);
	u->loop.at_end(u->loop.arg);
}

void updates_wake_at(struct server_updates *u, int64_t at_ns)
{
	if (at_ns >= u->wake_ns)
		return;
	u->wake_ns = at_ns;
	u->loop.at(u->loop.arg, at_ns);
}

/* False when out of memory: the backend stays held, and is tried again. */
static bool publish_roster(struct server_updates *u, struct backend *b)
{
	const int64_t now_ns = clock_mono_ns();

	if (backend_release(b) == 0)
		return true;
	if (log_limit_ok(&u->limit, LOG_CAUSE_CHOICE, 0, now_ns, LINES_PER_SECOND))
		log_line(LOG_LEVEL_ERROR,
			 "backend %s: no memory to apply changes to its servers; will retry in 1 s",
			 b->config->name);
	updates_wake_at(u, now_ns + RETRY_NS);
	return false;
}

static void tell_in_force(struct server_updates *u)
{
	struct list *node, *next;

	list_foreach_safe(&u->observers, node, next) {
		struct server_observer *o = list_entry(node, struct server_observer, link);

		if (o->in_force != NULL)
			o->in_force(o->arg);
	}
}

bool updates_publish(struct server_updates *u)
{
	bool all = true;

	server_updates_foreach(u, b)
		if (b->held && !publish_roster(u, b))
			all = false;
	if (all)
		tell_in_force(u);
	return all;
}

void server_updates_publish(struct server_updates *u)
{
	(void)updates_publish(u); /* what is not in force is tried again */
}

/* ---- slow starts ---- */

void updates_wake_for_slowstart(struct server_updates *u, struct server *s)
{
	if (s->slow_since_ns != 0)
		updates_wake_at(u, server_slowstart_step(s, clock_mono_ns()));
}

/* All servers take their step together, so that the backend needs only one roster. */
static void step_backend(struct server_updates *u, struct backend *b, int64_t now_ns)
{
	for (size_t i = 0; i < b->server_count; i++) {
		struct server *s = b->servers[i];

		if (s->slow_since_ns == 0)
			continue;
		updates_hold(u, b);
		updates_wake_at(u, server_slowstart_step(s, now_ns));
	}
}

/* At once again, but other work of control comes between. */
static void step_sticky(struct server_updates *u, struct backend *b, int64_t now_ns)
{
	if (!backend_sticky_moves(b))
		return;
	if (backend_sticky_step(b)) {
		updates_wake_at(u, now_ns);
	} else {
		updates_hold(u, b);
		b->stale = true;
	}
}

void server_updates_wake(struct server_updates *u, int64_t now_ns)
{
	u->wake_ns = CLOCK_NEVER;
	server_updates_foreach(u, b) {
		step_backend(u, b, now_ns);
		server_sets_step(u, b, now_ns);
		step_sticky(u, b, now_ns);
		if (b->held)
			u->loop.at_end(u->loop.arg); /* including rosters that found no memory */
	}
}

/* ---- changes ---- */

void server_updates_set_health(struct server_updates *u, struct server *s, bool healthy, const char *cause)
{
	int err;

	updates_hold(u, s->owner);
	err = server_set_health(s, healthy, cause, clock_mono_ns());
	check(err == 0); /* memory is needed only at the end of the turn */
	mark_clear(&s->marks[SERVER_MARK_HEALTH]); /* what was set does not hold any more */
	updates_wake_for_slowstart(u, s);
}

void server_updates_set_stopping(struct server_updates *u, struct server *s, const char *cause)
{
	int err;

	updates_hold(u, s->owner);
	err = server_set_stopping(s, cause, clock_mono_ns());
	check(err == 0); /* as above */
	mark_clear(&s->marks[SERVER_MARK_HEALTH]);
	updates_wake_for_slowstart(u, s);
}

void server_updates_set_agent(struct server_updates *u, struct server *s, const struct server_agent *agent,
			      const char *cause)
{
	const enum server_admin before = server_admin_now(s);
	const bool goes_down = agent->down && !s->agent.down;
	int err;

	updates_hold(u, s->owner);
	err = server_set_agent(s, agent, cause, clock_mono_ns());
	check(err == 0); /* as above */
	if (goes_down)
		TELL(u, agent_down, s);
	if (server_admin_now(s) != before)
		TELL(u, admin_set, s);
	updates_wake_for_slowstart(u, s);
}

int server_updates_set_addr(struct server_updates *u, struct server *s, const struct addr *a)
{
	if (s->moved != NULL) {
		if (a != NULL)
			s->moved->found = *a;
		s->moved->has_found = a != NULL;
		return 0;
	}
	updates_hold(u, s->owner);
	return server_set_addr(s, a);
}

/* Call before a change by the administrator: one of several needs no roster of its own. */
static void begin_change(struct server_updates *u, struct server *s)
{
	if (u->together)
		updates_hold(u, s->owner);
}

/* `err` is the result of that change. Its roster is published at once, even if other changes of this turn are
 * batched. */
static int put_in_force(struct server_updates *u, struct server *s, int err)
{
	if (err)
		return err;
	u->loop.at_end(u->loop.arg); /* observers are told */
	return u->together || publish_roster(u, s->owner) ? 0 : -EAGAIN;
}

/* Takes memory for the roster first: workers use an address as soon as it is published, so that it cannot be
 * taken back for want of a roster. */
int updates_move(struct server_updates *u, struct server *s, const struct addr *a, const char *cause)
{
	struct backend *b = s->owner;
	const bool was_held = b->held;
	int err = backend_reserve(b, b->config, 0, 0);

	if (err)
		return err;
	backend_hold(b);
	err = server_move_to(s, a, cause);
	backend_unreserve(b);
	if (err && !was_held)
		(void)backend_release(b); /* nothing is pending */
	return put_in_force(u, s, err);
}

int server_updates_set_admin(struct server_updates *u, struct server *s, enum server_admin admin,
			     const char *cause)
{
	int err;

	begin_change(u, s);
	err = put_in_force(u, s, server_set_admin(s, admin, cause, clock_mono_ns()));
	if (err && err != -EAGAIN)
		return err;
	TELL(u, admin_set, s);
	updates_wake_for_slowstart(u, s);
	return err;
}

int server_updates_force_health(struct server_updates *u, struct server *s, enum server_health health,
				const char *cause)
{
	const int64_t now_ns = clock_mono_ns();
	const bool was_down = s->agent.down;
	int err;

	if (server_admin_now(s) == SERVER_ADMIN_MAINT)
		return 0;
	begin_change(u, s);
	if (health != SERVER_HEALTH_DOWN)
		s->agent.down = false; /* as in HAProxy, until the agent says it once more */
	if (health == SERVER_HEALTH_STOPPING)
		err = server_set_stopping(s, cause, now_ns);
	else
		err = server_set_health(s, health == SERVER_HEALTH_UP, cause, now_ns);
	err = put_in_force(u, s, err);
	if (err && err != -EAGAIN) {
		s->agent.down = was_down;
		return err;
	}
	TELL(u, health_set, s);
	updates_wake_for_slowstart(u, s);
	return err;
}

int server_updates_set_weight(struct server_updates *u, struct server *s, unsigned weight, const char *cause)
{
	begin_change(u, s);
	return put_in_force(u, s, server_set_weight(s, weight, cause, clock_mono_ns()));
}

int server_updates_set_maxconn(struct server_updates *u, struct server *s, unsigned maxconn,
			       const char *cause)
{
	begin_change(u, s);
	return put_in_force(u, s, server_set_maxconn(s, maxconn, cause, clock_mono_ns()));
}

/* ---- registration ---- */

void server_updates_observe(struct server_updates *u, struct server_observer *o)
{
	list_push_back(&u->observers, &o->link);
}

void server_updates_unobserve(struct server_observer *o)
{
	list_remove(&o->link);
}

void server_updates_init(struct server_updates *u, struct backend **backends, size_t count,
			 const struct server_updates_loop *loop)
{
	*u = (struct server_updates){
		.loop = *loop,
		.wake_ns = CLOCK_NEVER,
	};
	list_init(&u->observers);
	list_init(&u->backends);
	for (size_t i = 0; i < count; i++)
		list_push_back(&u->backends, &backends[i]->link);
}

void server_updates_free(struct server_updates *u)
{
	check(list_empty(&u->observers));
	server_updates_publish(u);
	while (!list_empty(&u->backends))
		list_remove(u->backends.next);
}

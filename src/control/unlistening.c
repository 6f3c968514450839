/* SPDX-License-Identifier: MIT
 *
 * unlistening.c - frontends listen or not, as their servers are (entry/unlisten.h), on control's loop.
 *
 * Owns a timer and decides nothing. Main thread.
 */
#include "unlistening.h"

#include "weir/base/clock.h"

#define BEGIN_S 1.

static int raise_right(void *arg)
{
	return privileges_raise_bind(((struct unlistening *)arg)->privileges);
}

static void lower_right(void *arg)
{
	privileges_lower_bind(((struct unlistening *)arg)->privileges);
}

void unlistening_settle(struct unlistening *u)
{
	int64_t now_ns, at_ns;

	if (u->loop == NULL)
		return;
	now_ns = clock_mono_ns();
	at_ns = entries_unlisten(u->entries, &u->rights, now_ns);
	ev_timer_stop(u->loop, &u->timer);
	if (at_ns == CLOCK_NEVER)
		return;
	ev_timer_set(&u->timer, at_ns > now_ns ? (double)(at_ns - now_ns) / (double)NS_PER_SEC : 0., 0.);
	ev_timer_start(u->loop, &u->timer);
}

static void on_timer(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	(void)loop;
	(void)revents;
	unlistening_settle(timer->data);
}

/* All changes of this turn are in force. */
static void on_change(void *arg)
{
	unlistening_settle(arg);
}

void unlistening_init(struct unlistening *u, struct ev_loop *loop, struct entries *e,
		      struct server_updates *updates, struct privileges *privileges)
{
	*u = (struct unlistening){
		.loop = loop,
		.entries = e,
		.privileges = privileges,
		.rights = {.raise = raise_right, .lower = lower_right, .arg = u},
		.observer = {.in_force = on_change, .arg = u},
	};
	server_updates_observe(updates, &u->observer);
	ev_timer_init(&u->timer, on_timer, BEGIN_S, 0.);
	u->timer.data = u;
	entries_foreach_frontend(e, fe) {
		if (fe->config->unlisten == CONFIG_UNLISTEN_NO_SERVER)
			ev_timer_start(loop, &u->timer); /* harmless the second time */
	}
}

void unlistening_stop(struct unlistening *u)
{
	if (u->loop == NULL)
		return;
	server_updates_unobserve(&u->observer);
	ev_timer_stop(u->loop, &u->timer);
	u->loop = NULL;
}

/* SPDX-License-Identifier: MIT
 *
 * observing.c - servers without a health check, on the loop.
 *
 * Main thread.
 */
#include "weir/health/observing.h"

#include "weir/base/clock.h"

static void settle(struct observing *o)
{
	const int64_t now_ns = clock_mono_ns();
	const int64_t at_ns = outages_settle(&o->outages, now_ns);

	ev_timer_stop(o->loop, &o->timer);
	if (at_ns == CLOCK_NEVER)
		return;
	ev_timer_set(&o->timer, at_ns > now_ns ? (double)(at_ns - now_ns) / (double)NS_PER_SEC : 0., 0.);
	ev_timer_start(o->loop, &o->timer);
}

static void on_due(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	(void)loop;
	(void)revents;
	settle(timer->data);
}

static void on_went_down(void *arg, struct server *s)
{
	if (s->backend->on_marked_down == CONFIG_MARKED_DOWN_CLOSE)
		((struct observing *)arg)->close = true;
}

/* Nobody chooses a server that has left any more. */
static void on_in_force(void *arg)
{
	struct observing *o = arg;
	const struct list *out = &o->outages.out;

	for (const struct list *l = out->next; o->close && l != out; l = l->next) {
		struct server *s = list_entry(l, struct server, outage);

		if (s->backend->on_marked_down == CONFIG_MARKED_DOWN_CLOSE)
			engine_close_sessions(o->engine, s);
	}
	o->close = false;
	settle(o);
}

void observing_init(struct observing *o, struct ev_loop *loop, struct engine *e, struct server_updates *u)
{
	*o = (struct observing){.loop = loop, .engine = e};
	outages_init(&o->outages, u);
	o->outages.went_down = on_went_down;
	o->outages.in_force = on_in_force;
	o->outages.arg = o;
	ev_init(&o->timer, on_due);
	o->timer.data = o;
}

void observing_take_news(struct observing *o)
{
	if (o->loop != NULL)
		settle(o);
}

void observing_stop(struct observing *o)
{
	if (o->loop == NULL)
		return;
	ev_timer_stop(o->loop, &o->timer);
	outages_free(&o->outages);
	o->loop = NULL;
}

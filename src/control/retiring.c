/* SPDX-License-Identifier: MIT
 *
 * retiring.c - what has left is freed, and endpoints that leave go on in time, on control's loop.
 *
 * Knows all who read records of what has ended: the log's rings, and a walk that adds up. Owns a timer. Main
 * thread.
 */
#include "retiring.h"

#include <stdbool.h>

#include "weir/base/clock.h"

static void mark(void *arg)
{
	struct retiring *r = arg;

	logwriter_mark(r->log, &r->mark);
	r->stats_mark = r->stats != NULL ? stats_mark(r->stats) : 0;
}

static bool is_read(void *arg)
{
	const struct retiring *r = arg;

	return logwriter_has_read(r->log, &r->mark) &&
	       (r->stats == NULL || stats_has_passed(r->stats, r->stats_mark));
}

static void on_read(void *arg)
{
	retiring_wake(arg);
}

static void on_timer(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	(void)loop;
	(void)revents;
	retiring_wake(timer->data);
}

void retiring_init(struct retiring *r, struct ev_loop *loop, struct engine *e, struct logwriter *log)
{
	r->loop = loop;
	r->engine = e;
	r->log = log;
	r->stats = NULL;
	ev_init(&r->timer, on_timer);
	r->timer.data = r;
	e->records = (struct engine_records){.mark = mark, .is_read = is_read, .arg = r};
	logwriter_on_read(log, on_read, r);
}

void retiring_wake(struct retiring *r)
{
	const int64_t now_ns = clock_mono_ns();
	const int64_t at_ns = engine_wake(r->engine, now_ns);

	ev_timer_stop(r->loop, &r->timer);
	if (at_ns == CLOCK_NEVER)
		return;
	ev_timer_set(&r->timer, at_ns > now_ns ? (double)(at_ns - now_ns) / (double)NS_PER_SEC : 0., 0.);
	ev_timer_start(r->loop, &r->timer);
}

void retiring_stop(struct retiring *r)
{
	if (r->loop == NULL)
		return;
	logwriter_on_read(r->log, NULL, NULL);
	ev_timer_stop(r->loop, &r->timer);
	r->engine->records = (struct engine_records){0};
	r->loop = NULL;
}

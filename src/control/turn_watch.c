/* SPDX-License-Identifier: MIT
 *
 * turn_watch.c - the longest turn of a worker's loop while a reload takes effect.
 *
 * Owns a timer. The workers measure; turns.c of the engine adds up. Main thread.
 */
#include "turn_watch.h"

/* By then most of what left has been freed. */
#define AFTER_S 3.

static void on_timer(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct turn_watch *tw = timer->data;

	(void)loop;
	(void)revents;
	engine_watch_turns(tw->engine, false);
}

void turn_watch_init(struct turn_watch *tw, struct ev_loop *loop, struct engine *e)
{
	tw->loop = loop;
	tw->engine = e;
	ev_timer_init(&tw->timer, on_timer, AFTER_S, 0.);
	tw->timer.data = tw;
}

void turn_watch_begin(struct turn_watch *tw)
{
	ev_timer_stop(tw->loop, &tw->timer);
	engine_watch_turns(tw->engine, true);
}

void turn_watch_end(struct turn_watch *tw)
{
	ev_timer_stop(tw->loop, &tw->timer);
	ev_timer_set(&tw->timer, AFTER_S, 0.);
	ev_timer_start(tw->loop, &tw->timer);
}

void turn_watch_stop(struct turn_watch *tw)
{
	if (tw->loop == NULL)
		return;
	ev_timer_stop(tw->loop, &tw->timer);
	engine_watch_turns(tw->engine, false);
	tw->loop = NULL;
}

void turn_watch_publish(void *turn_watch, figure_report *report, void *to)
{
	static const struct figure row = {"longest_turn_us", FIGURE_GAUGE,
					  "longest turn of a worker's loop during the last reload and 3 s "
					  "after it, in microseconds of CPU time; 0 = no reload"};
	const struct turn_watch *tw = turn_watch;

	report(to, &row, tw->loop != NULL ? (engine_longest_turn_ns(tw->engine) + 999) / 1000 : 0);
}

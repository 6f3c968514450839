/* SPDX-License-Identifier: MIT
 *
 * gather.c - what changes of servers within one turn of the loop becomes one roster; and slow starts.
 *
 * Holds backends (balance/backend.h) until the loop is about to wait. What finds no memory stays held, and is
 * tried again a second later. Main thread.
 */
#include "gather.h"

#include <errno.h>
#include <stdlib.h>

#include "weir/balance/backend.h"
#include "weir/base/clock.h"

#define LINES_PER_SECOND 1

static void on_end(struct ev_loop *loop, struct ev_prepare *prepare, int revents);
static void on_slow(struct ev_loop *loop, struct ev_timer *timer, int revents);

/* ---- rosters ---- */

void gather_begin(struct gather *g, struct backend *b)
{
	bool *held = &g->held[b - g->engine->backends];

	if (!*held)
		backend_hold(b);
	*held = true;
	ev_prepare_start(g->loop, &g->end);
}

/* The timer ends at `at_ns`, if it does not end before. */
static void wake_at(struct gather *g, int64_t at_ns)
{
	const int64_t now_ns = clock_mono_ns();
	const double wait_s = at_ns > now_ns ? (double)(at_ns - now_ns) / (double)NS_PER_SEC : 0.;

	if (at_ns == CLOCK_NEVER)
		return;
	if (ev_is_active(&g->slow) && ev_timer_remaining(g->loop, &g->slow) <= wait_s)
		return;
	ev_timer_stop(g->loop, &g->slow);
	ev_timer_set(&g->slow, wait_s, 0.);
	ev_timer_start(g->loop, &g->slow);
}

static bool publish(struct gather *g, struct backend *b)
{
	if (backend_flush(b) == 0)
		return true;
	if (log_limit_ok(&g->limit, LOG_CAUSE_CHOICE, 0, clock_mono_ns(), LINES_PER_SECOND))
		log_line(LOG_LEVEL_ERROR,
			 "backend %s: no memory to change who is chosen; tried again in 1 s",
			 b->config->name);
	wake_at(g, clock_mono_ns() + NS_PER_SEC);
	return false;
}

static void publish_all(struct gather *g)
{
	bool all = true;

	for (size_t i = 0; i < g->engine->config->backend_count; i++) {
		struct backend *b = &g->engine->backends[i];

		if (!g->held[i])
			continue;
		if (!publish(g, b)) {
			all = false;
			continue;
		}
		(void)backend_release(b); /* nothing is owed any more */
		g->held[i] = false;
	}
	if (all && g->published != NULL)
		g->published(g->arg);
}

static void on_end(struct ev_loop *loop, struct ev_prepare *prepare, int revents)
{
	(void)revents;
	ev_prepare_stop(loop, prepare);
	publish_all(prepare->data);
}

/* ---- slow starts ---- */

void gather_look_at(struct gather *g, struct server *s)
{
	if (s->slow_since_ns != 0)
		wake_at(g, server_slowstart_step(s, clock_mono_ns()));
}

/* All of them take their step together, so that they cost one roster. */
static int64_t step_backend(struct gather *g, struct backend *b, int64_t now_ns)
{
	int64_t next_ns = CLOCK_NEVER;

	for (size_t i = 0; i < b->server_count; i++) {
		struct server *s = &b->servers[i];
		int64_t at_ns;

		if (s->slow_since_ns == 0)
			continue;
		gather_begin(g, b);
		at_ns = server_slowstart_step(s, now_ns);
		if (at_ns < next_ns)
			next_ns = at_ns;
	}
	return next_ns;
}

static void on_slow(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct gather *g = timer->data;
	const int64_t now_ns = clock_mono_ns();

	(void)revents;
	for (size_t i = 0; i < g->engine->config->backend_count; i++) {
		wake_at(g, step_backend(g, &g->engine->backends[i], now_ns));
		if (g->held[i])
			ev_prepare_start(loop, &g->end); /* also what has found no memory */
	}
}

/* ---- life ---- */

int gather_init(struct gather *g, struct ev_loop *loop, struct engine *e)
{
	g->loop = loop;
	g->engine = e;
	ev_prepare_init(&g->end, on_end);
	g->end.data = g;
	ev_init(&g->slow, on_slow);
	g->slow.data = g;
	/* One more, as no array is empty. */
	g->held = calloc(e->config->backend_count + 1, sizeof(*g->held));
	return g->held != NULL ? 0 : -ENOMEM;
}

void gather_free(struct gather *g)
{
	if (g->held == NULL)
		return;
	g->published = NULL;
	ev_prepare_stop(g->loop, &g->end);
	publish_all(g);
	ev_timer_stop(g->loop, &g->slow);
	free(g->held);
	g->held = NULL;
}

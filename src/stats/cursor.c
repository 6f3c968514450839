/* SPDX-License-Identifier: MIT
 *
 * cursor.c - a walk through the sessions of all workers, one slice at a time, one worker after another.
 *
 * Owns its position among the workers. After an abandoned walk its inquiry may come back much later; until
 * then it is neither touched nor asked again. Control thread.
 */
#include "weir/stats/cursor.h"

#include "weir/base/check.h"
#include "weir/engine/engine.h"

void cursor_init(struct cursor *c, struct engine *e, bool sums)
{
	c->engine = e;
	inquiry_init(&c->inquiry, sums);
	cursor_begin(c);
}

void cursor_begin(struct cursor *c)
{
	c->filter = (struct inquiry_filter){0};
	c->asked = false;
	c->first = true;
	c->worker = 0;
	c->silent = 0;
}

void cursor_begin_some(struct cursor *c, const struct inquiry_filter *f)
{
	check(!c->inquiry.sums);
	cursor_begin(c);
	c->filter = *f;
	if (f->session != 0)
		c->worker = session_worker(f->session);
}

/* The number of the worker after the last one to ask. */
static unsigned end_of(const struct cursor *c)
{
	const unsigned count = c->engine->worker_count;
	const unsigned after = c->filter.session != 0 ? session_worker(c->filter.session) + 1 : count;

	return after < count ? after : count;
}

static void next_worker(struct cursor *c)
{
	c->worker++;
	c->first = true;
}

enum cursor_step cursor_step(struct cursor *c)
{
	struct inquiry *q = &c->inquiry;

	if (c->worker >= end_of(c))
		return CURSOR_OVER;
	if (inquiry_is_lent(q))
		return CURSOR_WAITS;
	if (c->asked)
		return CURSOR_SLICE;
	if (c->first)
		q->place = 0;
	q->filter = c->filter;
	c->first = false;
	c->asked = true;
	inquiry_ask(c->engine, c->worker, q);
	return inquiry_is_lent(q) ? CURSOR_WAITS : CURSOR_SLICE;
}

void cursor_go_on(struct cursor *c)
{
	check(c->asked);
	check(!inquiry_is_lent(&c->inquiry));
	c->asked = false;
	if (c->inquiry.over)
		next_worker(c);
}

bool cursor_is_last(const struct cursor *c)
{
	return c->inquiry.over && c->worker + 1 >= end_of(c);
}

bool cursor_is_answered(const struct cursor *c)
{
	return !inquiry_is_lent(&c->inquiry);
}

void cursor_skip(struct cursor *c)
{
	check(c->worker < c->engine->worker_count);
	cursor_leave(c);
	c->silent++;
	next_worker(c);
}

void cursor_leave(struct cursor *c)
{
	check(!c->inquiry.sums);
	(void)inquiry_withdraw(c->engine, &c->inquiry); /* if lent, it returns by itself */
	c->asked = false;
}

/* SPDX-License-Identifier: MIT
 *
 * ageing.c - periodic ageing of the pools' global lists: closes what stays unused for two cycles.
 *
 * Owns a timer and no pool. Main thread.
 */
#include "ageing.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"

static void arm(struct ageing *a)
{
	if (a->timer.repeat > 0 && !ev_is_active(&a->timer))
		ev_timer_again(a->loop, &a->timer);
}

static void on_cycle(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct ageing *a = timer->data;
	bool pipes_idle = pipe_pool_age(a->pipes);
	bool bufs_idle = buf_pool_age(a->bufs);

	(void)revents;
	if (!pipes_idle && !bufs_idle)
		ev_timer_stop(loop, timer);
}

void ageing_init(struct ageing *a, struct ev_loop *loop, struct pipe_pool *pipes, struct buf_pool *bufs,
		 int64_t cycle_ns)
{
	check(cycle_ns >= 0);
	memset(a, 0, sizeof(*a));
	a->loop = loop;
	a->pipes = pipes;
	a->bufs = bufs;
	ev_timer_init(&a->timer, on_cycle, 0., (double)cycle_ns / (double)NS_PER_SEC);
	a->timer.data = a;
}

void ageing_wake(struct ageing *a)
{
	if (ev_is_active(&a->timer))
		return;
	if (pipe_pool_idle(a->pipes) > 0 || buf_pool_idle(a->bufs) > 0)
		arm(a);
}

void ageing_set_cycle(struct ageing *a, int64_t cycle_ns)
{
	check(cycle_ns >= 0);
	ev_timer_stop(a->loop, &a->timer);
	a->timer.repeat = (double)cycle_ns / (double)NS_PER_SEC;
	ageing_wake(a);
}

void ageing_stop(struct ageing *a)
{
	ev_timer_stop(a->loop, &a->timer);
}

/* SPDX-License-Identifier: MIT
 *
 * updates_loop.c - runs server changes (balance/server_updates.h) on control's loop.
 *
 * Owns two watchers and decides nothing. Main thread.
 */
#include "updates_loop.h"

#include "weir/base/clock.h"

static void on_end(struct ev_loop *loop, struct ev_prepare *prepare, int revents)
{
	struct updates_loop *ul = prepare->data;

	(void)revents;
	ev_prepare_stop(loop, prepare); /* first, because a notified observer may change more */
	server_updates_publish(&ul->updates);
}

static void on_wake(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct updates_loop *ul = timer->data;

	(void)loop;
	(void)revents;
	server_updates_wake(&ul->updates, clock_mono_ns());
}

static void call_at_end(void *arg)
{
	struct updates_loop *ul = arg;

	ev_prepare_start(ul->loop, &ul->end);
}

static void call_at(void *arg, int64_t at_ns)
{
	struct updates_loop *ul = arg;
	const int64_t now_ns = clock_mono_ns();
	const double wait_s = at_ns > now_ns ? (double)(at_ns - now_ns) / (double)NS_PER_SEC : 0.;

	ev_timer_stop(ul->loop, &ul->wake);
	ev_timer_set(&ul->wake, wait_s, 0.);
	ev_timer_start(ul->loop, &ul->wake);
}

void updates_loop_init(struct updates_loop *ul, struct ev_loop *loop, struct engine *e)
{
	const struct server_updates_loop calls = {.at_end = call_at_end, .at = call_at, .arg = ul};

	ul->loop = loop;
	ev_prepare_init(&ul->end, on_end);
	ul->end.data = ul;
	ev_init(&ul->wake, on_wake);
	ul->wake.data = ul;
	server_updates_init(&ul->updates, e->backends, e->backend_count, &calls);
}

void updates_loop_free(struct updates_loop *ul)
{
	if (ul->loop == NULL)
		return;
	server_updates_free(&ul->updates);
	ev_prepare_stop(ul->loop, &ul->end);
	ev_timer_stop(ul->loop, &ul->wake);
	ul->loop = NULL;
}

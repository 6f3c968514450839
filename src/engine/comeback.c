/* SPDX-License-Identifier: MIT
 *
 * comeback.c - the one connection by which a server without a health check is tried again.
 *
 * It is not a place that others wait for, so a client that takes it passes nobody in a queue. A worker's
 * thread.
 */
#include "comeback.h"

#include "weir/base/check.h"
#include "stuck.h"
#include "worker.h"

static void tell_control(const struct session *s)
{
	const struct engine *e = s->worker->engine;

	e->notify(e->notify_arg);
}

struct server *comeback_take(struct session *s, const struct server *avoid)
{
	struct server *server;

	if (likely(!outage_has_trial(s->back->backend)))
		return NULL;
	check(!s->server_counted);
	check(!s->trial);
	server = outage_take_trial(s->back->backend);
	if (server == NULL)
		return NULL;
	s->trial = server != avoid && server_enter(server);
	if (!s->trial)
		outage_end_trial(server, SERVER_TRIAL_GIVEN_UP);
	tell_control(s); /* now that it is taken, another server may be offered */
	if (!s->trial)
		return NULL;
	atomic_fetch_add_explicit(&server->chosen_total, 1, memory_order_relaxed);
	return server;
}

void comeback_end(struct session *s, enum server_trial how)
{
	if (likely(!s->trial))
		return;
	check(s->server_counted);
	s->trial = false;
	if (how == SERVER_TRIAL_PASSED)
		stuck_stay(s);
	outage_end_trial(s->at->server, how);
	tell_control(s);
}

/* SPDX-License-Identifier: MIT
 *
 * engine_limits.c - how many clients there may be, and how many per second: what control changes while
 * workers run.
 *
 * Owns what holds of that in the file and that which an administrator has set. Control thread.
 */
#include <errno.h>
#include <limits.h>

#include "weir/base/check.h"
#include "weir/engine/engine.h"
#include "weir/engine/engine_settings.h"
#include "weir/sys/sys.h"
#include "worker.h"

/* Pipes that a worker keeps for itself before it spills to the shared pool. */
#define WORKER_PIPES_MAX 256u

/* Not one worker as slots_release() does: there may be room for many clients. */
void worker_resume_all(struct engine *e)
{
	for (unsigned i = 0; i < e->worker_count; i++)
		if (e->workers[i] != NULL)
			mailbox_signal(&e->workers[i]->mailbox, MAIL_RESUME);
}

static void use_maxconn(struct engine *e)
{
	const unsigned most = e->limits.maxconn;
	const unsigned maxconn = e->maxconn_set > 0 && e->maxconn_set < most ? e->maxconn_set : most;

	entries_set_maxconn(&e->entries, maxconn);
	if (atomic_exchange(&e->settings.maxconn, maxconn) < maxconn)
		paused_wake_all(&e->paused);
}

void engine_set_maxconn(struct engine *e, unsigned maxconn)
{
	check(maxconn <= INT_MAX);
	e->limits.maxconn = maxconn;
	use_maxconn(e);
}

void engine_forget_override(struct engine *e)
{
	e->maxconn_set = 0;
	mark_clear(&e->marks[ENGINE_MARK_MAXCONN]);
	use_maxconn(e);
}

bool engine_maxconn_stays(const struct engine *e, const struct config_global *next)
{
	return next->maxconn == e->config->global.maxconn;
}

int engine_override_maxconn(struct engine *e, unsigned maxconn, const struct mark *by)
{
	if (maxconn > e->limits.maxconn)
		return -ERANGE;
	if (maxconn == 0 || maxconn == e->limits.maxconn) {
		engine_forget_override(e);
		return 0;
	}
	e->maxconn_set = maxconn;
	e->marks[ENGINE_MARK_MAXCONN] = *by;
	use_maxconn(e);
	return 0;
}

void engine_set_frontend_maxconn(struct frontend *fe, unsigned maxconn)
{
	check(maxconn <= INT_MAX);
	frontend_set_limit(fe, maxconn);
}

void engine_set_rate_limit(struct engine *e, struct frontend *fe, uint32_t limit)
{
	rate_set_limit(&fe->rate, limit, sys_now_ns());
	worker_resume_all(e);
}

/* First the limit itself: a listener that finds it in the settings finds it there. */
void engine_set_process_rate(struct engine *e, uint32_t limit)
{
	rate_set_limit(&e->rate, limit, sys_now_ns());
	atomic_store_explicit(&e->settings.rate_limit, limit, memory_order_release);
	worker_resume_all(e);
}

void engine_override_rate(struct engine *e, uint32_t limit, const struct mark *by)
{
	engine_set_process_rate(e, limit);
	if (limit > 0)
		e->marks[ENGINE_MARK_RATE_LIMIT] = *by;
	else
		mark_clear(&e->marks[ENGINE_MARK_RATE_LIMIT]);
}

/* At most half of all pipes may stay in caches, where only one worker can get them. */
uint32_t worker_own_pipes(const struct engine *e)
{
	const uint32_t share = e->limits.maxpipes / (2 * (e->worker_count > 0 ? e->worker_count : 1));

	return share < WORKER_PIPES_MAX ? share : WORKER_PIPES_MAX;
}

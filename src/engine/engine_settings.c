/* SPDX-License-Identifier: MIT
 *
 * engine_settings.c - global settings that workers read, and what control changes while they run.
 *
 * Owns the order of a change: first the value, then the mail that makes workers look at it. So a listener
 * that has read the old value is paused before its worker takes the mail, and resumes; any other reads the
 * new one. Control thread.
 */
#include "weir/engine/engine_settings.h"

#include <limits.h>

#include "weir/base/check.h"
#include "weir/engine/engine.h"
#include "weir/sys/sys.h"
#include "worker.h"

/* Not one worker as slots_release() does: there may be room for many clients. */
static void wake_workers(struct engine *e)
{
	for (unsigned i = 0; i < e->worker_count; i++)
		if (e->workers[i] != NULL)
			mailbox_signal(&e->workers[i]->mailbox, MAIL_RESUME);
}

void engine_set_maxconn(struct engine *e, unsigned maxconn)
{
	check(maxconn <= INT_MAX);
	e->limits.maxconn = maxconn;
	entries_set_maxconn(&e->entries, maxconn);
	if (atomic_exchange(&e->settings.maxconn, maxconn) < maxconn)
		paused_wake_all(&e->paused);
}

void engine_set_frontend_maxconn(struct frontend *fe, unsigned maxconn)
{
	check(maxconn <= INT_MAX);
	frontend_set_limit(fe, maxconn);
}

void engine_set_rate_limit(struct engine *e, struct frontend *fe, uint32_t limit)
{
	rate_set_limit(&fe->rate, limit, sys_now_ns());
	wake_workers(e);
}

void engine_set_limits(struct engine *e, const struct engine_limits *limits)
{
	e->limits = *limits;
	pipe_pool_set_limits(&e->pipes, limits->maxpipes, limits->pipe_bytes, limits->pipe_budget_bytes);
	buf_pool_set_budget(&e->bufs, limits->buf_budget_bytes + e->borrowed_bytes);
	for (unsigned i = 0; i < e->worker_count; i++)
		if (e->workers[i] != NULL)
			pipe_cache_set_max(&e->workers[i]->loop.pipes, worker_own_pipes(e));
	engine_set_maxconn(e, limits->maxconn);
}

void engine_set_splice(struct engine *e, enum config_splice splice)
{
	atomic_store_explicit(&e->settings.splice, (int)splice, memory_order_relaxed);
}

void engine_set_pipe_cycle(struct engine *e, int64_t cycle_ns)
{
	check(cycle_ns >= 0);
	atomic_store_explicit(&e->settings.pipe_cycle_ns, cycle_ns, memory_order_relaxed);
	wake_workers(e); /* a turn that ends begins a cycle */
}

void engine_set_sessions_many(struct engine *e, uint32_t sessions)
{
	atomic_store_explicit(&e->settings.sessions_many, sessions, memory_order_relaxed);
}

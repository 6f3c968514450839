/* SPDX-License-Identifier: MIT
 *
 * engine_settings.c - global settings that workers read, and what control changes while they run.
 *
 * Owns the order of a change: first the value, then the mail that makes workers look at it. So a listener
 * that has read the old value is paused before its worker takes the mail, and resumes; any other reads the
 * new one. Control thread.
 */
#include "weir/engine/engine_settings.h"

#include "weir/base/check.h"
#include "weir/engine/engine.h"
#include "worker.h"

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
	worker_resume_all(e); /* a turn that ends begins a cycle */
}

void engine_set_sessions_many(struct engine *e, uint32_t sessions)
{
	atomic_store_explicit(&e->settings.sessions_many, sessions, memory_order_relaxed);
}

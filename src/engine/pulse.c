/* SPDX-License-Identifier: MIT
 *
 * pulse.c - how busy workers are, and how their sessions ended, as control sees it.
 *
 * Owns nothing. Control thread.
 */
#include "weir/engine/pulse.h"

#include "weir/base/check.h"
#include "weir/base/thread.h"
#include "weir/engine/engine.h"
#include "worker.h"

static const struct pulse_row rows[] = {
#define PULSE(name, kind, unit, metric, help)                                                                \
	{#name, FIGURE_##kind, unit, metric, help, offsetof(struct worker_pulse, name)},
#include "weir/engine/pulse.tbl.h"
#undef PULSE
};

const struct pulse_row *pulse_row(size_t i)
{
	return i < ARRAY_LEN(rows) ? &rows[i] : NULL;
}

/* A thread that has ended has left its time. If it does so right now, its clock may already be beyond that:
 * what it left is looked for again, so that the time never falls. */
static uint64_t busy_ns(const struct worker *w)
{
	uint64_t left_ns = counter_get(&w->busy_ns);
	int64_t now_ns;

	if (!w->spawned || left_ns > 0)
		return left_ns;
	now_ns = thread_cpu_ns(w->thread); /* not joined: that would be after it left its time */
	left_ns = counter_get(&w->busy_ns);
	return left_ns > 0 || now_ns < 0 ? left_ns : (uint64_t)now_ns;
}

void engine_pulse(const struct engine *e, unsigned worker, struct worker_pulse *out)
{
	const struct worker *w;

	check(worker < e->worker_count);
	w = e->workers[worker];
	*out = (struct worker_pulse){
		.busy_ns = busy_ns(w),
		.turns = counter_get(&w->counters.turns),
		.sessions = counter_get(&w->counters.sessions),
		.timer_runs = counter_get(&w->counters.timer_runs),
		.timer_lag_ns = counter_get(&w->counters.timer_lag_ns),
		.timer_lag_max_ns = counter_get(&w->timer_lag_max_ns),
	};
}

uint64_t engine_closes(const struct engine *e, enum close_reason reason)
{
	uint64_t sum = 0;

	check((unsigned)reason < CLOSE_REASONS);
	for (unsigned i = 0; e->workers != NULL && i < e->worker_count; i++)
		sum += counter_get(&e->workers[i]->closes[reason]);
	return sum;
}

/* Of the struct recent at `offset` of each worker. */
static uint64_t sum_lately(const struct engine *e, size_t offset, int64_t now_ns)
{
	uint64_t sum = 0;

	for (unsigned i = 0; e->workers != NULL && i < e->worker_count; i++)
		sum += recent_count((const void *)((const char *)e->workers[i] + offset), now_ns);
	return sum;
}

uint64_t engine_closes_lately(const struct engine *e, enum close_reason reason, int64_t now_ns)
{
	check((unsigned)reason < CLOSE_REASONS);
	return sum_lately(e, offsetof(struct worker, closes_lately) + sizeof(struct recent) * reason, now_ns);
}

uint64_t engine_limits_lately(const struct engine *e, enum limited_by by, int64_t now_ns)
{
	check((unsigned)by < LIMITS);
	return sum_lately(e, offsetof(struct worker, limits_lately) + sizeof(struct recent) * by, now_ns);
}

/* SPDX-License-Identifier: MIT
 *
 * stat_pace.c - how fast the process works: measured between one question and the next.
 *
 * Control thread.
 */
#include "weir/stats/stat_pace.h"

#include "weir/base/clock.h"
#include "weir/engine/engine.h"

#define MEASURE_NS NS_PER_SEC

/* Divides first: a hundred times as much as 64 workers have in a month would not fit. */
static unsigned percent_idle(int64_t used_ns, int64_t had_ns)
{
	return (unsigned)(100 - (used_ns + had_ns / 200) / (had_ns / 100));
}

void stat_pace_measure(struct stat_pace *p, const struct engine *e, int64_t now_ns, int64_t cpu_ns)
{
	const uint64_t bytes = engine_sum(e, bytes_to_server) + engine_sum(e, bytes_to_client);
	const int64_t took_ns = now_ns - p->at_ns;
	const int64_t had_ns = took_ns * (e->worker_count > 0 ? (int64_t)e->worker_count : 1);
	const int64_t used_ns = cpu_ns - p->cpu_ns;

	if (took_ns < MEASURE_NS)
		return;
	/* Control and helper threads count, too: there may be more than the workers can use. */
	p->idle_percent = used_ns >= had_ns ? 0 : percent_idle(used_ns, had_ns);
	p->bytes_per_s = (uint64_t)((double)(bytes - p->bytes) * (double)NS_PER_SEC / (double)took_ns);
	p->at_ns = now_ns;
	p->cpu_ns = cpu_ns;
	p->bytes = bytes;
}

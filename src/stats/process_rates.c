/* SPDX-License-Identifier: MIT
 *
 * process_rates.c - how fast the process works: connections and bytes per second, and CPU time not used.
 *
 * Owns nothing. Control thread.
 */
#include "weir/stats/process_rates.h"

#include "weir/base/clock.h"
#include "weir/engine/engine.h"
#include "weir/engine/tallies.h"
#include "weir/stats/stat_pace.h"

static void sum_up(struct process_rates *r, const struct engine *e)
{
	const int64_t now_ns = clock_mono_ns();
	struct tally_sum sum;

	entries_foreach_frontend(&e->entries, fe) {
		tally_sum_up(e, fe->slot, now_ns, &sum);
		r->connections += sum.rate;
		if (sum.rate_max > r->connections_max)
			r->connections_max = sum.rate_max;
	}
	if (r->connections > r->connections_max)
		r->connections_max = r->connections;
}

struct process_rates process_rates_now(struct engine *e, struct stat_pace *pace)
{
	struct process_rates r = {.idle_percent = 100};

	if (e->workers != NULL)
		sum_up(&r, e);
	if (pace == NULL)
		return r;
	stat_pace_measure(pace, e, clock_mono_ns(), clock_process_ns());
	r.idle_percent = pace->idle_percent;
	r.bytes = pace->bytes_per_s;
	return r;
}

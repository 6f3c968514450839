/* SPDX-License-Identifier: MIT
 *
 * stat_counts.c - what is counted outside of tallies, as `show stat` shows it and `clear counters` keeps it.
 *
 * Only reads. Main thread.
 */
#include "stat_counts.h"

struct stat_counts stat_counts_of_frontend(const struct frontend *fe)
{
	return (struct stat_counts){.total = counter_get(&fe->total), .denied = counter_get(&fe->denied)};
}

struct stat_counts stat_counts_of_server(const struct server *s)
{
	struct stat_counts counts = {
		.total = counter_get(&s->total),
		.failures = counter_get(&s->failures),
		.chosen = counter_get(&s->chosen_total),
	};

	if (s->probe != NULL) {
		counts.probe_failures = s->probe->failures;
		counts.probe_downs = s->probe->downs;
	}
	return counts;
}

struct stat_counts stat_counts_of_backend(const struct backend_sum *sum)
{
	return (struct stat_counts){
		.failures = sum->totals.failures,
		.chosen = sum->totals.chosen,
		.probe_downs = sum->totals.probe_downs,
		.connects = sum->tally.total,
		.retries = sum->tally.retries,
		.redispatches = sum->tally.redispatches,
	};
}

/* SPDX-License-Identifier: MIT
 *
 * crowd_rates.c - no source gets more connections than rate-limit-per-source allows.
 *
 * A bucket of its own per frontend, from what the frontend counts: clients that came less those that were
 * refused. However clients are spread over workers, in no span of time are more let in than the burst, and
 * one more for each share of it. One thread. Tests only.
 */
#include "crowd_rates.h"

#include <string.h>

#include "model.h"
#include "rig.h"
#include "weir/entry/frontend.h"

/* Clients that frontends have let in, by their numbers. */
static struct let_in {
	const struct frontend *of; /* freed memory is used again in the next seed only */
	struct source_rate rate;
	uint64_t count;
	int64_t seen_ns;
	int64_t debt_ns; /* in which those of late would have come evenly */
} let_in[CROWD_SLOTS];

void crowd_rates_begin(void)
{
	memset(let_in, 0, sizeof(let_in));
}

void crowd_rates_judge(const struct frontend *fe, unsigned slot)
{
	struct let_in *l = &let_in[slot];
	const uint64_t count = atomic_load(&fe->total) - atomic_load(&fe->denied);
	const int64_t past_ns = model.now_ns - l->seen_ns;

	if (l->of != fe)
		*l = (struct let_in){.of = fe};
	if (fe->settings != NULL) /* one that leaves has none, and those of before still hold */
		l->rate = fe->settings->source_rate;
	l->debt_ns = l->debt_ns > past_ns ? l->debt_ns - past_ns : 0;
	l->debt_ns += (int64_t)(count - l->count) * l->rate.each_ns;
	l->count = count;
	l->seen_ns = model.now_ns;
	if (l->rate.each_ns > 0 && l->debt_ns > l->rate.whole_ns)
		sim_fail("frontend %u let in more of one source than its rate: %lld ns of %lld", slot,
			 (long long)l->debt_ns, (long long)l->rate.whole_ns);
}

/* SPDX-License-Identifier: MIT
 *
 * histogram.h - counts of latencies in buckets that grow with the value; at most 0.4 % wrong.
 *
 * Each power of two is cut into 128 equal steps, and a value is reported as the middle of its bucket.
 * Below 128 ns values are exact; beyond 2^43 ns (two hours) they are counted as that.
 */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_STEPS 128u
#define HISTOGRAM_STEP_BITS 7u
#define HISTOGRAM_BUCKETS (HISTOGRAM_STEPS * 37u)

struct histogram {
	uint64_t count, sum_ns, max_ns;
	uint64_t buckets[HISTOGRAM_BUCKETS];
};

static inline uint32_t histogram_bucket(uint64_t ns)
{
	uint32_t power, bucket;

	if (ns < HISTOGRAM_STEPS)
		return (uint32_t)ns;
	power = 63u - (uint32_t)__builtin_clzll(ns);
	if (power > 42u)
		return HISTOGRAM_BUCKETS - 1;
	bucket = (uint32_t)((ns >> (power - HISTOGRAM_STEP_BITS)) - HISTOGRAM_STEPS);
	return (power - HISTOGRAM_STEP_BITS + 1) * HISTOGRAM_STEPS + bucket;
}

/* The middle of a bucket. */
static inline double histogram_middle_ns(uint32_t bucket)
{
	const uint32_t power = bucket / HISTOGRAM_STEPS;
	uint64_t width;

	if (power <= 1)
		return bucket;
	width = UINT64_C(1) << (power - 1);
	return (double)((HISTOGRAM_STEPS + bucket % HISTOGRAM_STEPS) * width) + (double)(width - 1) / 2;
}

static inline void histogram_add(struct histogram *h, uint64_t ns)
{
	h->count++;
	h->sum_ns += ns;
	if (ns > h->max_ns)
		h->max_ns = ns;
	h->buckets[histogram_bucket(ns)]++;
}

/* The smallest value that at least `share` of all values do not exceed; 0 if there are none. */
static inline double histogram_percentile_ns(const struct histogram *h, double share)
{
	const double exact = (double)h->count * share;
	uint64_t wanted = (uint64_t)exact, seen = 0;

	if ((double)wanted < exact || wanted == 0)
		wanted++;
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS && h->count > 0; i++) {
		seen += h->buckets[i];
		if (seen >= wanted)
			return histogram_middle_ns(i);
	}
	return 0;
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * histogram.c - how the values of sessions are distributed: log-linear buckets, four per power of two.
 *
 * Owns no memory. The header says which thread may call each function.
 */
#include "weir/account/histogram.h"

#include <assert.h>

#include "weir/base/check.h"

/* The limit of the last bucket but one, shifted, must fit into 64 bits. */
#define SHIFT_MAX 30u

static const struct histogram_row rows[HISTOGRAMS] = {
#define HISTOGRAM(id, unit, shift, metric, help) {#id, unit, shift, metric, help},
#include "weir/account/histograms.tbl.h"
#undef HISTOGRAM
};

#define HISTOGRAM(id, unit, shift, metric, help) static_assert((shift) <= SHIFT_MAX, #id);
#include "weir/account/histograms.tbl.h"
#undef HISTOGRAM

const struct histogram_row *histogram_row(size_t i)
{
	return i < ARRAY_LEN(rows) ? &rows[i] : NULL;
}

/* Values below 4 have a bucket each; each power of two from 4 on has four. */
static unsigned bucket_of(uint64_t scaled)
{
	unsigned top, bucket;

	if (scaled < HISTOGRAM_STEP)
		return (unsigned)scaled;
	top = 63u - (unsigned)__builtin_clzll(scaled);
	bucket = (top - 1) * HISTOGRAM_STEP + (unsigned)(scaled >> (top - 2)) % HISTOGRAM_STEP;
	return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

void histogram_count(struct histogram_set *set, enum histogram_kind kind, uint64_t value)
{
	struct histogram *h = &set->of[kind];

	check((unsigned)kind < HISTOGRAMS);
	counter_add(&h->counts[bucket_of(value >> rows[kind].shift)], 1);
	counter_add(&h->sum, value);
}

void histogram_clear(struct histogram_set *set)
{
	for (unsigned kind = 0; kind < HISTOGRAMS; kind++) {
		for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
			counter_set(&set->of[kind].counts[i], 0);
		counter_set(&set->of[kind].sum, 0);
	}
}

void histogram_add(struct histogram_sum *to, const struct histogram_set *set, enum histogram_kind kind)
{
	const struct histogram *h = &set->of[kind];

	check((unsigned)kind < HISTOGRAMS);
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		to->counts[i] += counter_get(&h->counts[i]);
	to->sum += counter_get(&h->sum);
}

uint64_t histogram_limit(enum histogram_kind kind, unsigned bucket)
{
	uint64_t scaled;

	check((unsigned)kind < HISTOGRAMS);
	check(bucket < HISTOGRAM_BUCKETS);
	if (bucket == HISTOGRAM_BUCKETS - 1)
		return UINT64_MAX;
	if (bucket < HISTOGRAM_STEP)
		scaled = bucket + 1;
	else
		scaled = (uint64_t)(HISTOGRAM_STEP + bucket % HISTOGRAM_STEP + 1)
			 << (bucket / HISTOGRAM_STEP - 1);
	return scaled << rows[kind].shift;
}

uint64_t histogram_below(const struct histogram_sum *sum, unsigned bucket)
{
	uint64_t count = 0;

	check(bucket < HISTOGRAM_BUCKETS);
	for (unsigned i = 0; i <= bucket; i++)
		count += sum->counts[i];
	return count;
}

uint64_t histogram_total(const struct histogram_sum *sum)
{
	return histogram_below(sum, HISTOGRAM_BUCKETS - 1);
}

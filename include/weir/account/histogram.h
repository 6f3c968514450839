/* SPDX-License-Identifier: MIT
 *
 * histogram.h - how the values of sessions are distributed: log-linear buckets, four per power of two.
 *
 * A set has one histogram per row of histograms.tbl.h. One thread writes a set, with relaxed stores, so that
 * any thread may read it at any time. Its size is fixed: about 5 KiB. From its
 * fifth on, a bucket is at most a quarter as wide as its lowest value, so a quantile that is read from the
 * limits is at most that much too high.
 */
#ifndef WEIR_ACCOUNT_HISTOGRAM_H
#define WEIR_ACCOUNT_HISTOGRAM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base/counters.h"

/* Values from 2^33 (in units of the row's 2^shift) share the last bucket. */
#define HISTOGRAM_BUCKETS 128u
/* Buckets per power of two. A report of every HISTOGRAM_STEP-th limit, from bucket HISTOGRAM_STEP - 1 on, has
 * powers of two. */
#define HISTOGRAM_STEP 4u

enum histogram_kind {
#define HISTOGRAM(name, unit, shift, metric, help) HISTOGRAM_##name,
#include "weir/account/histograms.tbl.h"
#undef HISTOGRAM
	HISTOGRAMS
};

/* What histograms.tbl.h says about one of them; all text is static. */
struct histogram_row {
	const char *name; /* in upper case; reports show it in lower case */
	const char *unit; /* "us" or "bytes" */
	unsigned shift;
	const char *metric;
	const char *help;
};

struct histogram {
	_Atomic uint64_t counts[HISTOGRAM_BUCKETS];
	_Atomic uint64_t sum; /* of the values, in the unit of the row */
};

struct histogram_set {
	struct histogram of[HISTOGRAMS];
};

/* The same as plain numbers, over all writers. */
struct histogram_sum {
	uint64_t counts[HISTOGRAM_BUCKETS];
	uint64_t sum;
};

/* The row at `i`, in the order of enum histogram_kind; NULL past the last. Any thread. */
const struct histogram_row *histogram_row(size_t i);

/* Counts one value, in the unit of the row. The writer's thread. */
void histogram_count(struct histogram_set *set, enum histogram_kind kind, uint64_t value);
/* Makes all of it zero. The writer's thread. */
void histogram_clear(struct histogram_set *set);

/* Adds what `set` has now of this kind. Any thread. */
void histogram_add(struct histogram_sum *to, const struct histogram_set *set, enum histogram_kind kind);

/* The lowest value, in the unit of the row, that is too large for `bucket`; UINT64_MAX for the last bucket,
 * which has no limit. Any thread. */
uint64_t histogram_limit(enum histogram_kind kind, unsigned bucket);
/* How many values there are, and how many of them are below the limit of `bucket`. Any thread. */
uint64_t histogram_total(const struct histogram_sum *sum);
uint64_t histogram_below(const struct histogram_sum *sum, unsigned bucket);

#endif

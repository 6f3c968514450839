/* SPDX-License-Identifier: MIT
 *
 * histogram_metrics.c - the histograms of frontends, backends and servers as metrics.
 *
 * One row of histograms.tbl.h is one family. Owns nothing. Main thread.
 */
#include <string.h>

#include "weir/account/histogram.h"
#include "weir/base/check.h"
#include "weir/engine/histograms.h"
#include "answer.h"
#include "metrics.h"
#include "objects.h"

/* The family being written. */
struct family {
	struct metrics *m;
	enum histogram_kind kind;
};

static uint32_t slot_of(const struct object *o)
{
	if (o->scope == SCOPE_FRONTEND)
		return o->fe->slot;
	return o->scope == SCOPE_SERVER ? o->s->slot : o->b->slot;
}

static void put_part(const struct family *f, const struct object *o, const char *part)
{
	metrics_sample_part(f->m, part);
	objects_put_labels(f->m, o);
}

/* The largest value in the bucket. All are below its limit: that of bytes is a whole number, that of a time
 * was cut off. */
static uint64_t largest_in(enum histogram_kind kind, unsigned bucket)
{
	const uint64_t limit = histogram_limit(kind, bucket);
	const bool is_time = strcmp(histogram_row(kind)->unit, "us") == 0;

	return is_time || limit == UINT64_MAX ? limit : limit - 1;
}

/* One bucket per power of two; the last has no limit. */
static void put_buckets(const struct family *f, const struct object *o, const struct histogram_sum *sum)
{
	for (unsigned i = HISTOGRAM_STEP - 1; i < HISTOGRAM_BUCKETS; i += HISTOGRAM_STEP) {
		put_part(f, o, "_bucket");
		metrics_label_limit(f->m, largest_in(f->kind, i));
		metrics_count(f->m, histogram_below(sum, i));
	}
}

static void put_object(void *arg, const struct object *o)
{
	const struct family *f = arg;
	struct histogram_sum sum;

	if (!histograms_sum_up(o->engine, slot_of(o), f->kind, &sum))
		return;
	put_buckets(f, o, &sum);
	put_part(f, o, "_sum");
	metrics_value(f->m, sum.sum);
	put_part(f, o, "_count");
	metrics_count(f->m, histogram_total(&sum));
}

void answer_histograms(struct metrics *m, const struct objects *all, enum wish_scope scope,
		       const char *prefix)
{
	const struct histogram_row *row;

	/* Their sets stay when they are no longer wanted. */
	if (scope == SCOPE_SERVER && !histograms_are_of_servers(all->ctx->engine))
		return;
	for (size_t i = 0; (row = histogram_row(i)) != NULL; i++) {
		struct family f = {.m = m, .kind = (enum histogram_kind)i};

		metrics_family(m, prefix, row->metric, METRIC_HISTOGRAM, row->help);
		metrics_unit(m, row->unit);
		objects_foreach(all, scope, put_object, &f);
	}
}

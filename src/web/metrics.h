/* SPDX-License-Identifier: MIT
 *
 * metrics.h - writes metrics as Prometheus text or OpenMetrics: families, labels, samples.
 *
 * A family without a sample is not written at all. Writes to a text (text.h), which records whether something
 * did not fit. Allocates nothing itself. Not thread-safe.
 */
#ifndef WEIR_WEB_METRICS_H
#define WEIR_WEB_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/base/text.h"

#define METRIC_NAME_MAX 128

enum metric_type {
	METRIC_GAUGE,
	METRIC_COUNTER, /* its name ends in "_total" */
	METRIC_INFO,	/* its name ends in "_info", and its value is 1 */
	METRIC_HISTOGRAM, /* its samples are parts: "_bucket" with a label "le", "_sum", "_count" */
};

struct metrics {
	struct text *out; /* borrows */
	bool openmetrics;
	bool open;    /* the family's head is written */
	bool labeled; /* the sample has a label */
	char name[METRIC_NAME_MAX];
	enum metric_type type;
	const char *help; /* borrows until the next family */
	unsigned decimals; /* values are in units of 10^-decimals */
};

void metrics_init(struct metrics *m, struct text *out, bool openmetrics);
/* The samples that follow are of this family, called `prefix` and `name`. A name that ends in a unit (_ns,
 * _us, _ms or _s, before a "_total") is written in seconds, and so are its values; "_per_s" becomes
 * "_per_second". A counter's name gets its "_total" if it has none. */
void metrics_family(struct metrics *m, const char *prefix, const char *name, enum metric_type type,
		    const char *help);
/* For a family whose name is in seconds already: its values are in `unit`, "ns", "us" or "ms"; any other
 * changes nothing. */
void metrics_unit(struct metrics *m, const char *unit);
/* Begins a sample; then come its labels, then its value. */
void metrics_sample(struct metrics *m);
/* The same for a part of a histogram: the sample's name is the family's, followed by `part`. */
void metrics_sample_part(struct metrics *m, const char *part);
void metrics_label(struct metrics *m, const char *name, const char *value);
/* The label "le" of a bucket with values up to `limit`, in the unit of the family; UINT64_MAX = no limit. */
void metrics_label_limit(struct metrics *m, uint64_t limit);
/* In the unit of the family. */
void metrics_value(struct metrics *m, uint64_t value);
/* A number of things, whatever the unit of the family. */
void metrics_count(struct metrics *m, uint64_t count);
/* The same, in 10^-`decimals` of it. */
void metrics_value_scaled(struct metrics *m, int64_t value, unsigned decimals);
/* After the last sample. */
void metrics_end(struct metrics *m);

#endif

/* SPDX-License-Identifier: MIT
 *
 * counters.c - the rows of counters.tbl.h, for reports.
 *
 * Owns only static data. Any thread.
 */
#include "weir/base/counters.h"

#include "weir/base/check.h"

static const struct counter_row rows[] = {
#define COUNTER(name, kind, unit, help) {#name, FIGURE_##kind, unit, help, offsetof(struct counters, name)},
#include "weir/base/counters.tbl.h"
#undef COUNTER
};

const struct counter_row *counter_row(size_t i)
{
	return i < ARRAY_LEN(rows) ? &rows[i] : NULL;
}

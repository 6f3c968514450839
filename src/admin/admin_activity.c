/* SPDX-License-Identifier: MIT
 *
 * admin_activity.c - `show activity`: what each worker has counted, one line per counter.
 *
 * HAProxy's names come first, for the counters that both have; then all of ours (counters.tbl.h). With
 * several workers a line has the sum and, in brackets, each worker's own value. Main thread.
 */
#include <stdlib.h>

#include "weir/admin/admin_answers.h"
#include "weir/base/clock.h"

#define ALL_COLUMNS (-1)
#define SUM_ALONE   0

static uint64_t value_at(const struct engine *e, unsigned worker, size_t offset)
{
	const char *base = (const char *)engine_counters(e, worker);

	return counter_get((const _Atomic uint64_t *)(const void *)(base + offset));
}

/* `column`: ALL_COLUMNS, SUM_ALONE, or the number of a worker, from 1. */
static void add_line(const struct engine *e, const char *name, size_t offset, int column, struct text *out)
{
	const bool several = e->worker_count > 1;
	uint64_t sum = 0;

	for (unsigned i = 0; i < e->worker_count; i++)
		sum += value_at(e, i, offset);
	text_printf(out, "%s:", name);
	if (several && column <= SUM_ALONE)
		text_printf(out, " %llu%s", (unsigned long long)sum, column == ALL_COLUMNS ? " [" : "");
	for (unsigned i = 0; i < e->worker_count; i++)
		if (column == ALL_COLUMNS || column == (int)i + 1)
			text_printf(out, " %llu", (unsigned long long)value_at(e, i, offset));
	text_printf(out, several && column == ALL_COLUMNS ? " ]\n" : "\n");
}

static void add_times(const struct admin_context *ctx, struct text *out)
{
	const int64_t wall_us = clock_wall_ns() / NS_PER_US;
	const int64_t up_us = (clock_mono_ns() - ctx->started_ns) / NS_PER_US;

	text_printf(out, "thread_id: 1 (1..%u)\n", ctx->engine->worker_count);
	text_printf(out, "date_now: %lld.%06d\n", (long long)(wall_us / 1000000), (int)(wall_us % 1000000));
	text_printf(out, "uptime_now: %lld.%06d\n", (long long)(up_us / 1000000), (int)(up_us % 1000000));
}

void admin_show_activity(const struct admin_call *c)
{
	const struct engine *e = c->ctx->engine;
	const int column = c->arg_count > 0 ? (int)strtol(c->args[0], NULL, 10) : ALL_COLUMNS;
	const struct counter_row *row;

	if (column < ALL_COLUMNS || column > (int)e->worker_count) {
		admin_refuse(c, "Thread ID number must be between -1 and nbthread",
			     "'%d' is not a worker (1 to %u), 0 for the sum or -1 for all", column,
			     e->worker_count);
		return;
	}
	add_times(c->ctx, c->out);
	add_line(e, "loops", offsetof(struct counters, turns), column, c->out);
	add_line(e, "accepted", offsetof(struct counters, accepted), column, c->out);
	add_line(e, "accq_pushed", offsetof(struct counters, handed_off), column, c->out);
	for (size_t i = 0; (row = counter_row(i)) != NULL; i++)
		if (row->offset != offsetof(struct counters, accepted))
			add_line(e, row->name, row->offset, column, c->out);
}

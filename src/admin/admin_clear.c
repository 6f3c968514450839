/* SPDX-License-Identifier: MIT
 *
 * admin_clear.c - `clear counters`: what HAProxy's clients are shown begins anew.
 *
 * Nothing that workers count is cleared but maxima and average times. Owns nothing. Main thread.
 */
#include <string.h>

#include "weir/admin/admin_answers.h"
#include "weir/base/clock.h"
#include "weir/engine/tallies.h"
#include "weir/stats/stat_base.h"
#include "stat_counts.h"

/* What is being cleared. */
struct clearing {
	const struct admin_context *ctx;
	const struct chunks *sums;
	bool all;
};

static void set_base(const struct clearing *c, uint32_t slot, const struct stat_counts *counts)
{
	struct stat_base *base = stat_base_at(c->ctx->bases, slot);
	const struct tally_sum *sum = chunks_at(c->sums, slot);
	struct tally_sum totals = c->all ? *sum : base->tally;

	tally_keep_maxima(&totals, &base->tally);
	tally_keep_maxima(&totals, sum);
	if (!c->all)
		totals.last_ns = base->tally.last_ns;
	base->tally = totals;
	if (c->all)
		base->counts = *counts;
}

static void clear_queue(const struct clearing *c, uint32_t slot, atomic_int *max)
{
	struct stat_base *base = stat_base_at(c->ctx->bases, slot);
	const uint64_t most = stat_read_count(max);

	if (most > base->queue_max)
		base->queue_max = most;
	atomic_store_explicit(max, 0, memory_order_relaxed);
}

/* A backend's is that of its servers and frontends, too. */
static void keep_sessions_max(const struct clearing *c, uint32_t slot, uint64_t max)
{
	struct stat_base *base = stat_base_at(c->ctx->bases, slot);

	if (max > base->tally.sessions_max)
		base->tally.sessions_max = max;
}

static void clear_server(const struct clearing *c, struct server *s)
{
	const struct stat_counts counts = stat_counts_of_server(s);

	set_base(c, s->slot, &counts);
	clear_queue(c, s->slot, &s->queued_max);
}

static void clear_backend(const struct clearing *c, struct backend *b)
{
	struct stat_counts counts;
	struct backend_sum sum;

	backend_sum_up(c->ctx->engine, b, c->sums, &sum);
	counts = stat_counts_of_backend(&sum);
	set_base(c, b->slot, &counts);
	keep_sessions_max(c, b->slot, sum.sessions_max);
	clear_queue(c, b->slot, &b->queue.waiting_max);
	for (size_t i = 0; i < b->server_count; i++)
		clear_server(c, b->servers[i]);
}

void admin_ask_clear(const struct admin_call *c)
{
	const bool all = c->arg_count > 0 && strcmp(c->args[0], "all") == 0;

	/* HAProxy takes any other word for none. */
	if (c->arg_count > 0 && !all && c->ours) {
		c->question->malformed = true;
		return;
	}
	c->question->sums = all ? SUMS_CLEAR_ALL : SUMS_CLEAR_MAXIMA;
}

void admin_clear_counters(const struct admin_context *ctx, bool all, const struct chunks *sums)
{
	const struct clearing c = {.ctx = ctx, .sums = sums, .all = all};
	struct engine *e = ctx->engine;

	if (ctx->bases == NULL)
		return;
	entries_foreach_frontend(&e->entries, fe) {
		const struct stat_counts counts = stat_counts_of_frontend(fe);

		set_base(&c, fe->slot, &counts);
	}
	for (size_t i = 0; i < e->backend_count; i++)
		clear_backend(&c, e->backends[i]);
	tally_begin_anew(e, all, clock_mono_ns());
}

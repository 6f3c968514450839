/* SPDX-License-Identifier: MIT
 *
 * backend_sum.c - what the servers of a backend add up to.
 *
 * A server that leaves is counted by its own tallies until workers are about to clear them, and by what is
 * kept (tally_keep()) from then on. Main thread.
 */
#include "weir/stats/backend_sum.h"

#include <string.h>

#include "weir/engine/tallies.h"

static void add_tally(const struct server *s, const struct chunks *sums, struct backend_sum *to)
{
	tally_add(&to->tally, chunks_at(sums, s->slot));
}

static void add_left(const struct backend *b, const struct chunks *sums, struct backend_sum *to)
{
	for (const struct list *l = b->left.next; l != &b->left; l = l->next) {
		const struct server *s = list_entry(l, struct server, link);

		if (s->retired.stage != RETIRE_FORGET)
			add_tally(s, sums, to);
	}
}

/* What can also fall. */
static void add_current(const struct server *s, struct backend_sum *to)
{
	if (atomic_load_explicit(&s->in_roster, memory_order_relaxed)) {
		to->weight += server_weight_in_effect(s);
		to->uweight += server_weight_now(s);
	}
	if (!server_usable(s) || server_weight_now(s) == 0)
		return;
	to->active += !s->config->backup;
	to->backup += s->config->backup;
}

/* The maximum is also known per server and per frontend. A backend has had at least as many as any of its
 * servers, and as any frontend that has led nowhere else. */
static uint64_t most_sessions(const struct engine *e, const struct backend *b, const struct chunks *sums,
			      uint64_t of_servers)
{
	uint64_t most = ((const struct tally_sum *)chunks_at(sums, b->slot))->sessions_max;

	if (of_servers > most)
		most = of_servers;
	entries_foreach_frontend(&e->entries, fe) {
		const struct tally_sum *sum = chunks_at(sums, fe->slot);

		if (fe->settings->backend != b || fe->has_choice || b->leads_on ||
		    counter_get(&fe->denied) > 0)
			continue;
		if (sum->sessions_max > most)
			most = sum->sessions_max;
	}
	return most;
}

void backend_sum_up(const struct engine *e, const struct backend *b, const struct chunks *sums,
		    struct backend_sum *to)
{
	memset(to, 0, sizeof(*to));
	to->totals = backend_totals(b);
	to->tally = *tally_kept(e, b->slot);
	add_left(b, sums, to);
	for (size_t i = 0; i < b->server_count; i++) {
		add_tally(b->servers[i], sums, to);
		add_current(b->servers[i], to);
	}
	to->sessions_max = most_sessions(e, b, sums, to->tally.sessions_max);
}

/* SPDX-License-Identifier: MIT
 *
 * picker.c - one worker's choice among the servers of one backend, and taking turns.
 *
 * Keeps each server's credit for smooth weighted round robin, as in nginx: with weights 5, 1, 1 the order is
 * a a b a c a a, not a a a a a b c. Takes no lock. The other algorithms are in pick_load.c and pick_hash.c.
 * Worker thread.
 */
#include "weir/balance/picker.h"

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/hash.h"
#include "picker_parts.h"

/* ---- taking turns ---- */

/* The credit keeps its meaning when the sum of the weights changes. */
static void rescale(struct pick_mark *m, uint64_t weight)
{
	if (likely(m->of_weight == weight))
		return;
	if (m->of_weight > 0)
		m->credit = m->credit * (int64_t)weight / (int64_t)m->of_weight;
	m->of_weight = weight;
}

/* The next server: each gains its weight as credit, and the one with the most pays for all. A full server
 * takes no part; otherwise it would come many times in a row once it has room. */
static struct server *next_in_turn(struct picker *p, const struct server *avoid)
{
	const bool limited = atomic_load_explicit(&p->backend->limited, memory_order_relaxed);
	const struct roster *r = p->roster;
	struct pick_mark *best = NULL;
	struct server *chosen = NULL;
	int64_t total = 0;

	for (size_t i = 0; i < r->count; i++) {
		const struct roster_entry *e = &r->by_place[i];
		struct pick_mark *m;

		if (e->server == avoid || (limited && pick_is_full(e->server)))
			continue;
		m = pick_mark_of(p, e);
		rescale(m, r->weight);
		m->credit += e->weight;
		total += e->weight;
		if (best == NULL || m->credit > best->credit) {
			best = m;
			chosen = e->server;
		}
	}
	if (best != NULL)
		best->credit -= total;
	return chosen;
}

static enum pick pick_in_turn(struct picker *p, const struct server *avoid, struct server **out)
{
	/* A server that another worker has just filled loses its turn. The loop allows for this to happen
	 * once per server. */
	for (size_t tries = 0; tries <= p->roster->count; tries++) {
		struct server *s = next_in_turn(p, avoid);

		if (s == NULL)
			return PICK_FULL;
		if (pick_enter(s)) {
			*out = s;
			return PICK_SERVER;
		}
	}
	return pick_first(p, avoid, out);
}

/* ---- any algorithm ---- */

static enum pick choose(struct picker *p, const struct pick_request *q, struct server **out)
{
	switch (p->roster->how.algorithm) {
	case CONFIG_BALANCE_ROUNDROBIN:
		break;
	case CONFIG_BALANCE_LEASTCONN:
		return pick_least(p, q->avoid, out);
	case CONFIG_BALANCE_RANDOM:
		return pick_random(p, q->avoid, out);
	case CONFIG_BALANCE_FIRST:
		return pick_first(p, q->avoid, out);
	case CONFIG_BALANCE_SOURCE:
	case CONFIG_BALANCE_MAGLEV:
		return pick_by_hash(p, q, out);
	}
	return pick_in_turn(p, q->avoid, out);
}

enum pick picker_choose(struct picker *p, const struct pick_request *q, struct server **out)
{
	struct pick_request request = *q;

	p->roster = backend_roster(p->backend);
	*out = NULL;
	if (unlikely(p->roster->count == 0))
		return PICK_NONE;
	if (p->roster->count == 1)
		request.avoid = NULL; /* the only one */
	return choose(p, &request, out);
}

bool picker_wants_key(const struct picker *p)
{
	const enum config_balance a = backend_roster(p->backend)->how.algorithm;

	return a == CONFIG_BALANCE_SOURCE || a == CONFIG_BALANCE_MAGLEV;
}

/* ---- initialising ---- */

void picker_init(struct picker *p, struct backend *b, const struct chunks *marks, unsigned skip)
{
	*p = (struct picker){.backend = b, .marks = marks, .roster = backend_roster(b), .turn = skip};
	p->seed = hash_add((uint64_t)clock_mono_ns(), skip);
	for (unsigned i = 0; i < skip; i++)
		(void)next_in_turn(p, NULL); /* only advances the turn */
}

/* SPDX-License-Identifier: MIT
 *
 * picker.c - one worker's choice among the servers of one backend, and taking turns.
 *
 * Owns each server's credit for smooth weighted round robin, as in nginx: with weights 5, 1, 1 the order is a
 * a b a c a a, not a a a a a b c. Takes no lock unless the roster has changed. The other algorithms are in
 * pick_load.c and pick_hash.c. Worker thread.
 */
#include "weir/balance/picker.h"

#include <errno.h>
#include <stdlib.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/hash.h"
#include "picker_parts.h"

/* ---- taking turns ---- */

/* The next server: each gains its weight as credit, and the one with the most pays for all. A full server
 * takes no part; otherwise it would come many times in a row once it has room. */
static struct server *next_in_turn(struct picker *p, const struct server *avoid)
{
	const bool limited = atomic_load_explicit(&p->backend->limited, memory_order_relaxed);
	const struct roster *r = p->roster;
	const struct roster_entry *best = NULL;
	int64_t total = 0;

	for (size_t i = 0; i < r->count; i++) {
		const struct roster_entry *e = &r->by_place[i];

		if (e->server == avoid || (limited && pick_is_full(e->server)))
			continue;
		p->current[e->index] += e->weight;
		total += e->weight;
		if (best == NULL || p->current[e->index] > p->current[best->index])
			best = e;
	}
	if (best == NULL)
		return NULL;
	p->current[best->index] -= total;
	return best->server;
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

/* Scales the credits so that they keep their meaning when the sum of the weights changes. */
static void rescale(struct picker *p, uint64_t from, uint64_t to)
{
	if (from == to || from == 0)
		return;
	for (size_t i = 0; i < p->backend->server_count; i++)
		p->current[i] = p->current[i] * (int64_t)to / (int64_t)from;
}

/* ---- any algorithm ---- */

static void renew_roster(struct picker *p)
{
	const uint64_t weight = p->roster->weight;

	if (likely(atomic_load_explicit(&p->backend->roster_number, memory_order_acquire) ==
		   p->roster->number))
		return;
	roster_unref(p->roster);
	p->roster = backend_roster(p->backend);
	rescale(p, weight, p->roster->weight);
}

static enum pick choose(struct picker *p, const struct pick_request *q, struct server **out)
{
	switch (p->backend->config->balance.algorithm) {
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

	renew_roster(p);
	*out = NULL;
	if (unlikely(p->roster->count == 0))
		return PICK_NONE;
	if (p->roster->count == 1)
		request.avoid = NULL; /* the only one */
	return choose(p, &request, out);
}

bool picker_wants_key(const struct picker *p)
{
	const enum config_balance a = p->backend->config->balance.algorithm;

	return a == CONFIG_BALANCE_SOURCE || a == CONFIG_BALANCE_MAGLEV;
}

/* ---- initialising and freeing ---- */

int picker_init(struct picker *p, struct backend *b, unsigned skip)
{
	*p = (struct picker){.backend = b, .roster = backend_roster(b), .turn = skip};
	p->seed = hash_add((uint64_t)clock_mono_ns(), skip);
	p->current = calloc(b->server_count + 1, sizeof(*p->current));
	p->tried = calloc(b->server_count + 1, sizeof(*p->tried));
	if (p->current == NULL || p->tried == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < skip; i++)
		(void)next_in_turn(p, NULL); /* only advances the turn */
	return 0;
}

void picker_free(struct picker *p)
{
	if (p->roster != NULL)
		roster_unref(p->roster);
	free(p->current);
	free(p->tried);
	*p = (struct picker){0};
}

/* SPDX-License-Identifier: MIT
 *
 * pick_load.c - choices by the load of servers: leastconn, random, first; and the bound on load.
 *
 * Reads counts shared by all workers. Another worker may come first between reading and entering: then the
 * choice is repeated, a bounded number of times. Worker thread.
 */
#include "weir/base/check.h"
#include "weir/base/hash.h"
#include "picker_parts.h"

/* The largest weight of a server, in sixteenths (HAProxy's SRV_EWGHT_MAX). */
#define WEIGHT_MAX (256 * SERVER_WEIGHT_SCALE)

static uint64_t sessions_of(const struct server *s)
{
	const int sessions = atomic_load_explicit(&s->sessions, memory_order_relaxed);

	return sessions > 0 ? (uint64_t)sessions : 0;
}

enum pick pick_first(struct picker *p, const struct server *avoid, struct server **out)
{
	const struct roster *r = p->roster;

	for (size_t i = 0; i < r->count; i++) {
		struct server *s = r->by_place[i].server;

		if (s != avoid && pick_enter(s)) {
			*out = s;
			return PICK_SERVER;
		}
	}
	return PICK_FULL;
}

/* ---- leastconn ---- */

/* As in HAProxy (lb_fwlc.c): idle servers come first, whatever their weight. */
uint64_t pick_load_key(const struct roster_entry *e)
{
	const int queued = atomic_load_explicit(&e->server->queued, memory_order_relaxed);
	const uint64_t inflight = sessions_of(e->server) + (queued > 0 ? (uint64_t)queued : 0);

	return inflight == 0 ? 0 : (inflight + 1) * WEIGHT_MAX / e->weight;
}

/* The index of the least loaded server, the first of equals from `turn` on; `count` when all are full. */
static size_t least_loaded(const struct picker *p, const struct server *avoid)
{
	const struct roster *r = p->roster;
	size_t best = r->count;
	uint64_t best_key = UINT64_MAX;
	size_t at = p->turn % r->count;

	for (size_t i = 0; i < r->count; i++) {
		const struct roster_entry *e = &r->by_place[at];
		const uint64_t key = pick_load_key(e);

		if (key < best_key && e->server != avoid && !pick_is_full(e->server)) {
			best = at;
			best_key = key;
		}
		at = at + 1 < r->count ? at + 1 : 0;
	}
	return best;
}

enum pick pick_least(struct picker *p, const struct server *avoid, struct server **out)
{
	const struct roster *r = p->roster;

	for (size_t tries = 0; tries <= r->count; tries++) {
		const size_t best = least_loaded(p, avoid);

		if (best == r->count)
			return PICK_FULL;
		if (pick_enter(r->by_place[best].server)) {
			p->turn = best + 1;
			*out = r->by_place[best].server;
			return PICK_SERVER;
		}
	}
	return pick_first(p, avoid, out);
}

/* ---- the bound ---- */

struct pick_bound pick_bound_now(const struct picker *p)
{
	const struct roster *r = p->roster;
	const unsigned factor = r->how.balance_factor;
	struct pick_bound b = {.weight = r->weight};
	uint64_t sessions = 0;

	if (factor == 0)
		return b;
	for (size_t i = 0; i < r->count; i++)
		sessions += sessions_of(r->by_place[i].server);
	b.slots = ((sessions + 1) * factor + 99) / 100;
	return b;
}

/* HAProxy's chash_server_is_eligible(): whole slots per unit of weight; the remainder is also distributed by
 * weight; every server gets at least one slot. */
bool pick_bound_admits(const struct pick_bound *b, const struct roster_entry *e)
{
	const uint64_t rest = b->slots % b->weight;
	uint64_t slots = b->slots / b->weight * e->weight;

	if (b->slots == 0)
		return true;
	slots += e->weight_end * rest / b->weight - (e->weight_end - e->weight) * rest / b->weight;
	return sessions_of(e->server) < (slots > 0 ? slots : 1);
}

/* ---- random ---- */

/* The servers drawn for one choice, in the order of the roster's keys. */
struct drawn {
	size_t at[CONFIG_DRAWS_MAX];
	size_t count;
	uint64_t weight; /* of all drawn servers */
};

static uint64_t weight_before(const struct roster *r, size_t at)
{
	return r->by_key[at].weight_end - r->by_key[at].weight;
}

/* Draws a server not yet drawn, with a probability by weight; at least one must be left. */
static size_t draw(struct picker *p, struct drawn *d)
{
	const struct roster *r = p->roster;
	uint64_t weight = hash_nth(p->seed, p->random++) % (r->weight - d->weight);
	size_t at, place = 0;

	/* Skips the drawn servers; `weight` is the position as if they were still there. */
	while (place < d->count && weight >= weight_before(r, d->at[place]))
		weight += r->by_key[d->at[place++]].weight;
	at = pick_find_by_weight(r, weight);
	for (size_t i = d->count; i > place; i--)
		d->at[i] = d->at[i - 1];
	d->at[place] = at;
	d->count++;
	d->weight += r->by_key[at].weight;
	return at;
}

bool pick_is_less_loaded(const struct roster_entry *a, const struct roster_entry *b)
{
	return sessions_of(a->server) * b->weight < sessions_of(b->server) * a->weight;
}

/* The candidates of one choice, and the best so far. */
struct contest {
	struct pick_bound bound;
	const struct server *avoid;
	const struct roster_entry *best;
};

static void consider(struct contest *c, const struct roster_entry *e)
{
	if (e->server == c->avoid || pick_is_full(e->server) || !pick_bound_admits(&c->bound, e))
		return;
	if (c->best == NULL || pick_is_less_loaded(e, c->best))
		c->best = e;
}

/* The least loaded of several distinct servers drawn by weight (HAProxy may draw one twice; "power of two
 * choices" means two). If most servers are full or over the bound, the draws may miss the others: then any of
 * those. */
enum pick pick_random(struct picker *p, const struct server *avoid, struct server **out)
{
	const struct roster *r = p->roster;
	const unsigned draws = r->how.draws;
	struct contest c = {.bound = pick_bound_now(p), .avoid = avoid};
	struct drawn d = {.count = 0};
	size_t start;

	do
		consider(&c, &r->by_key[start = draw(p, &d)]);
	while (d.count < draws && d.count < r->count);
	for (size_t i = 0; c.best == NULL && i < r->count; i++)
		consider(&c, &r->by_key[(start + i) % r->count]);
	if (c.best != NULL && pick_enter(c.best->server)) {
		*out = c.best->server;
		return PICK_SERVER;
	}
	/* Other workers came first, or only the avoided server is under the bound. */
	p->turn = start;
	return pick_least(p, avoid, out);
}

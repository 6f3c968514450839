/* SPDX-License-Identifier: MIT
 *
 * pick_hash.c - choices by the client's address: source (a division or a ring) and maglev.
 *
 * If the server of an address cannot be used, the walk continues in the same table, so that all clients and
 * all machines continue alike. Reads the roster's tables, builds none. Worker thread.
 */
#include "weir/base/check.h"
#include "picker_parts.h"

/* Steps in a table before the search continues in the list: the next place of a small server among large ones
 * may be far away. */
#define WALK_STEPS_MAX 1024

/* A walk over the servers in the order of one hash. */
struct walk {
	const struct picker *picker;
	const struct roster *roster;
	size_t at;    /* position in the table: point, slot, or index in by_key */
	size_t first; /* index in by_key of the hash's own server */
	unsigned steps;
	size_t listed; /* entries of by_key examined after `first` */
};

/* ---- looking up ---- */

size_t pick_find_by_weight(const struct roster *r, uint64_t at)
{
	size_t low = 0;
	size_t high = r->count - 1;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (at < r->by_key[middle].weight_end)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* The nearest point on either side, as in HAProxy (chash_get_server_hash()); the ring is closed. */
static size_t find_point(const struct roster *r, uint64_t hash)
{
	size_t low = 0;
	size_t high = r->ring_count;
	size_t next;
	size_t last;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (r->ring[middle].hash < hash)
			low = middle + 1;
		else
			high = middle;
	}
	next = low < r->ring_count ? low : 0;
	last = low > 0 ? low - 1 : r->ring_count - 1;
	return hash - r->ring[last].hash < r->ring[next].hash - hash ? last : next;
}

static size_t entry_at(const struct walk *w)
{
	if (w->roster->maglev != NULL)
		return w->roster->maglev[w->at];
	return w->roster->ring != NULL ? w->roster->ring[w->at].entry : w->at;
}

static size_t table_size(const struct roster *r)
{
	if (r->maglev != NULL)
		return ROSTER_MAGLEV_SLOTS;
	return r->ring != NULL ? r->ring_count : r->count;
}

static struct walk walk_begin(const struct picker *p, uint64_t key)
{
	struct walk w = {.picker = p, .roster = p->roster};

	if (p->roster->maglev != NULL)
		w.at = key % ROSTER_MAGLEV_SLOTS;
	else if (p->roster->ring != NULL)
		w.at = find_point(p->roster, key);
	else
		w.at = pick_find_by_weight(p->roster, key % p->roster->weight);
	w.first = entry_at(&w);
	return w;
}

/* True when it had not been tried in this walk. */
static bool try_first(const struct walk *w, size_t entry)
{
	struct pick_mark *m = pick_mark_of(w->picker, &w->roster->by_key[entry]);
	const bool first = m->tried != w->picker->walks;

	m->tried = w->picker->walks;
	return first;
}

/* The next server not yet tried; NULL when none is left. */
static const struct roster_entry *walk_next(struct walk *w)
{
	const size_t count = w->roster->count;

	for (; w->steps < WALK_STEPS_MAX; w->steps++) {
		const size_t entry = entry_at(w);

		if (try_first(w, entry))
			return &w->roster->by_key[entry];
		w->at = w->at + 1 < table_size(w->roster) ? w->at + 1 : 0;
	}
	while (++w->listed < count) {
		const size_t entry = (w->first + w->listed) % count;

		if (try_first(w, entry))
			return &w->roster->by_key[entry];
	}
	return NULL;
}

/* ---- choosing ---- */

/* A client waits only for a server whose own queue may grow. */
static bool may_wait_for(const struct server *s)
{
	const unsigned max = server_settings(s)->config->maxqueue;

	return max == 0 || (unsigned)atomic_load_explicit(&s->queued, memory_order_relaxed) < max;
}

/* Takes a place at `s`, or lets the client wait for it; false when both server and queue are full. */
static bool settle(struct server *s, enum pick *result, struct server **out)
{
	if (likely(pick_enter(s)))
		*result = PICK_SERVER;
	else if (may_wait_for(s))
		*result = PICK_FULL;
	else
		return false;
	*out = s;
	return true;
}

static enum pick walk_on(struct picker *p, const struct pick_request *q, const struct pick_bound *bound,
			 struct server **out)
{
	struct walk w = walk_begin(p, q->key);
	const struct roster_entry *e;
	enum pick result;

	p->walks++;
	while ((e = walk_next(&w)) != NULL) {
		if (e->server == q->avoid || !pick_bound_admits(bound, e))
			continue;
		if (settle(e->server, &result, out))
			return result;
	}
	return PICK_FULL;
}

enum pick pick_by_hash(struct picker *p, const struct pick_request *q, struct server **out)
{
	const struct pick_bound bound = pick_bound_now(p);
	const struct pick_bound none = {.weight = bound.weight};
	const struct walk w = walk_begin(p, q->key);
	const struct roster_entry *e = &p->roster->by_key[w.first];
	enum pick result;

	if (likely(e->server != q->avoid) && pick_bound_admits(&bound, e) && settle(e->server, &result, out))
		return result;
	result = walk_on(p, q, &bound, out);
	/* If no server is under the bound, other clients came between counting and checking, or only the
	 * avoided server was under it: exceeding the bound is better than waiting. */
	if (*out == NULL && bound.slots > 0)
		result = walk_on(p, q, &none, out);
	return result;
}

/* ---- looking ahead ---- */

static bool would_settle(const struct server *s, enum pick *result)
{
	if (pick_is_full(s) && !may_wait_for(s))
		return false;
	*result = pick_is_full(s) ? PICK_FULL : PICK_SERVER;
	return true;
}

static bool would_take(const struct roster_entry *e, const struct pick_bound *bound, enum pick *result)
{
	return pick_bound_admits(bound, e) && would_settle(e->server, result);
}

/* The order of walk_next(), in which a server that comes again fares as it did before. */
const struct roster_entry *pick_hash_look(const struct picker *p, uint64_t key,
					  const struct pick_bound *bound, enum pick *result)
{
	const struct roster *r = p->roster;
	struct walk w = walk_begin(p, key);

	for (; w.steps < WALK_STEPS_MAX; w.steps++) {
		const struct roster_entry *e = &r->by_key[entry_at(&w)];

		if (would_take(e, bound, result))
			return e;
		w.at = w.at + 1 < table_size(r) ? w.at + 1 : 0;
	}
	for (size_t i = 1; i < r->count; i++) {
		const struct roster_entry *e = &r->by_key[(w.first + i) % r->count];

		if (would_take(e, bound, result))
			return e;
	}
	return NULL;
}

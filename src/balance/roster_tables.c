/* SPDX-License-Identifier: MIT
 *
 * roster_tables.c - the tables in which a hash is looked up: a ring of points, or Maglev's table.
 *
 * Both depend only on the servers' keys and weights, so that every machine builds the same. Rebuilt at each
 * change, on the thread that also does all other work of control: 2^18 points or 65,537 slots take about 10
 * ms. Control thread.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "weir/balance/backend.h"
#include "weir/balance/server.h"
#include "weir/base/check.h"
#include "weir/base/hash.h"
#include "roster_parts.h"

/* The seed of an entry's places: its key, or another number if an earlier server has the same key (two names
 * of one address), since equal places would leave it without clients. `same` counts those; 0 before the first
 * entry. */
static uint64_t next_seed(const struct roster *r, size_t entry, size_t *same)
{
	const uint64_t key = r->by_key[entry].server->key;

	*same = entry > 0 && r->by_key[entry - 1].server->key == key ? *same + 1 : 0;
	return *same == 0 ? key : hash_nth(key, *same - 1);
}

/* ---- the ring ---- */

static size_t points_of(uint64_t weight, unsigned halvings)
{
	const size_t points = (size_t)(weight * ROSTER_RING_POINTS / SERVER_WEIGHT_SCALE >> halvings);

	return points > 0 ? points : 1;
}

/* How many times all points are halved. This depends on the full weights of all servers, up or not, so that a
 * server that comes, goes or starts slowly moves no clients of the others. */
static unsigned halvings_of(const struct backend *b)
{
	unsigned halvings = 0;
	size_t points;

	for (;; halvings++) {
		points = 0;
		for (size_t i = 0; i < b->server_count; i++)
			points += points_of(
				(uint64_t)server_weight_now(b->servers[i]) * SERVER_WEIGHT_SCALE, halvings);
		/* With one point per server nothing is left to halve. */
		if (points <= ROSTER_RING_MAX || points == b->server_count)
			return halvings;
	}
}

static bool is_before(const struct ring_point *a, const struct ring_point *b)
{
	return a->hash != b->hash ? a->hash < b->hash : a->entry < b->entry;
}

static void sort_nearly_sorted(struct ring_point *points, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		const struct ring_point p = points[i];
		size_t at = i;

		for (; at > 0 && is_before(&p, &points[at - 1]); at--)
			points[at] = points[at - 1];
		points[at] = p;
	}
}

/* Hashes are evenly distributed: after a bucket sort by their leading bits, with about as many buckets as
 * points, few are out of place. `places` has one counter more than there are buckets. */
static void sort_points(struct ring_point *to, const struct ring_point *from, size_t count, size_t *places,
			unsigned bits)
{
	const unsigned shift = 64 - bits;

	for (size_t i = 0; i < count; i++)
		places[(from[i].hash >> shift) + 1]++;
	for (size_t i = 1; i < (size_t)1 << bits; i++)
		places[i] += places[i - 1];
	for (size_t i = 0; i < count; i++)
		to[places[from[i].hash >> shift]++] = from[i];
	sort_nearly_sorted(to, count);
}

static size_t add_points(struct ring_point *points, const struct roster *r, unsigned halvings)
{
	size_t count = 0;
	size_t same = 0;

	for (size_t i = 0; i < r->count; i++) {
		const uint64_t seed = next_seed(r, i, &same);
		const size_t own = points_of(r->by_key[i].weight, halvings);

		/* A larger weight adds points and moves none. */
		for (size_t n = 0; n < own; n++)
			points[count++] = (struct ring_point){hash_nth(seed, n), (uint32_t)i};
	}
	return count;
}

size_t roster_points_max(size_t full_points, size_t servers)
{
	const size_t most = servers > ROSTER_RING_MAX ? servers : ROSTER_RING_MAX;

	return full_points < most ? full_points : most;
}

static unsigned bits_of(size_t count)
{
	unsigned bits = 1;

	while ((size_t)1 << bits < count)
		bits++;
	return bits;
}

void roster_make_ring(struct roster *r, const struct backend *b, struct roster_scratch *s)
{
	const unsigned halvings = halvings_of(b);

	check(r->count > 0);
	r->ring = s->ring;
	s->ring = NULL;
	r->ring_count = add_points(s->points, r, halvings);
	sort_points(r->ring, s->points, r->ring_count, s->places, bits_of(r->ring_count));
}

/* ---- Maglev ---- */

/* An entry's permutation of the slots (Maglev, NSDI 2016, section 3.4). */
struct maglev_walk {
	uint32_t at; /* the slot it tries next */
	uint32_t skip;
};

/* Next to a large weight, thousands of small ones take part in few rounds: a block of entries is examined
 * only when one of its entries is due. */
#define BLOCK 64u

/* Indexed by entry, except `next`. */
struct maglev_turns {
	struct maglev_walk *walks; /* owns */
	uint64_t *quotas;          /* owns: its next turn comes when round * weight reaches this */
	uint32_t *rounds;          /* owns: the same as a round */
	uint32_t *next;            /* owns; by block: the first round of its entries */
	uint64_t max_weight;
};

#define NO_ENTRY UINT32_MAX

static uint32_t free_slot(struct maglev_walk *w, const uint32_t *table)
{
	uint32_t at = w->at;

	/* A permutation visits every slot, and the caller stops when none is free. */
	while (table[at] != NO_ENTRY) {
		at += w->skip;
		if (at >= ROSTER_MAGLEV_SLOTS)
			at -= ROSTER_MAGLEV_SLOTS;
	}
	w->at = at;
	return at;
}

static void take_turn(struct roster *r, struct maglev_turns *t, uint32_t i)
{
	const uint64_t weight = r->by_key[i].weight;

	t->quotas[i] += t->max_weight;
	t->rounds[i] = (uint32_t)((t->quotas[i] + weight - 1) / weight);
	r->maglev[free_slot(&t->walks[i], r->maglev)] = i;
}

/* One round of one block; returns how many slots are filled afterwards. */
static uint32_t fill_round(struct roster *r, struct maglev_turns *t, uint32_t block, uint32_t round,
			   uint32_t filled)
{
	const uint32_t end = block + BLOCK < r->count ? block + BLOCK : (uint32_t)r->count;
	uint32_t next = UINT32_MAX;

	for (uint32_t i = block; i < end && filled < ROSTER_MAGLEV_SLOTS; i++) {
		if (t->rounds[i] <= round) {
			take_turn(r, t, i);
			filled++;
		}
		if (t->rounds[i] < next)
			next = t->rounds[i];
	}
	t->next[block / BLOCK] = next;
	return filled;
}

/* Entries take turns to claim the next free slot of their permutation; an entry of smaller weight takes part
 * only in some rounds. */
static void fill_slots(struct roster *r, struct maglev_turns *t)
{
	uint32_t filled = 0;

	for (uint32_t round = 1; filled < ROSTER_MAGLEV_SLOTS; round++)
		for (uint32_t block = 0; block < r->count; block += BLOCK)
			if (t->next[block / BLOCK] <= round)
				filled = fill_round(r, t, block, round, filled);
}

static void begin_turns(const struct roster *r, struct maglev_turns *t)
{
	size_t same = 0;

	for (size_t i = 0; i < r->count; i++)
		if (r->by_key[i].weight > t->max_weight)
			t->max_weight = r->by_key[i].weight;
	for (size_t i = 0; i < r->count; i++) {
		const uint64_t weight = r->by_key[i].weight;
		const uint64_t seed = next_seed(r, i, &same);

		t->walks[i].at = (uint32_t)(hash_nth(seed, 0) % ROSTER_MAGLEV_SLOTS);
		t->walks[i].skip = (uint32_t)(hash_nth(seed, 1) % (ROSTER_MAGLEV_SLOTS - 1) + 1);
		t->quotas[i] = t->max_weight;
		t->rounds[i] = (uint32_t)((t->max_weight + weight - 1) / weight);
	}
}

void roster_make_maglev(struct roster *r, struct roster_scratch *s)
{
	check(r->count > 0);
	r->maglev = s->maglev;
	s->maglev = NULL;
	for (size_t i = 0; i < ROSTER_MAGLEV_SLOTS; i++)
		r->maglev[i] = NO_ENTRY;
	begin_turns(r, s->turns);
	fill_slots(r, s->turns);
}

/* ---- memory ---- */

static int ring_init(struct roster_scratch *s, size_t points)
{
	s->ring = malloc(points * sizeof(*s->ring));
	s->points = malloc(points * sizeof(*s->points));
	s->places = calloc(((size_t)1 << bits_of(points)) + 1, sizeof(*s->places));
	return s->ring != NULL && s->points != NULL && s->places != NULL ? 0 : -ENOMEM;
}

static int maglev_init(struct roster_scratch *s, size_t servers)
{
	struct maglev_turns *t = calloc(1, sizeof(*t));

	s->turns = t;
	s->maglev = malloc(ROSTER_MAGLEV_SLOTS * sizeof(*s->maglev));
	if (t == NULL || s->maglev == NULL)
		return -ENOMEM;
	t->walks = calloc(servers + 1, sizeof(*t->walks));
	t->quotas = calloc(servers + 1, sizeof(*t->quotas));
	t->rounds = calloc(servers + 1, sizeof(*t->rounds));
	t->next = calloc(servers / BLOCK + 1, sizeof(*t->next));
	return t->walks != NULL && t->quotas != NULL && t->rounds != NULL && t->next != NULL ? 0 : -ENOMEM;
}

int roster_scratch_init(struct roster_scratch *s, const struct roster_room *room)
{
	int err = 0;

	*s = (struct roster_scratch){0};
	if (room->points > 0)
		err = ring_init(s, room->points);
	if (!err && room->maglev)
		err = maglev_init(s, room->servers);
	return err;
}

void roster_scratch_free(struct roster_scratch *s)
{
	free(s->ring);
	free(s->points);
	free(s->places);
	free(s->maglev);
	if (s->turns != NULL) {
		free(s->turns->walks);
		free(s->turns->quotas);
		free(s->turns->rounds);
		free(s->turns->next);
		free(s->turns);
	}
	*s = (struct roster_scratch){0};
}

/* SPDX-License-Identifier: MIT
 *
 * roster_tables.c - where a hash is looked up: a ring of points, or Maglev's table.
 *
 * Both are made of the servers' keys and weights alone, so that every machine makes the same. Control
 * thread. Floor 3.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "sluice/balance/roster_parts.h"
#include "sluice/balance/server.h"
#include "sluice/base/check.h"
#include "sluice/base/hash.h"

/* What an entry's places begin with: its key, or another number when a server before it has the same key
 * (two names of one address), since equal places would leave it without clients. */
static uint64_t seed_of(const struct roster *r, size_t entry)
{
	const uint64_t key = r->by_key[entry].server->key;
	size_t same = 0;

	while (same < entry && r->by_key[entry - same - 1].server->key == key)
		same++;
	return same == 0 ? key : hash_nth(key, same - 1);
}

/* ---- the ring ---- */

static size_t points_of(const struct roster_entry *e)
{
	const size_t points = (size_t)e->weight * ROSTER_RING_POINTS / SERVER_WEIGHT_SCALE;

	return points > 0 ? points : 1;
}

static int compare_points(const void *left, const void *right)
{
	const struct ring_point *a = left;
	const struct ring_point *b = right;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return a->entry < b->entry ? -1 : a->entry > b->entry;
}

int roster_make_ring(struct roster *r)
{
	size_t count = 0;

	check(r->count > 0);
	for (size_t i = 0; i < r->count; i++)
		count += points_of(&r->by_key[i]);
	r->ring = calloc(count, sizeof(*r->ring));
	if (r->ring == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < r->count; i++) {
		const uint64_t seed = seed_of(r, i);
		const size_t points = points_of(&r->by_key[i]);

		/* A larger weight adds points and moves none. */
		for (size_t n = 0; n < points; n++)
			r->ring[r->ring_count++] = (struct ring_point){hash_nth(seed, n), (uint32_t)i};
	}
	qsort(r->ring, r->ring_count, sizeof(*r->ring), compare_points);
	return 0;
}

/* ---- Maglev ---- */

/* An entry's permutation of the slots (Maglev, NSDI 2016, section 3.4), and its turns. */
struct maglev_turns {
	uint32_t at;    /* the slot that it asks for next */
	uint32_t skip;
	uint64_t quota; /* it takes its next turn when round * weight reaches this */
};

#define NO_ENTRY UINT32_MAX

static uint32_t free_slot(struct maglev_turns *t, const uint32_t *table)
{
	/* A permutation comes by every slot, and the caller stops when none is free. */
	while (table[t->at] != NO_ENTRY)
		t->at = (t->at + t->skip) % ROSTER_MAGLEV_SLOTS;
	return t->at;
}

/* In turn each entry takes the next free slot of its permutation; one of a smaller weight takes part in
 * some of the rounds only. */
static void fill_slots(struct roster *r, struct maglev_turns *turns, uint64_t max_weight)
{
	uint32_t filled = 0;

	for (uint64_t round = 1;; round++) {
		for (uint32_t i = 0; i < r->count; i++) {
			struct maglev_turns *t = &turns[i];

			if (round * r->by_key[i].weight < t->quota)
				continue;
			t->quota += max_weight;
			r->maglev[free_slot(t, r->maglev)] = i;
			if (++filled == ROSTER_MAGLEV_SLOTS)
				return;
		}
	}
}

int roster_make_maglev(struct roster *r)
{
	struct maglev_turns *turns;
	uint64_t max_weight = 0;

	check(r->count > 0);
	turns = calloc(r->count, sizeof(*turns));
	r->maglev = malloc(ROSTER_MAGLEV_SLOTS * sizeof(*r->maglev));
	if (turns == NULL || r->maglev == NULL) {
		free(turns);
		return -ENOMEM; /* the roster frees its table */
	}
	for (size_t i = 0; i < ROSTER_MAGLEV_SLOTS; i++)
		r->maglev[i] = NO_ENTRY;
	for (size_t i = 0; i < r->count; i++)
		if (r->by_key[i].weight > max_weight)
			max_weight = r->by_key[i].weight;
	for (size_t i = 0; i < r->count; i++) {
		const uint64_t seed = seed_of(r, i);

		turns[i].at = (uint32_t)(hash_nth(seed, 0) % ROSTER_MAGLEV_SLOTS);
		turns[i].skip = (uint32_t)(hash_nth(seed, 1) % (ROSTER_MAGLEV_SLOTS - 1) + 1);
		turns[i].quota = max_weight;
	}
	fill_slots(r, turns, max_weight);
	free(turns);
	return 0;
}

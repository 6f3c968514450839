/* SPDX-License-Identifier: MIT
 *
 * known_addrs.c - the addresses that one server has had: a hash table that only grows, up to its bound.
 *
 * Owns copies. Never removes one, so a lookup that reaches a free slot has seen every candidate. Control
 * thread.
 */
#include "weir/balance/known_addrs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/hash.h"

#define ROOM_MIN 4u

/* The slot of `a`, or the free slot where it belongs. */
static struct known_addr **place_of(const struct known_addrs *k, const struct addr *a)
{
	uint32_t at = (uint32_t)hash_bytes(&a->sa, a->len, k->seed);

	for (;; at++) {
		struct known_addr **place = &k->places[at & (k->room - 1)];
		const struct addr *there = *place != NULL ? &(*place)->addr : NULL;

		if (there == NULL || (there->len == a->len && memcmp(&there->sa, &a->sa, a->len) == 0))
			return place;
	}
}

static uint64_t make_seed(const struct known_addrs *k)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == (ssize_t)sizeof(seed))
		return seed;
	/* Used early after boot: a remote attacker cannot guess an address in our memory. */
	return (uint64_t)(uintptr_t)k ^ (uint64_t)clock_wall_ns();
}

/* At most three quarters are used, so that a lookup is short. */
static int make_room(struct known_addrs *k)
{
	struct known_addrs more = {.count = k->count, .seed = k->seed};

	if (k->count < k->room / 4 * 3)
		return 0;
	more.room = k->room > 0 ? 2 * k->room : ROOM_MIN;
	if (k->room == 0)
		more.seed = make_seed(k);
	more.places = calloc(more.room, sizeof(struct known_addr *));
	if (more.places == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < k->room; i++)
		if (k->places[i] != NULL)
			*place_of(&more, &k->places[i]->addr) = k->places[i];
	free(k->places);
	*k = more;
	return 0;
}

static int add_addr(struct known_addrs *k, const struct addr *a, struct known_addr **out)
{
	struct known_addr *copy;
	int err;

	if (k->count == KNOWN_ADDRS_MAX)
		return -ENOSPC;
	err = make_room(k);
	if (err)
		return err;
	copy = calloc(1, sizeof(*copy));
	if (copy == NULL)
		return -ENOMEM;
	copy->addr = *a;
	*place_of(k, a) = copy;
	k->count++;
	*out = copy;
	return 1;
}

int known_addrs_add(struct known_addrs *k, const struct addr *a, struct known_addr **out)
{
	check(a->len != 0);
	if (k->room > 0) {
		*out = *place_of(k, a);
		if (*out != NULL)
			return 0;
	}
	return add_addr(k, a, out);
}

void known_addrs_free(struct known_addrs *k)
{
	for (uint32_t i = 0; i < k->room; i++)
		free(k->places[i]);
	free(k->places);
	memset(k, 0, sizeof(*k));
}

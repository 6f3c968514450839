/* SPDX-License-Identifier: MIT
 *
 * pick_fixture.h - one backend and some pickers, as so many workers have them, for the tests of choices.
 *
 * A test sets the configuration between pick_fixture_init() and pick_fixture_start().
 */
#ifndef WEIR_TESTS_PICK_FIXTURE_H
#define WEIR_TESTS_PICK_FIXTURE_H

#include "config_of_servers.h"
#include "live_by_hand.h"
#include "weir/balance/backend.h"
#include "weir/base/hash.h"

#define TEST_PICKERS 4

struct pick_fixture {
	struct config_of_servers c;
	struct backend *b;
	struct picker p[TEST_PICKERS];
};

static inline void pick_fixture_init(struct pick_fixture *f, const unsigned *weights, size_t count,
				     enum config_balance algorithm)
{
	config_of_servers_init(&f->c, weights, count);
	f->c.backend.balance.algorithm = algorithm;
	f->c.backend.balance.draws = 2;
}

static inline void pick_fixture_start(struct pick_fixture *f)
{
	f->b = backend_by_hand(&f->c.config);
	assert_non_null(f->b);
	for (unsigned i = 0; i < TEST_PICKERS; i++) {
		picker_by_hand(&f->p[i], f->b, i);
		f->p[i].seed = i; /* the same numbers in each run */
	}
}

/* Also proves that every place was given back. */
static inline void pick_fixture_finish(struct pick_fixture *f)
{
	for (size_t i = 0; i < f->b->server_count; i++)
		assert_int_equal(atomic_load(&f->b->servers[i]->sessions), 0);
	for (unsigned i = 0; i < TEST_PICKERS; i++)
		picker_by_hand_free(&f->p[i]);
	backend_by_hand_free(f->b);
}

/* Chosen by the picker `p`, for the client `key`; its place is kept. NULL = none. */
static inline struct server *pick_keep(struct picker *p, uint64_t key, const struct server *avoid)
{
	const struct pick_request q = {.key = key, .avoid = avoid};
	struct server *s;

	return picker_choose(p, &q, &s) == PICK_SERVER ? s : NULL;
}

/* The same with its place given back at once. */
static inline struct server *pick_and_leave(struct picker *p, uint64_t key, const struct server *avoid)
{
	struct server *s = pick_keep(p, key, avoid);

	if (s != NULL)
		server_leave(s);
	return s;
}

/* The key of the n-th client. */
static inline uint64_t key_of_client(uint64_t n)
{
	return hash_nth(0x5eed, n);
}

#endif

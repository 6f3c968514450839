/* SPDX-License-Identifier: MIT
 *
 * test_pick_hash.c - source and maglev against slow references; who moves when a server leaves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "balance/server_change.h"
#include "pick_fixture.h"

#define PICKS 60000
#define KEYS 20000

enum how { BY_MODULO, BY_RING, BY_MAGLEV, HOWS };

static void init(struct pick_fixture *f, enum how how, const unsigned *weights, size_t count)
{
	pick_fixture_init(f, weights, count,
			  how == BY_MAGLEV ? CONFIG_BALANCE_MAGLEV : CONFIG_BALANCE_SOURCE);
	f->c.backend.balance.hash = how == BY_RING ? CONFIG_HASH_CONSISTENT : CONFIG_HASH_MODULO;
}

static void start(struct pick_fixture *f, enum how how, const unsigned *weights, size_t count)
{
	init(f, how, weights, count);
	pick_fixture_start(f);
}

static unsigned owner_of(struct pick_fixture *f, uint64_t key)
{
	struct server *s = pick_and_leave(&f->p[key % TEST_PICKERS], key, NULL);

	assert_non_null(s);
	return s->id - 1;
}

/* ---- references ---- */

/* A list in which each server stands as often as its weight says, in the order of the keys. */
static void modulo_is_a_place_in_a_written_out_list(void **state)
{
	static const unsigned weights[] = {3, 1, 256, 20};
	static unsigned list[300 * SERVER_WEIGHT_SCALE];
	struct pick_fixture f;
	size_t len = 0;

	(void)state;
	start(&f, BY_MODULO, weights, 4);
	for (uint64_t last = 0, rank = 0; rank < 4; rank++) {
		const struct server *next = NULL;

		for (int i = 0; i < 4; i++) {
			const struct server *s = f.b->servers[i];

			if ((rank == 0 || s->key > last) && (next == NULL || s->key < next->key))
				next = s;
		}
		last = next->key;
		for (unsigned i = 0; i < weights[next->id - 1] * SERVER_WEIGHT_SCALE; i++)
			list[len++] = next->id - 1;
	}
	for (uint64_t n = 0; n < KEYS; n++)
		assert_int_equal(owner_of(&f, key_of_client(n)), list[key_of_client(n) % len]);
	pick_fixture_finish(&f);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a - b < b - a ? a - b : b - a;
}

/* Every point of every server is looked at, and the nearest wins, on whichever side. */
static void ring_gives_the_nearest_point(void **state)
{
	static const unsigned weights[] = {3, 1, 25, 20};
	struct pick_fixture f;

	(void)state;
	start(&f, BY_RING, weights, 4);
	for (uint64_t n = 0; n < KEYS / 4 + 3; n++) {
		const uint64_t ends[] = {0, UINT64_MAX, UINT64_MAX / 2};
		const uint64_t key = n < 3 ? ends[n] : key_of_client(n);
		uint64_t nearest = UINT64_MAX;
		unsigned owner = 0;

		for (unsigned i = 0; i < 4; i++) {
			for (unsigned point = 0; point < weights[i] * 16; point++) {
				const uint64_t d = distance(key, hash_nth(f.b->servers[i]->key, point));

				if (d < nearest) {
					nearest = d;
					owner = i;
				}
			}
		}
		assert_int_equal(owner_of(&f, key), owner);
	}
	pick_fixture_finish(&f);
}

static void maglev_is_a_slot_of_the_table(void **state)
{
	struct pick_fixture f;

	(void)state;
	start(&f, BY_MAGLEV, (unsigned[]){3, 1, 256, 20}, 4);
	for (uint64_t n = 0; n < KEYS; n++) {
		const uint64_t key = key_of_client(n);
		const struct roster *r = backend_roster(f.b);

		assert_int_equal(owner_of(&f, key), r->by_key[r->maglev[key % 65537]].server->id - 1);
	}
	pick_fixture_finish(&f);
}

static void shares_go_by_weight(void **state)
{
	/* The ring is the more even the more points it has. */
	static const struct {
		enum how how;
		unsigned weights[3];
		double slack;
	} table[] = {
		{BY_MODULO, {1, 2, 3}, 0.01},
		{BY_MAGLEV, {1, 2, 3}, 0.01},
		{BY_RING, {80, 160, 240}, 0.02},
	};

	(void)state;
	for (size_t t = 0; t < ARRAY_LEN(table); t++) {
		struct pick_fixture f;
		unsigned got[3] = {0};

		start(&f, table[t].how, table[t].weights, 3);
		for (uint64_t n = 0; n < PICKS; n++)
			got[owner_of(&f, key_of_client(n))]++;
		for (int i = 0; i < 3; i++) {
			assert_true(got[i] > PICKS * ((i + 1) / 6.0 - table[t].slack));
			assert_true(got[i] < PICKS * ((i + 1) / 6.0 + table[t].slack));
		}
		pick_fixture_finish(&f);
	}
}

/* ---- a server leaves ---- */

static const unsigned tens[] = {10, 10, 10, 10, 10, 10, 10, 10, 10, 10};

/* The part of the keys of those who stay that moves when the server `leaver` of ten goes, and of all keys. */
static void disrupt(enum how how, unsigned leaver, double *of_others, double *of_all)
{
	static unsigned before[KEYS];
	struct pick_fixture f;
	unsigned moved = 0;
	unsigned moved_of_others = 0;

	start(&f, how, tens, 10);
	for (uint64_t n = 0; n < KEYS; n++)
		before[n] = owner_of(&f, key_of_client(n));
	assert_int_equal(server_set_health(f.b->servers[leaver], false, "", 1), 0);
	for (uint64_t n = 0; n < KEYS; n++) {
		const unsigned after = owner_of(&f, key_of_client(n));

		assert_int_not_equal(after, leaver);
		moved += after != before[n];
		moved_of_others += after != before[n] && before[n] != leaver;
	}
	assert_int_equal(server_set_health(f.b->servers[leaver], true, "", 2), 0);
	for (uint64_t n = 0; n < KEYS; n++)
		assert_int_equal(owner_of(&f, key_of_client(n)), before[n]);
	pick_fixture_finish(&f);
	*of_all = (double)moved / KEYS;
	*of_others = (double)moved_of_others / KEYS;
}

static void maglev_moves_at_most_twelve_percent_when_one_of_ten_leaves(void **state)
{
	(void)state;
	for (unsigned leaver = 0; leaver < 10; leaver++) {
		double of_others;
		double of_all;

		disrupt(BY_MAGLEV, leaver, &of_others, &of_all);
		assert_true(of_all <= 0.12);
		assert_true(of_all >= 0.08);
	}
}

static void ring_moves_only_the_clients_of_who_leaves(void **state)
{
	(void)state;
	for (unsigned leaver = 0; leaver < 10; leaver++) {
		double of_others;
		double of_all;

		disrupt(BY_RING, leaver, &of_others, &of_all);
		assert_true(of_others == 0);
		assert_true(of_all > 0.05);
	}
}

/* Which is why there are the other two. */
static void modulo_moves_many(void **state)
{
	double of_others;
	double of_all;

	(void)state;
	disrupt(BY_MODULO, 3, &of_others, &of_all);
	assert_true(of_all > 0.4);
}

/* ---- bounded load ---- */

/* HAProxy's slots, dealt out one by one: each unit of weight gets whole slots, and of the rest the k-th slot
 * goes to the unit at which the running sum passes the next whole number. */
static int slow_bound(const struct pick_fixture *f, const struct server *s, unsigned factor)
{
	const struct roster *r = backend_roster(f->b);
	uint64_t sessions = 1;
	uint64_t slots;
	uint64_t units = 0;
	uint64_t mine = 0;

	for (size_t i = 0; i < r->count; i++)
		sessions += (uint64_t)atomic_load(&r->by_key[i].server->sessions);
	slots = (sessions * factor + 99) / 100;
	for (size_t i = 0; i < r->count; i++) {
		for (unsigned u = 0; u < r->by_key[i].weight; u++, units++) {
			const uint64_t rest = slots % r->weight;

			if (r->by_key[i].server != s)
				continue;
			mine += slots / r->weight;
			mine += (units + 1) * rest / r->weight - units * rest / r->weight;
		}
	}
	return mine > 0 ? (int)mine : 1;
}

static void bound_is_never_passed(void **state)
{
	static const unsigned factors[] = {101, 125, 150, 200, 1000};
	static const unsigned weights[] = {1, 3, 2, 7};

	(void)state;
	for (int how = 0; how <= HOWS; how++) {
		for (size_t k = 0; k < ARRAY_LEN(factors); k++) {
			struct pick_fixture f;

			init(&f, (enum how)(how % HOWS), weights, 4);
			if (how == HOWS) {
				f.c.backend.balance.algorithm = CONFIG_BALANCE_RANDOM;
				f.c.backend.balance.draws = 1;
			}
			f.c.backend.balance.balance_factor = factors[k];
			pick_fixture_start(&f);
			for (uint64_t n = 0; n < 800; n++) {
				/* Half of all clients are one. */
				const uint64_t key = key_of_client(n % 2 == 0 ? 0 : n);
				int bounds[4];
				struct server *s;

				for (int i = 0; i < 4; i++)
					bounds[i] = slow_bound(&f, f.b->servers[i], factors[k]);
				s = pick_keep(&f.p[n % TEST_PICKERS], key, NULL);
				assert_non_null(s);
				assert_true(atomic_load(&s->sessions) <= bounds[s->id - 1]);
			}
			for (int i = 0; i < 4; i++)
				while (atomic_load(&f.b->servers[i]->sessions) > 0)
					server_leave(f.b->servers[i]);
			pick_fixture_finish(&f);
		}
	}
}

static void without_a_bound_one_client_stays_at_one_server(void **state)
{
	(void)state;
	for (enum how how = 0; how < HOWS; how++) {
		struct pick_fixture f;
		struct server *s = NULL;

		start(&f, how, tens, 10);
		for (int i = 0; i < 1000; i++) {
			struct server *last = s;

			s = pick_keep(&f.p[i % TEST_PICKERS], key_of_client(1), NULL);
			assert_true(last == NULL || last == s);
		}
		while (atomic_load(&s->sessions) > 0)
			server_leave(s);
		pick_fixture_finish(&f);
	}
}

static void under_the_bound_a_client_stays_at_its_server(void **state)
{
	(void)state;
	for (enum how how = 0; how < HOWS; how++) {
		struct pick_fixture f;
		unsigned owners[100];

		start(&f, how, tens, 10);
		for (uint64_t n = 0; n < 100; n++)
			owners[n] = owner_of(&f, key_of_client(n));
		pick_fixture_finish(&f);
		init(&f, how, tens, 10);
		f.c.backend.balance.balance_factor = 125;
		pick_fixture_start(&f);
		for (uint64_t n = 0; n < 100; n++)
			assert_int_equal(owner_of(&f, key_of_client(n)), owners[n]);
		pick_fixture_finish(&f);
	}
}

/* ---- full servers ---- */

static void full_server_is_waited_for_until_its_queue_is_full_too(void **state)
{
	(void)state;
	for (enum how how = 0; how < HOWS; how++) {
		const struct pick_request q = {.key = key_of_client(5)};
		struct pick_fixture f;
		struct server *own;
		struct server *s;

		init(&f, how, tens, 3);
		for (int i = 0; i < 3; i++) {
			f.c.servers[i].maxconn = 1;
			f.c.servers[i].maxqueue = 2;
		}
		pick_fixture_start(&f);
		assert_int_equal(picker_choose(&f.p[0], &q, &own), PICK_SERVER);
		for (int waiting = 0; waiting < 2; waiting++) {
			atomic_store(&own->queued, waiting);
			assert_int_equal(picker_choose(&f.p[1], &q, &s), PICK_FULL);
			assert_ptr_equal(s, own);
		}
		atomic_store(&own->queued, 2);
		assert_int_equal(picker_choose(&f.p[1], &q, &s), PICK_SERVER);
		assert_ptr_not_equal(s, own);
		for (int i = 0; i < 3; i++) {
			atomic_store(&f.b->servers[i]->queued, 2);
			(void)server_enter(f.b->servers[i]);
		}
		assert_int_equal(picker_choose(&f.p[2], &q, &s), PICK_FULL);
		assert_null(s);
		for (int i = 0; i < 3; i++) {
			atomic_store(&f.b->servers[i]->queued, 0);
			server_leave(f.b->servers[i]);
		}
		pick_fixture_finish(&f);
	}
}

static void queue_without_a_limit_is_always_waited_in(void **state)
{
	const struct pick_request q = {.key = key_of_client(5)};
	struct pick_fixture f;
	struct server *own;
	struct server *s;

	(void)state;
	init(&f, BY_MAGLEV, tens, 3);
	for (int i = 0; i < 3; i++)
		f.c.servers[i].maxconn = 1;
	pick_fixture_start(&f);
	assert_int_equal(picker_choose(&f.p[0], &q, &own), PICK_SERVER);
	atomic_store(&own->queued, 1000000);
	assert_int_equal(picker_choose(&f.p[0], &q, &s), PICK_FULL);
	assert_ptr_equal(s, own);
	/* A place that is free belongs to who waits. */
	server_leave(own);
	assert_int_equal(picker_choose(&f.p[0], &q, &s), PICK_FULL);
	atomic_store(&own->queued, 0);
	assert_ptr_equal(pick_and_leave(&f.p[0], q.key, NULL), own);
	pick_fixture_finish(&f);
}

static void avoided_server_is_replaced_by_the_same_one_everywhere(void **state)
{
	(void)state;
	for (enum how how = 0; how < HOWS; how++) {
		struct pick_fixture f;
		unsigned second[10] = {0};
		unsigned seconds = 0;

		start(&f, how, tens, 10);
		for (uint64_t n = 0; n < 1000; n++) {
			const uint64_t key = key_of_client(n);
			struct server *own = pick_and_leave(&f.p[0], key, NULL);
			struct server *next = pick_and_leave(&f.p[1], key, own);

			assert_ptr_not_equal(next, own);
			for (int i = 0; i < TEST_PICKERS; i++)
				assert_ptr_equal(pick_and_leave(&f.p[i], key, own), next);
			second[next->id - 1]++;
		}
		for (int i = 0; i < 10; i++)
			seconds += second[i] > 0;
		assert_int_equal(seconds, 10); /* not all on one neighbour */
		pick_fixture_finish(&f);
		start(&f, how, tens, 1);
		assert_ptr_equal(pick_and_leave(&f.p[0], 1, f.b->servers[0]), f.b->servers[0]);
		pick_fixture_finish(&f);
	}
}

/* On the ring of these the small one's next point is often thousands of steps away. */
static void walk_ends_at_a_small_server_among_large_ones(void **state)
{
	static const unsigned weights[] = {256, 256, 256, 256, 256, 256, 256, 256, 256, 256, 256, 1};

	(void)state;
	for (enum how how = 0; how < HOWS; how++) {
		struct pick_fixture f;

		init(&f, how, weights, 12);
		for (int i = 0; i < 11; i++) {
			f.c.servers[i].maxconn = 1;
			f.c.servers[i].maxqueue = 1;
		}
		pick_fixture_start(&f);
		for (int i = 0; i < 11; i++) {
			assert_true(server_enter(f.b->servers[i]));
			atomic_store(&f.b->servers[i]->queued, 1);
		}
		for (uint64_t n = 0; n < 1000; n++)
			assert_int_equal(owner_of(&f, key_of_client(n)), 11);
		for (int i = 0; i < 11; i++) {
			atomic_store(&f.b->servers[i]->queued, 0);
			server_leave(f.b->servers[i]);
		}
		pick_fixture_finish(&f);
	}
}

static void no_server_is_none(void **state)
{
	(void)state;
	for (enum how how = 0; how < HOWS; how++) {
		const struct pick_request q = {.key = 1};
		struct pick_fixture f;
		struct server *s = NULL;

		start(&f, how, (unsigned[]){0, 0}, 2);
		assert_int_equal(picker_choose(&f.p[0], &q, &s), PICK_NONE);
		assert_null(s);
		assert_true(picker_wants_key(&f.p[0]));
		pick_fixture_finish(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modulo_is_a_place_in_a_written_out_list),
		cmocka_unit_test(ring_gives_the_nearest_point),
		cmocka_unit_test(maglev_is_a_slot_of_the_table),
		cmocka_unit_test(shares_go_by_weight),
		cmocka_unit_test(maglev_moves_at_most_twelve_percent_when_one_of_ten_leaves),
		cmocka_unit_test(ring_moves_only_the_clients_of_who_leaves),
		cmocka_unit_test(modulo_moves_many),
		cmocka_unit_test(bound_is_never_passed),
		cmocka_unit_test(without_a_bound_one_client_stays_at_one_server),
		cmocka_unit_test(under_the_bound_a_client_stays_at_its_server),
		cmocka_unit_test(full_server_is_waited_for_until_its_queue_is_full_too),
		cmocka_unit_test(queue_without_a_limit_is_always_waited_in),
		cmocka_unit_test(avoided_server_is_replaced_by_the_same_one_everywhere),
		cmocka_unit_test(walk_ends_at_a_small_server_among_large_ones),
		cmocka_unit_test(no_server_is_none),
	};

	log_set_level(LOG_LEVEL_ERROR); /* what remains are the alerts */
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * test_pick_load.c - leastconn, random and first against what they promise, counted slowly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pick_fixture.h"

#define PICKS 60000

/* A stream of random numbers that has nothing to do with those of the pickers. */
static uint64_t dice(uint64_t *state)
{
	return hash_nth(0xd1ce, (*state)++);
}

static void leave_all(struct pick_fixture *f)
{
	for (size_t i = 0; i < f->b->server_count; i++)
		while (atomic_load(&f->b->servers[i]->sessions) > 0)
			server_leave(f->b->servers[i]);
}

/* ---- leastconn ---- */

/* HAProxy's key in the words of its comment: what the load would be after one more, by weight. */
static double slow_key(const struct server *s)
{
	const int inflight = s->sessions + s->queued;
	const double weight = s->config->weight * 16.0;

	return inflight == 0 ? 0 : (double)(int64_t)((inflight + 1) * 4096.0 / weight);
}

static void leastconn_never_chooses_a_busier_one(void **state)
{
	struct pick_fixture f;
	uint64_t random = 0;

	(void)state;
	pick_fixture_init(&f, (unsigned[]){1, 2, 3, 100, 256}, 5, CONFIG_BALANCE_LEASTCONN);
	pick_fixture_start(&f);
	for (int i = 0; i < PICKS; i++) {
		struct server *busy = f.b->servers[dice(&random) % 5];
		struct server *s;
		double least = slow_key(f.b->servers[0]);
		double chosen;

		atomic_store(&f.b->servers[i % 5]->queued, (int)(dice(&random) % 3));
		if (dice(&random) % 2 == 0 && atomic_load(&busy->sessions) > 0)
			server_leave(busy);
		least = 1e99;
		for (int k = 0; k < 5; k++)
			least = slow_key(f.b->servers[k]) < least ? slow_key(f.b->servers[k]) : least;
		s = pick_keep(&f.p[i % TEST_PICKERS], 0, NULL);
		assert_non_null(s);
		atomic_fetch_sub(&s->sessions, 1); /* as it was when it was chosen */
		chosen = slow_key(s);
		atomic_fetch_add(&s->sessions, 1);
		assert_true(chosen == least);
	}
	leave_all(&f);
	pick_fixture_finish(&f);
}

static void leastconn_lets_equals_take_turns(void **state)
{
	struct pick_fixture f;

	(void)state;
	pick_fixture_init(&f, (unsigned[]){1, 7, 1}, 3, CONFIG_BALANCE_LEASTCONN);
	pick_fixture_start(&f);
	for (unsigned i = 0; i < 12; i++) {
		/* Idle ones are equals whatever their weights, and each worker begins at another. */
		assert_int_equal(pick_and_leave(&f.p[0], 0, NULL)->id - 1, i % 3);
		assert_int_equal(pick_and_leave(&f.p[2], 0, NULL)->id - 1, (i + 2) % 3);
	}
	pick_fixture_finish(&f);
}

#define SIM_STEPS 60000
#define SIM_LONGEST 512

/* Sessions that end in each of the next steps, by server. */
struct simulation {
	unsigned ends[SIM_LONGEST][3];
	double occupancy[3]; /* mean */
};

/* One arrival a step; a session at server i takes about service[i] steps. */
static void simulate(struct simulation *sim, struct pick_fixture *f, const unsigned *service)
{
	uint64_t random = 0;

	memset(sim, 0, sizeof(*sim));
	for (unsigned now = 0; now < SIM_STEPS; now++) {
		unsigned *ending = sim->ends[now % SIM_LONGEST];
		struct server *s;
		unsigned lasts;

		for (unsigned i = 0; i < 3; i++) {
			for (; ending[i] > 0; ending[i]--)
				server_leave(f->b->servers[i]);
		}
		s = pick_keep(&f->p[dice(&random) % TEST_PICKERS], 0, NULL);
		assert_non_null(s);
		lasts = service[s->id - 1] / 2 + (unsigned)(dice(&random) % service[s->id - 1]) + 1;
		sim->ends[(now + lasts) % SIM_LONGEST][s->id - 1]++;
		for (unsigned i = 0; i < 3; i++)
			sim->occupancy[i] += (double)atomic_load(&f->b->servers[i]->sessions) / SIM_STEPS;
	}
	leave_all(f);
}

static void leastconn_keeps_occupancy_equal_under_unequal_service_times(void **state)
{
	static struct simulation sim;
	struct pick_fixture f;
	double mean;

	(void)state;
	pick_fixture_init(&f, (unsigned[]){1, 1, 1}, 3, CONFIG_BALANCE_LEASTCONN);
	pick_fixture_start(&f);
	simulate(&sim, &f, (unsigned[]){30, 100, 300});
	mean = (sim.occupancy[0] + sim.occupancy[1] + sim.occupancy[2]) / 3;
	assert_true(mean > 10);
	for (int i = 0; i < 3; i++)
		assert_true(sim.occupancy[i] > mean * 0.9 && sim.occupancy[i] < mean * 1.1);
	pick_fixture_finish(&f);
	/* The same by turns is far from it: the test can fail. */
	pick_fixture_init(&f, (unsigned[]){1, 1, 1}, 3, CONFIG_BALANCE_ROUNDROBIN);
	pick_fixture_start(&f);
	simulate(&sim, &f, (unsigned[]){30, 100, 300});
	assert_true(sim.occupancy[2] > sim.occupancy[0] * 5);
	pick_fixture_finish(&f);
}

static void leastconn_occupancy_goes_by_weight(void **state)
{
	static struct simulation sim;
	struct pick_fixture f;
	double sum;

	(void)state;
	pick_fixture_init(&f, (unsigned[]){1, 2, 3}, 3, CONFIG_BALANCE_LEASTCONN);
	pick_fixture_start(&f);
	simulate(&sim, &f, (unsigned[]){300, 200, 300});
	sum = sim.occupancy[0] + sim.occupancy[1] + sim.occupancy[2];
	for (int i = 0; i < 3; i++) {
		const double part = sum * (i + 1) / 6;

		assert_true(sim.occupancy[i] > part * 0.9 && sim.occupancy[i] < part * 1.1);
	}
	pick_fixture_finish(&f);
}

/* ---- random ---- */

static void random_shares_go_by_weight(void **state)
{
	struct pick_fixture f;
	unsigned got[3] = {0};

	(void)state;
	pick_fixture_init(&f, (unsigned[]){1, 2, 3}, 3, CONFIG_BALANCE_RANDOM);
	f.c.backend.balance.draws = 1;
	pick_fixture_start(&f);
	for (int i = 0; i < PICKS; i++)
		got[pick_and_leave(&f.p[i % TEST_PICKERS], 0, NULL)->id - 1]++;
	for (int i = 0; i < 3; i++) {
		assert_true(got[i] > PICKS * ((i + 1) / 6.0 - 0.01));
		assert_true(got[i] < PICKS * ((i + 1) / 6.0 + 0.01));
	}
	pick_fixture_finish(&f);
}

/* The largest load of sixteen servers when a thousand stay. */
static int most_of_a_thousand(unsigned draws)
{
	static const unsigned ones[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	struct pick_fixture f;
	int most = 0;

	pick_fixture_init(&f, ones, 16, CONFIG_BALANCE_RANDOM);
	f.c.backend.balance.draws = draws;
	pick_fixture_start(&f);
	for (int i = 0; i < 1000; i++)
		assert_non_null(pick_keep(&f.p[i % TEST_PICKERS], 0, NULL));
	for (int i = 0; i < 16; i++)
		if (atomic_load(&f.b->servers[i]->sessions) > most)
			most = atomic_load(&f.b->servers[i]->sessions);
	leave_all(&f);
	pick_fixture_finish(&f);
	return most;
}

static void two_draws_are_better_than_one(void **state)
{
	const int one = most_of_a_thousand(1);
	const int two = most_of_a_thousand(2);

	(void)state;
	assert_true(one > 1000 / 16 + 8);
	assert_true(two <= 1000 / 16 + 3);
}

/* "Power of two choices" is of two: nobody is compared with itself. */
static void draws_are_of_different_servers(void **state)
{
	struct pick_fixture f;
	unsigned got[3] = {0};

	(void)state;
	pick_fixture_init(&f, (unsigned[]){1, 1, 1}, 2, CONFIG_BALANCE_RANDOM);
	f.c.backend.balance.draws = 2;
	pick_fixture_start(&f);
	assert_true(server_enter(f.b->servers[0]));
	for (int i = 0; i < PICKS; i++)
		assert_int_equal(pick_and_leave(&f.p[i % TEST_PICKERS], 0, NULL)->id - 1, 1);
	leave_all(&f);
	pick_fixture_finish(&f);
	/* As many as there are servers, and more: always the least loaded of all. */
	pick_fixture_init(&f, (unsigned[]){256, 256, 1}, 3, CONFIG_BALANCE_RANDOM);
	f.c.backend.balance.draws = CONFIG_DRAWS_MAX;
	pick_fixture_start(&f);
	assert_true(server_enter(f.b->servers[0]));
	assert_true(server_enter(f.b->servers[1]));
	for (int i = 0; i < 1000; i++)
		assert_int_equal(pick_and_leave(&f.p[0], 0, NULL)->id - 1, 2);
	leave_all(&f);
	pick_fixture_finish(&f);
	/* Each draw goes by the weights of who is left: b and c are a pair in 2/6 * 3/4 + 3/6 * 2/3. */
	pick_fixture_init(&f, (unsigned[]){1, 2, 3}, 3, CONFIG_BALANCE_RANDOM);
	f.c.backend.balance.draws = 2;
	pick_fixture_start(&f);
	atomic_store(&f.b->servers[1]->sessions, 20);
	atomic_store(&f.b->servers[2]->sessions, 60);
	for (int i = 0; i < PICKS; i++)
		got[pick_and_leave(&f.p[i % TEST_PICKERS], 0, NULL)->id - 1]++;
	assert_true(got[1] > PICKS * (7.0 / 12 - 0.01) && got[1] < PICKS * (7.0 / 12 + 0.01));
	assert_int_equal(got[0] + got[1], PICKS);
	leave_all(&f);
	pick_fixture_finish(&f);
}

static void random_finds_the_last_free_place(void **state)
{
	static const unsigned weights[] = {256, 256, 256, 256, 256, 256, 256, 1};
	struct pick_fixture f;
	struct server *s;
	const struct pick_request q = {0};

	(void)state;
	pick_fixture_init(&f, weights, 8, CONFIG_BALANCE_RANDOM);
	for (int i = 0; i < 8; i++)
		f.c.servers[i].maxconn = 1;
	pick_fixture_start(&f);
	for (int i = 0; i < 7; i++)
		assert_true(server_enter(f.b->servers[i]));
	for (int i = 0; i < 100; i++)
		assert_int_equal(pick_and_leave(&f.p[0], 0, NULL)->id - 1, 7);
	assert_non_null(pick_keep(&f.p[1], 0, NULL));
	assert_int_equal(picker_choose(&f.p[0], &q, &s), PICK_FULL);
	assert_null(s);
	leave_all(&f);
	pick_fixture_finish(&f);
}

static void random_avoids(void **state)
{
	struct pick_fixture f;

	(void)state;
	pick_fixture_init(&f, (unsigned[]){100, 1}, 2, CONFIG_BALANCE_RANDOM);
	pick_fixture_start(&f);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(pick_and_leave(&f.p[0], 0, f.b->servers[0])->id - 1, 1);
	pick_fixture_finish(&f);
}

/* ---- first ---- */

static void first_fills_in_order(void **state)
{
	struct pick_fixture f;
	struct server *s;
	const struct pick_request q = {0};

	(void)state;
	pick_fixture_init(&f, (unsigned[]){1, 9, 1}, 3, CONFIG_BALANCE_FIRST);
	for (int i = 0; i < 3; i++)
		f.c.servers[i].maxconn = 2;
	pick_fixture_start(&f);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(pick_keep(&f.p[i % TEST_PICKERS], 0, NULL)->id - 1, i / 2);
	assert_int_equal(picker_choose(&f.p[0], &q, &s), PICK_FULL);
	assert_null(s);
	server_leave(f.b->servers[1]);
	assert_int_equal(pick_keep(&f.p[3], 0, NULL)->id - 1, 1);
	server_leave(f.b->servers[2]);
	server_leave(f.b->servers[0]);
	assert_int_equal(pick_and_leave(&f.p[0], 0, f.b->servers[0])->id - 1, 2);
	assert_int_equal(pick_keep(&f.p[0], 0, NULL)->id - 1, 0);
	leave_all(&f);
	pick_fixture_finish(&f);
}

/* ---- all that look at load ---- */

static const enum config_balance passing_over[] = {
	CONFIG_BALANCE_ROUNDROBIN,
	CONFIG_BALANCE_LEASTCONN,
	CONFIG_BALANCE_RANDOM,
	CONFIG_BALANCE_FIRST,
};

static void full_only_when_every_server_is(void **state)
{
	const struct pick_request q = {0};

	(void)state;
	for (size_t a = 0; a < ARRAY_LEN(passing_over); a++) {
		struct pick_fixture f;
		struct server *s;

		pick_fixture_init(&f, (unsigned[]){5, 1, 2}, 3, passing_over[a]);
		for (unsigned i = 0; i < 3; i++)
			f.c.servers[i].maxconn = i + 1;
		pick_fixture_start(&f);
		for (int i = 0; i < 6; i++)
			assert_non_null(pick_keep(&f.p[i % TEST_PICKERS], 0, NULL));
		for (int i = 0; i < 3; i++)
			assert_int_equal(atomic_load(&f.b->servers[i]->sessions), i + 1);
		for (int i = 0; i < TEST_PICKERS; i++) {
			assert_int_equal(picker_choose(&f.p[i], &q, &s), PICK_FULL);
			assert_null(s);
		}
		/* The avoided one has room, but it is not the only one. */
		server_leave(f.b->servers[2]);
		assert_null(pick_keep(&f.p[0], 0, f.b->servers[2]));
		assert_int_equal(pick_keep(&f.p[0], 0, f.b->servers[0])->id - 1, 2);
		leave_all(&f);
		pick_fixture_finish(&f);
	}
}

static void newcomer_does_not_go_before_those_who_wait_for_the_server(void **state)
{
	(void)state;
	for (size_t a = 0; a < ARRAY_LEN(passing_over); a++) {
		struct pick_fixture f;

		pick_fixture_init(&f, (unsigned[]){1, 1}, 2, passing_over[a]);
		f.c.servers[0].maxconn = 5;
		f.c.servers[1].maxconn = 5;
		pick_fixture_start(&f);
		atomic_store(&f.b->servers[0]->queued, 1);
		for (int i = 0; i < 5; i++)
			assert_int_equal(pick_keep(&f.p[0], 0, NULL)->id - 1, 1);
		assert_null(pick_keep(&f.p[0], 0, NULL));
		atomic_store(&f.b->servers[0]->queued, 0);
		assert_int_equal(pick_keep(&f.p[0], 0, NULL)->id - 1, 0);
		leave_all(&f);
		pick_fixture_finish(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leastconn_never_chooses_a_busier_one),
		cmocka_unit_test(leastconn_lets_equals_take_turns),
		cmocka_unit_test(leastconn_keeps_occupancy_equal_under_unequal_service_times),
		cmocka_unit_test(leastconn_occupancy_goes_by_weight),
		cmocka_unit_test(random_shares_go_by_weight),
		cmocka_unit_test(two_draws_are_better_than_one),
		cmocka_unit_test(draws_are_of_different_servers),
		cmocka_unit_test(random_finds_the_last_free_place),
		cmocka_unit_test(random_avoids),
		cmocka_unit_test(first_fills_in_order),
		cmocka_unit_test(full_only_when_every_server_is),
		cmocka_unit_test(newcomer_does_not_go_before_those_who_wait_for_the_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

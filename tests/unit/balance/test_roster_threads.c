/* SPDX-License-Identifier: MIT
 *
 * test_roster_threads.c - workers choose, enter and leave while control changes servers.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "balance/server_change.h"
#include "pick_fixture.h"

#define REFRESHES 10000
#define ROUNDS 50000
#define LIMIT 3

struct shared {
	struct pick_fixture f;
	atomic_int holders[TEST_SERVERS_MAX]; /* counted apart from the servers' own count */
	atomic_int most;
	atomic_bool stop;
	atomic_int next_worker;
	_Atomic uint64_t round; /* of retirement, and which one each worker has passed */
	_Atomic uint64_t passed[TEST_PICKERS];
	_Atomic uint64_t picks;
};

/* ---- rosters are freed while workers choose ---- */

static void begin_round(void *arg, uint64_t round)
{
	struct shared *sh = arg;

	atomic_store(&sh->round, round);
}

static bool is_round_over(void *arg, uint64_t round)
{
	struct shared *sh = arg;

	for (int i = 0; i < TEST_PICKERS; i++)
		if (atomic_load(&sh->passed[i]) < round)
			return false;
	return true;
}

static void use_rounds(struct shared *sh)
{
	struct retire_rounds *r = &sh->f.b->live->retire.rounds;

	r->begin = begin_round;
	r->is_over = is_round_over;
	r->arg = sh;
}

/* ---- workers ---- */

static void hold(struct shared *sh, const struct server *s)
{
	const int now = atomic_fetch_add(&sh->holders[s->id - 1], 1) + 1;
	int most = atomic_load(&sh->most);

	while (now > most && !atomic_compare_exchange_weak(&sh->most, &most, now))
		;
}

static void choose_once(struct shared *sh, struct picker *p, uint64_t n)
{
	struct server *s = pick_keep(p, key_of_client(n), NULL);

	if (s == NULL)
		return;
	hold(sh, s);
	atomic_fetch_add(&sh->picks, 1);
	if (n % 16 == 0)
		(void)sched_yield();
	atomic_fetch_sub(&sh->holders[s->id - 1], 1);
	server_leave(s);
}

static void *choose_until_told(void *arg)
{
	struct shared *sh = arg;
	const int i = atomic_fetch_add(&sh->next_worker, 1);

	for (uint64_t n = 0; !atomic_load(&sh->stop); n++) {
		const uint64_t round = atomic_load(&sh->round);

		choose_once(sh, &sh->f.p[i], n);
		atomic_store(&sh->passed[i], round);
	}
	return NULL;
}

static void *choose_many(void *arg)
{
	struct shared *sh = arg;
	struct picker *p = &sh->f.p[atomic_fetch_add(&sh->next_worker, 1)];

	for (uint64_t n = 0; n < ROUNDS; n++)
		choose_once(sh, p, n);
	return NULL;
}

static void start_workers(struct shared *sh, pthread_t *workers, void *(*run)(void *arg))
{
	for (int i = 0; i < TEST_PICKERS; i++)
		assert_int_equal(pthread_create(&workers[i], NULL, run, sh), 0);
}

/* Until each of them is at it, as far as that can be told. */
static void wait_for_picks(struct shared *sh)
{
	while (atomic_load(&sh->next_worker) < TEST_PICKERS || atomic_load(&sh->picks) < 1000)
		(void)sched_yield();
}

static void join_workers(pthread_t *workers)
{
	for (int i = 0; i < TEST_PICKERS; i++)
		assert_int_equal(pthread_join(workers[i], NULL), 0);
}

static const enum config_balance algorithms[] = {
	CONFIG_BALANCE_ROUNDROBIN, CONFIG_BALANCE_LEASTCONN, CONFIG_BALANCE_RANDOM,
	CONFIG_BALANCE_FIRST,	   CONFIG_BALANCE_SOURCE,
};

static void limit_is_never_passed_and_all_is_zero_at_the_end(void **state)
{
	static struct shared sh;

	(void)state;
	for (size_t a = 0; a < ARRAY_LEN(algorithms); a++) {
		pthread_t workers[TEST_PICKERS];

		memset(&sh, 0, sizeof(sh));
		pick_fixture_init(&sh.f, (unsigned[]){1, 1}, 2, algorithms[a]);
		sh.f.c.servers[0].maxconn = 1;
		sh.f.c.servers[1].maxconn = 1;
		pick_fixture_start(&sh.f);
		start_workers(&sh, workers, choose_many);
		join_workers(workers);
		assert_int_equal(atomic_load(&sh.most), 1);
		assert_true(atomic_load(&sh.picks) > 0);
		pick_fixture_finish(&sh.f); /* proves the zero */
	}
}

/* The limit comes and goes while they are at it. */
static void limit_may_be_set_while_running(void **state)
{
	static struct shared sh;
	pthread_t workers[TEST_PICKERS];

	(void)state;
	pick_fixture_init(&sh.f, (unsigned[]){1, 2, 3}, 3, CONFIG_BALANCE_ROUNDROBIN);
	pick_fixture_start(&sh.f);
	assert_false(atomic_load(&sh.f.b->limited));
	start_workers(&sh, workers, choose_until_told);
	wait_for_picks(&sh);
	for (unsigned i = 0; i < REFRESHES; i++)
		assert_int_equal(server_set_maxconn(sh.f.b->servers[i % 3], i / 3 % 2 == 0 ? LIMIT : 0,
						    "by test", 1), 0);
	atomic_store(&sh.stop, true);
	join_workers(workers);
	assert_true(atomic_load(&sh.f.b->limited));
	pick_fixture_finish(&sh.f);
}

static void rosters_are_renewed_under_the_workers(void **state)
{
	static struct shared sh;

	(void)state;
	for (size_t a = 0; a < ARRAY_LEN(algorithms); a++) {
		pthread_t workers[TEST_PICKERS];

		memset(&sh, 0, sizeof(sh));
		pick_fixture_init(&sh.f, (unsigned[]){1, 2, 3, 4}, 4, algorithms[a]);
		sh.f.c.backend.balance.hash = CONFIG_HASH_CONSISTENT;
		sh.f.c.backend.balance.hash_key = CONFIG_HASH_KEY_ADDRESS;
		pick_fixture_start(&sh.f);
		use_rounds(&sh);
		start_workers(&sh, workers, choose_until_told);
		wait_for_picks(&sh);
		for (unsigned i = 0; i < REFRESHES; i++) {
			struct server *s = sh.f.b->servers[i % 4];

			if (i % 3 == 0)
				assert_int_equal(server_set_weight(s, 1 + i % 5, "by test", i + 1), 0);
			else
				assert_int_equal(server_set_health(s, i / 4 % 2 == 0, "", i + 1), 0);
			assert_int_equal(backend_refresh(sh.f.b), 0);
			retire_go_on(&sh.f.b->live->retire);
		}
		/* All are freed while the workers choose. */
		while (retire_count(&sh.f.b->live->retire) > 0) {
			retire_go_on(&sh.f.b->live->retire);
			(void)sched_yield();
		}
		atomic_store(&sh.stop, true);
		join_workers(workers);
		assert_true(backend_roster(sh.f.b)->number > REFRESHES);
		pick_fixture_finish(&sh.f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limit_is_never_passed_and_all_is_zero_at_the_end),
		cmocka_unit_test(limit_may_be_set_while_running),
		cmocka_unit_test(rosters_are_renewed_under_the_workers),
	};

	log_set_level((enum log_level)0); /* thousands of changes are no news */
	return cmocka_run_group_tests(tests, NULL, NULL);
}

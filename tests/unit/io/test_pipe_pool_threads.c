/* SPDX-License-Identifier: MIT
 *
 * test_pipe_pool_threads.c - the pipe pool under many workers at once: each pipe has one owner, the
 * limits hold exactly, nothing is left. Worth most under the thread sanitizer.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fake_pipes.h"

#define WORKERS 4
#define HELD_MAX 40
#define ROUNDS 2000
#define TAKEN_MAX 30000
#define KIB 1024u

struct shared {
	struct pipe_pool pool;
	pthread_barrier_t barrier;
	atomic_int stop;
	atomic_int owner[FAKE_FDS]; /* by read end: the worker that has it, 0 = at rest */
};

struct worker {
	_Alignas(64) struct pipe_cache cache;
	struct shared *shared;
	int id;
	uint32_t random;
	uint64_t got;
	struct pipe *taken[TAKEN_MAX];
};

static struct shared shared;
static struct worker workers[WORKERS];

static void prepare(uint32_t max, uint64_t budget_bytes)
{
	fake_reset();
	memset(&shared, 0, sizeof(shared));
	pipe_pool_init(&shared.pool, max, 256 * KIB, budget_bytes);
	assert_int_equal(pthread_barrier_init(&shared.barrier, NULL, WORKERS), 0);
	for (int i = 0; i < WORKERS; i++) {
		memset(&workers[i], 0, sizeof(workers[i]));
		pipe_cache_init(&workers[i].cache, &shared.pool, 20);
		workers[i].shared = &shared;
		workers[i].id = i + 1;
		workers[i].random = (uint32_t)i * 7919u + 1;
	}
}

static void run(void *(*body)(void *))
{
	pthread_t threads[WORKERS];

	for (int i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, body, &workers[i]), 0);
	for (int i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void finish(void)
{
	for (int i = 0; i < WORKERS; i++)
		pipe_cache_free(&workers[i].cache);
	pipe_pool_free(&shared.pool);
	assert_int_equal(pthread_barrier_destroy(&shared.barrier), 0);
	assert_int_equal(atomic_load(&fake.open), 0);
	assert_int_equal(shared.pool.created, shared.pool.closed);
}

static uint32_t next_random(struct worker *w)
{
	w->random = w->random * 1103515245u + 12345u;
	return w->random >> 16;
}

/* ---- everything at once ---- */

/* All begin together and keep what they get: `max` must come out to the last one. */
static void *take_all(void *arg)
{
	struct worker *w = arg;

	(void)pthread_barrier_wait(&w->shared->barrier);
	while (w->got < TAKEN_MAX && (w->taken[w->got] = pipe_get(&w->cache)) != NULL)
		w->got++;
	return NULL;
}

static void *churn(void *arg)
{
	struct worker *w = arg;
	struct pipe *held[HELD_MAX];
	uint32_t n = 0;

	for (int round = 0; round < ROUNDS; round++) {
		const uint32_t want = next_random(w) % HELD_MAX;

		while (n < want) {
			struct pipe *p = pipe_get(&w->cache);

			if (p == NULL)
				break;
			check(p->bytes == 0);
			/* Whoever else has it now would have left its mark. */
			check(atomic_exchange(&w->shared->owner[p->rd - FAKE_FD_FIRST], w->id) == 0);
			held[n++] = p;
			w->got++;
		}
		while (n > want) {
			struct pipe *p = held[--n];

			check(atomic_exchange(&w->shared->owner[p->rd - FAKE_FD_FIRST], 0) == w->id);
			p->bytes = next_random(w) % 64 == 0;
			pipe_put(&w->cache, p);
		}
		if (round % 97 == 0)
			(void)pipe_cache_age(&w->cache);
	}
	while (n > 0) {
		check(atomic_exchange(&w->shared->owner[held[--n]->rd - FAKE_FD_FIRST], 0) == w->id);
		pipe_put(&w->cache, held[n]);
	}
	return NULL;
}

static void *age_until_stopped(void *arg)
{
	struct shared *s = arg;

	while (!atomic_load(&s->stop)) {
		(void)pipe_pool_age(&s->pool);
		sched_yield();
	}
	return NULL;
}

static void churn_beside_control(void)
{
	pthread_t control;
	uint64_t got = 0;

	assert_int_equal(pthread_create(&control, NULL, age_until_stopped, &shared), 0);
	run(churn);
	atomic_store(&shared.stop, 1);
	assert_int_equal(pthread_join(control, NULL), 0);
	/* One alone may get nothing for as long as others' caches hold all that may exist. */
	for (int i = 0; i < WORKERS; i++) {
		got += workers[i].got;
		assert_int_equal(workers[i].cache.in_use, 0);
	}
	assert_true(got > ROUNDS);
}

static void each_pipe_has_one_owner_while_workers_and_control_race(void **state)
{
	(void)state;
	prepare(100000, UINT64_MAX);
	churn_beside_control();
	finish();
}

static void limits_hold_exactly_while_workers_race(void **state)
{
	const uint32_t max = WORKERS * HELD_MAX / 4;
	const uint64_t budget = 32 * 64 * KIB;

	(void)state;
	prepare(max, UINT64_MAX);
	churn_beside_control();
	assert_true(shared.pool.refused > 0);
	assert_true(atomic_load(&fake.peak) <= 2 * (int)max);
	finish();
	/* And by bytes: 32 of the smallest size. */
	prepare(100000, budget);
	churn_beside_control();
	assert_true(shared.pool.refused > 0);
	assert_true(atomic_load(&fake.peak) <= 2 * 32);
	finish();
}

static void workers_that_race_for_the_last_pipes_get_max_of_them(void **state)
{
	uint64_t got = 0;

	(void)state;
	prepare(TAKEN_MAX - 1, UINT64_MAX);
	run(take_all);
	for (int i = 0; i < WORKERS; i++) {
		got += workers[i].got;
		while (workers[i].got > 0)
			pipe_put(&workers[i].cache, workers[i].taken[--workers[i].got]);
	}
	assert_int_equal(got, TAKEN_MAX - 1);
	assert_int_equal(shared.pool.refused, WORKERS);
	finish();
}

/* ---- limits that change ---- */

#define MAX_HIGH (WORKERS * HELD_MAX / 2)
#define MAX_LOW 24u

static void *change_limits_until_stopped(void *arg)
{
	struct shared *s = arg;

	for (uint32_t i = 0; !atomic_load(&s->stop); i++) {
		const bool is_short = i % 3 == 0;

		pipe_pool_set_limits(&s->pool, i % 2 == 0 ? MAX_LOW : MAX_HIGH,
				     i % 5 == 0 ? 64 * KIB : 256 * KIB,
				     is_short ? (uint64_t)MAX_LOW * 64 * KIB : UINT64_MAX);
		for (int k = 0; k < WORKERS; k++)
			pipe_cache_set_max(&workers[k].cache, i % 7);
		sched_yield();
	}
	return NULL;
}

static void *take_and_give_back_all(void *arg)
{
	struct worker *w = arg;

	w->got = 0;
	(void)take_all(w);
	while (w->got > 0)
		pipe_put(&w->cache, w->taken[--w->got]);
	return NULL;
}

static void limits_may_change_while_workers_race(void **state)
{
	pthread_t control;

	(void)state;
	prepare(MAX_HIGH, UINT64_MAX);
	assert_int_equal(pthread_create(&control, NULL, change_limits_until_stopped, &shared), 0);
	churn_beside_control(); /* stops that thread, too */
	assert_int_equal(pthread_join(control, NULL), 0);
	assert_true(atomic_load(&fake.peak) <= 2 * (int)MAX_HIGH);
	/* No put misses the last change. */
	pipe_pool_set_limits(&shared.pool, MAX_HIGH, 256 * KIB, UINT64_MAX);
	run(take_and_give_back_all);
	pipe_pool_set_limits(&shared.pool, MAX_LOW, 256 * KIB, UINT64_MAX);
	run(take_and_give_back_all);
	assert_int_equal(atomic_load(&shared.pool.made), atomic_load(&fake.open) / 2);
	assert_true(atomic_load(&shared.pool.made) <= MAX_LOW);
	atomic_store(&fake.peak, 0);
	run(take_and_give_back_all);
	assert_true(atomic_load(&fake.peak) <= 2 * (int)MAX_LOW);
	finish();
}

/* ---- from one worker to the other ---- */

static void *give_to_the_pool(void *arg)
{
	struct worker *w = arg;
	struct pipe *held[HELD_MAX];

	for (uint32_t i = 0; i < HELD_MAX; i++) {
		held[i] = pipe_get(&w->cache);
		check(held[i] != NULL);
	}
	for (uint32_t i = 0; i < HELD_MAX; i++)
		pipe_put(&w->cache, held[i]);
	return NULL;
}

static void *get_what_others_gave(void *arg)
{
	struct worker *w = arg;
	struct pipe *p = pipe_get(&w->cache);

	check(p != NULL);
	pipe_put(&w->cache, p);
	return NULL;
}

static void pipes_put_back_by_one_thread_are_got_by_another_without_pipe2(void **state)
{
	pthread_t thread;
	int made;

	(void)state;
	prepare(1000, UINT64_MAX);
	assert_int_equal(pthread_create(&thread, NULL, give_to_the_pool, &workers[0]), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	made = atomic_load(&fake.pipes);
	assert_int_equal(made, HELD_MAX);
	assert_int_equal(pthread_create(&thread, NULL, get_what_others_gave, &workers[1]), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(atomic_load(&fake.pipes), made);
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_pipe_has_one_owner_while_workers_and_control_race),
		cmocka_unit_test(workers_that_race_for_the_last_pipes_get_max_of_them),
		cmocka_unit_test(limits_hold_exactly_while_workers_race),
		cmocka_unit_test(limits_may_change_while_workers_race),
		cmocka_unit_test(pipes_put_back_by_one_thread_are_got_by_another_without_pipe2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

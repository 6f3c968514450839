/* SPDX-License-Identifier: MIT
 *
 * test_pipe_pool.c - the pipe pool on one thread, over pipes of a table: what is made, what is kept,
 * what is closed and when.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_pipes.h"

#define KIB 1024u
#define BURST_MAX 1000u

struct fixture {
	struct pipe_pool pool;
	_Alignas(64) struct pipe_cache a;
	_Alignas(64) struct pipe_cache b;
	struct pipe *held[BURST_MAX];
};

/* 1,000 pipes of 256 KiB, no budget, 64 in a cache. */
static int setup(void **state)
{
	struct fixture *f = aligned_alloc(_Alignof(struct fixture), sizeof(*f));

	assert_non_null(f);
	fake_reset();
	pipe_pool_init(&f->pool, BURST_MAX, 256 * KIB, UINT64_MAX);
	fake.unlocked = &f->pool;
	pipe_cache_init(&f->a, &f->pool, 64);
	pipe_cache_init(&f->b, &f->pool, 64);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	pipe_cache_free(&f->a);
	pipe_cache_free(&f->b);
	pipe_pool_free(&f->pool);
	assert_int_equal(atomic_load(&fake.open), 0);
	assert_int_equal(f->pool.created, f->pool.closed);
	free(f);
	return 0;
}

static void new_limits(struct fixture *f, uint32_t max, uint32_t want_bytes, uint64_t budget_bytes)
{
	pipe_pool_init(&f->pool, max, want_bytes, budget_bytes);
}

/* Takes up to `n`, or what there is; returns how many. */
static uint32_t take(struct fixture *f, struct pipe_cache *c, uint32_t n)
{
	uint32_t got = 0;

	while (got < n && (f->held[got] = pipe_get(c)) != NULL)
		got++;
	return got;
}

static void give_back(struct fixture *f, struct pipe_cache *c, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		pipe_put(c, f->held[i]);
}

static void burst(struct fixture *f, uint32_t n)
{
	assert_int_equal(take(f, &f->a, n), n);
	give_back(f, &f->a, n);
}

static void age_all(struct fixture *f)
{
	(void)pipe_cache_age(&f->a);
	(void)pipe_cache_age(&f->b);
	(void)pipe_pool_age(&f->pool);
}

static void pipe_that_was_put_back_is_got_again_without_pipe2(void **state)
{
	struct fixture *f = *state;
	struct pipe *first = pipe_get(&f->a);

	assert_non_null(first);
	assert_int_equal(first->bytes, 0);
	assert_int_equal(first->cap, 256 * KIB);
	assert_int_equal(f->a.in_use, 1);
	pipe_put(&f->a, first);
	assert_int_equal(f->a.in_use, 0);
	assert_ptr_equal(pipe_get(&f->a), first);
	assert_int_equal(atomic_load(&fake.pipes), 1);
	pipe_put(&f->a, first);
}

static void pipe_with_bytes_inside_is_closed_never_pooled(void **state)
{
	struct fixture *f = *state;
	struct pipe *p = pipe_get(&f->a);

	p->bytes = 1;
	pipe_put(&f->a, p);
	assert_int_equal(f->a.killed, 1);
	assert_int_equal(f->a.in_use, 0);
	assert_int_equal(atomic_load(&fake.open), 0);
	assert_int_equal(atomic_load(&f->pool.made), 0);
	assert_int_equal(atomic_load(&f->pool.bytes), 0);
}

static void pipe_put_back_twice_ends_the_process(void **state)
{
	struct fixture *f = *state;
	const struct rlimit no_core = {0, 0};
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct pipe *p = pipe_get(&f->a);
		struct pipe *other = pipe_get(&f->a);

		(void)setrlimit(RLIMIT_CORE, &no_core);
		(void)signal(SIGABRT, SIG_DFL);
		close(STDERR_FILENO);
		check(other != NULL);
		pipe_put(&f->a, p);
		pipe_put(&f->a, p);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

static void full_cache_spills_batches_that_another_cache_gets_without_pipe2(void **state)
{
	struct fixture *f = *state;

	burst(f, 200);
	assert_in_range(f->a.list.count, 64 - PIPE_BATCH, 64);
	assert_int_equal(f->a.list.count + pipe_pool_idle(&f->pool), 200);
	assert_int_equal(take(f, &f->b, 100), 100);
	assert_int_equal(atomic_load(&fake.pipes), 200);
	give_back(f, &f->b, 100);
}

static void cache_refills_a_whole_batch_at_once(void **state)
{
	struct fixture *f = *state;

	burst(f, 200);
	(void)take(f, &f->b, 1);
	assert_int_equal(f->b.list.count, PIPE_BATCH - 1);
	give_back(f, &f->b, 1);
}

static void cache_without_room_of_its_own_gives_everything_to_the_pool(void **state)
{
	struct fixture *f = *state;

	f->a.local_max = 0;
	burst(f, 10);
	assert_int_equal(f->a.list.count, 0);
	assert_int_equal(pipe_pool_idle(&f->pool), 10);
	burst(f, 10);
	assert_int_equal(atomic_load(&fake.pipes), 10);
}

static void second_burst_one_cycle_after_the_first_makes_no_pipe(void **state)
{
	struct fixture *f = *state;

	burst(f, BURST_MAX);
	age_all(f);
	assert_int_equal(atomic_load(&fake.open), 2 * BURST_MAX);
	burst(f, BURST_MAX);
	assert_int_equal(atomic_load(&fake.pipes), BURST_MAX);
}

static void after_two_idle_cycles_no_pipe_is_left(void **state)
{
	struct fixture *f = *state;

	burst(f, BURST_MAX);
	assert_true(pipe_cache_age(&f->a));
	assert_true(pipe_pool_age(&f->pool));
	assert_false(pipe_cache_age(&f->a));
	assert_false(pipe_pool_age(&f->pool));
	assert_int_equal(atomic_load(&fake.open), 0);
	assert_int_equal(atomic_load(&f->pool.made), 0);
	assert_int_equal(atomic_load(&f->pool.bytes), 0);
	assert_int_equal(pipe_pool_idle(&f->pool), 0);
}

static void what_is_used_in_each_cycle_stays_and_only_the_rest_is_closed(void **state)
{
	struct fixture *f = *state;

	burst(f, 20);
	for (int cycle = 0; cycle < 5; cycle++) {
		age_all(f);
		burst(f, 3);
	}
	assert_int_equal(atomic_load(&fake.open), 2 * 3);
	assert_int_equal(atomic_load(&fake.pipes), 20);
}

static void victim_that_is_taken_is_not_closed(void **state)
{
	struct fixture *f = *state;

	burst(f, 2);
	age_all(f); /* both are victims now */
	(void)take(f, &f->a, 1);
	age_all(f); /* the other one ends here */
	assert_int_equal(atomic_load(&fake.open), 2);
	give_back(f, &f->a, 1);
	age_all(f); /* it came back in this cycle */
	assert_int_equal(atomic_load(&fake.open), 2);
	age_all(f);
	assert_int_equal(atomic_load(&fake.open), 0);
}

static void pipes_in_use_are_not_aged(void **state)
{
	struct fixture *f = *state;

	(void)take(f, &f->a, 5);
	for (int cycle = 0; cycle < 4; cycle++)
		age_all(f);
	assert_int_equal(atomic_load(&fake.open), 10);
	give_back(f, &f->a, 5);
}

static void not_one_pipe_more_than_max_is_made(void **state)
{
	struct fixture *f = *state;

	new_limits(f, 7, 64 * KIB, UINT64_MAX);
	assert_int_equal(take(f, &f->a, 10), 7);
	assert_null(pipe_get(&f->b));
	assert_int_equal(f->pool.refused, 2);
	give_back(f, &f->a, 7);
}

static void a_lower_max_keeps_new_pipes_out_and_closes_those_that_come_back(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(take(f, &f->a, 20), 20);
	pipe_pool_set_limits(&f->pool, 8, 256 * KIB, UINT64_MAX);
	assert_int_equal(atomic_load(&f->pool.made), 20); /* flows keep what they have */
	assert_null(pipe_get(&f->b));
	for (uint32_t i = 0; i < 12; i++) {
		pipe_put(&f->a, f->held[i]);
		assert_int_equal(atomic_load(&f->pool.made), 19 - i);
		assert_null(pipe_get(&f->a));
	}
	assert_int_equal(f->a.killed, 0); /* none of them was returned with bytes in it */
	for (uint32_t i = 12; i < 20; i++)
		pipe_put(&f->a, f->held[i]);
	assert_int_equal(f->a.list.count, 8); /* the limit is met: pipes are pooled again */
	assert_int_equal(take(f, &f->a, 20), 8);
	pipe_pool_set_limits(&f->pool, 9, 256 * KIB, UINT64_MAX);
	f->held[8] = pipe_get(&f->a);
	assert_non_null(f->held[8]);
	assert_null(pipe_get(&f->a));
	give_back(f, &f->a, 9);
}

static void a_lower_budget_shrinks_pipes_that_come_back_before_it_closes_any(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(take(f, &f->a, 8), 8);
	pipe_pool_set_limits(&f->pool, BURST_MAX, 256 * KIB, 512 * KIB);
	assert_null(pipe_get(&f->b));
	give_back(f, &f->a, 8);
	assert_true(f->pool.bytes <= 512 * KIB);
	assert_int_equal(take(f, &f->a, 20), 8); /* of 64 KiB each */
	assert_int_equal(f->pool.bytes, 512 * KIB);
	pipe_pool_set_limits(&f->pool, BURST_MAX, 256 * KIB, UINT64_MAX);
	f->held[8] = pipe_get(&f->a);
	assert_int_equal(f->held[8]->cap, 256 * KIB);
	give_back(f, &f->a, 9);
}

static void a_new_size_applies_to_new_pipes_and_to_those_that_come_back_larger(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(take(f, &f->a, 1), 1);
	pipe_pool_set_limits(&f->pool, BURST_MAX, 64 * KIB, UINT64_MAX);
	assert_int_equal(f->held[0]->cap, 256 * KIB);
	give_back(f, &f->a, 1);
	assert_int_equal(take(f, &f->a, 2), 2);
	for (int i = 0; i < 2; i++)
		assert_int_equal(f->held[i]->cap, 64 * KIB);
	give_back(f, &f->a, 2);
	pipe_pool_set_limits(&f->pool, BURST_MAX, 1024 * KIB, UINT64_MAX);
	assert_int_equal(take(f, &f->a, 3), 3);
	assert_int_equal(f->held[1]->cap, 64 * KIB); /* an old one never grows */
	assert_int_equal(f->held[2]->cap, 1024 * KIB);
	give_back(f, &f->a, 3);
}

static void a_cache_above_its_new_maximum_spills_with_the_next_pipes(void **state)
{
	struct fixture *f = *state;

	burst(f, 64);
	assert_int_equal(f->a.list.count, 64);
	pipe_cache_set_max(&f->a, 4);
	for (int i = 0; i < 5; i++)
		burst(f, 1);
	assert_true(f->a.list.count <= 4);
	assert_int_equal(f->a.list.count + pipe_pool_idle(&f->pool), 64);
}

static void pool_of_no_pipes_refuses_without_a_system_call(void **state)
{
	struct fixture *f = *state;

	new_limits(f, 0, 64 * KIB, UINT64_MAX);
	assert_null(pipe_get(&f->a));
	assert_int_equal(atomic_load(&fake.pipes), 0);
	assert_int_equal(f->pool.refused, 1);
}

static void pipes_get_smaller_as_the_budget_fills_and_never_pass_it(void **state)
{
	static const uint32_t want_kib[] = {256, 256, 256, 128, 64, 64};
	struct fixture *f = *state;
	const uint32_t n = ARRAY_LEN(want_kib);

	new_limits(f, 100, 256 * KIB, 1024 * KIB);
	assert_int_equal(take(f, &f->a, 100), n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(f->held[i]->cap, want_kib[i] * KIB);
	assert_int_equal(f->pool.bytes, 1024 * KIB);
	assert_int_equal(f->pool.refused, 1);
	give_back(f, &f->a, n);
}

static void large_pipes_that_come_back_to_a_short_budget_make_room_for_more(void **state)
{
	struct fixture *f = *state;
	uint32_t n;

	new_limits(f, 100, 256 * KIB, 1024 * KIB);
	n = take(f, &f->a, 100);
	/* As flows do it: one comes back, whoever asks next finds room. */
	for (int i = 0; i < 100; i++) {
		struct pipe *p = f->held[0];

		memmove(&f->held[0], &f->held[1], (n - 1) * sizeof(p));
		pipe_put(&f->a, p);
		for (n--; (p = pipe_get(&f->a)) != NULL; n++)
			f->held[n] = p;
		assert_true(f->pool.bytes <= 1024 * KIB);
	}
	assert_int_equal(n, 16); /* all of 64 KiB: the most that the budget allows */
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(fake.bytes[f->held[i]->rd - FAKE_FD_FIRST], 64 * KIB);
	give_back(f, &f->a, n);
}

static void unlimited_budget_never_makes_a_pipe_smaller(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(take(f, &f->a, BURST_MAX), BURST_MAX);
	for (uint32_t i = 0; i < BURST_MAX; i++)
		assert_int_equal(f->held[i]->cap, 256 * KIB);
	atomic_store(&fake.sizes, 0);
	give_back(f, &f->a, BURST_MAX);
	assert_int_equal(atomic_load(&fake.sizes), 0);
}

static void pipe_with_too_few_slots_is_closed_counted_and_refused(void **state)
{
	struct fixture *f = *state;

	fake.birth_bytes = 8192;
	fake.set_err = EPERM;
	assert_null(pipe_get(&f->a));
	assert_int_equal(f->pool.too_small, 1);
	assert_int_equal(f->pool.refused, 1);
	assert_int_equal(f->a.in_use, 0);
	assert_int_equal(atomic_load(&fake.open), 0);
	assert_int_equal(atomic_load(&f->pool.made), 0);
	assert_int_equal(atomic_load(&f->pool.bytes), 0);
}

static void a_pipe_has_16_slots_at_least_whatever_a_page_is(void **state)
{
	struct fixture *f = *state;
	struct pipe *p;

	fake.page_bytes = 65536;
	fake.birth_bytes = 16 * 65536;
	new_limits(f, 100, 64 * KIB, 3072 * KIB); /* raised to 16 slots */
	p = pipe_get(&f->a);
	assert_non_null(p);
	assert_int_equal(p->cap, 1024 * KIB);
	assert_int_equal(f->pool.bytes, 1024 * KIB);
	pipe_put(&f->a, p);
	assert_int_equal(take(f, &f->a, 100), 3);
	give_back(f, &f->a, 3);
}

static void a_pipe_of_8_slots_is_closed_however_large_its_pages_are(void **state)
{
	struct fixture *f = *state;

	fake.page_bytes = 65536;
	fake.birth_bytes = 8 * 65536;
	fake.set_err = EPERM;
	new_limits(f, 100, 512 * KIB, UINT64_MAX);
	assert_null(pipe_get(&f->a));
	assert_int_equal(f->pool.too_small, 1);
}

static void pipe_that_may_not_grow_is_used_at_its_real_size(void **state)
{
	struct fixture *f = *state;
	struct pipe *p;

	fake.set_err = EPERM;
	p = pipe_get(&f->a);
	assert_non_null(p);
	assert_int_equal(p->cap, 64 * KIB);
	assert_int_equal(f->pool.bytes, 64 * KIB);
	pipe_put(&f->a, p);
}

static void failing_pipe2_is_a_refusal_that_leaves_no_trace(void **state)
{
	struct fixture *f = *state;
	struct pipe *p;

	fake.pipe_err = EMFILE;
	assert_null(pipe_get(&f->a));
	assert_int_equal(f->pool.refused, 1);
	assert_int_equal(atomic_load(&f->pool.made), 0);
	assert_int_equal(atomic_load(&f->pool.bytes), 0);
	fake.pipe_err = 0;
	p = pipe_get(&f->a);
	assert_non_null(p);
	pipe_put(&f->a, p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pipe_that_was_put_back_is_got_again_without_pipe2),
		TEST(pipe_with_bytes_inside_is_closed_never_pooled),
		TEST(pipe_put_back_twice_ends_the_process),
		TEST(full_cache_spills_batches_that_another_cache_gets_without_pipe2),
		TEST(cache_refills_a_whole_batch_at_once),
		TEST(cache_without_room_of_its_own_gives_everything_to_the_pool),
		TEST(second_burst_one_cycle_after_the_first_makes_no_pipe),
		TEST(after_two_idle_cycles_no_pipe_is_left),
		TEST(what_is_used_in_each_cycle_stays_and_only_the_rest_is_closed),
		TEST(victim_that_is_taken_is_not_closed),
		TEST(pipes_in_use_are_not_aged),
		TEST(not_one_pipe_more_than_max_is_made),
		TEST(a_lower_max_keeps_new_pipes_out_and_closes_those_that_come_back),
		TEST(a_lower_budget_shrinks_pipes_that_come_back_before_it_closes_any),
		TEST(a_new_size_applies_to_new_pipes_and_to_those_that_come_back_larger),
		TEST(a_cache_above_its_new_maximum_spills_with_the_next_pipes),
		TEST(pool_of_no_pipes_refuses_without_a_system_call),
		TEST(pipes_get_smaller_as_the_budget_fills_and_never_pass_it),
		TEST(large_pipes_that_come_back_to_a_short_budget_make_room_for_more),
		TEST(unlimited_budget_never_makes_a_pipe_smaller),
		TEST(pipe_with_too_few_slots_is_closed_counted_and_refused),
		TEST(a_pipe_has_16_slots_at_least_whatever_a_page_is),
		TEST(a_pipe_of_8_slots_is_closed_however_large_its_pages_are),
		TEST(pipe_that_may_not_grow_is_used_at_its_real_size),
		TEST(failing_pipe2_is_a_refusal_that_leaves_no_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * test_ageing.c - the timer of the pools' global lists is there only while they hold something.
 */
#include <ev.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "control/ageing.h"

static struct pipe_pool pipes;
static struct buf_pool bufs;

/* Lets pipes and buffers rest in the pools' own lists, as a worker's caches spill them. */
static void spill(void)
{
	struct pipe_cache pipe_cache;
	struct pipe *taken[4 * PIPE_BATCH];

	pipe_cache_init(&pipe_cache, &pipes, PIPE_BATCH);
	for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
		taken[i] = pipe_get(&pipe_cache);
		assert_non_null(taken[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(taken); i++)
		pipe_put(&pipe_cache, taken[i]);
	pipe_cache_free(&pipe_cache);
}

static void empty_pools_have_no_timer(void **state)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	struct ageing a;

	(void)state;
	assert_non_null(loop);
	pipe_pool_init(&pipes, 100, 65536, UINT64_MAX);
	buf_pool_init(&bufs, 1 << 20);
	ageing_init(&a, loop, &pipes, &bufs, 5 * NS_PER_MS);
	ageing_wake(&a);
	assert_false(ev_is_active(&a.timer));
	ageing_stop(&a);
	pipe_pool_free(&pipes);
	buf_pool_free(&bufs);
	ev_loop_destroy(loop);
}

static void resting_pipes_age_away_and_the_timer_with_them(void **state)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	struct ageing a;

	(void)state;
	assert_non_null(loop);
	pipe_pool_init(&pipes, 100, 65536, UINT64_MAX);
	buf_pool_init(&bufs, 1 << 20);
	ageing_init(&a, loop, &pipes, &bufs, 5 * NS_PER_MS);
	spill();
	assert_true(pipe_pool_idle(&pipes) > 0);
	ageing_wake(&a);
	assert_true(ev_is_active(&a.timer));
	(void)ev_run(loop, 0); /* comes back when no watcher is left */
	assert_int_equal(pipe_pool_idle(&pipes), 0);
	assert_int_equal(atomic_load(&pipes.made), 0);
	pipe_pool_free(&pipes);
	buf_pool_free(&bufs);
	ev_loop_destroy(loop);
}

static void no_cycle_is_no_ageing_until_control_sets_one(void **state)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	struct ageing a;

	(void)state;
	assert_non_null(loop);
	pipe_pool_init(&pipes, 100, 65536, UINT64_MAX);
	buf_pool_init(&bufs, 1 << 20);
	ageing_init(&a, loop, &pipes, &bufs, 0);
	spill();
	ageing_wake(&a);
	assert_false(ev_is_active(&a.timer));
	ageing_set_cycle(&a, 5 * NS_PER_MS);
	assert_true(ev_is_active(&a.timer));
	ageing_set_cycle(&a, 0);
	assert_false(ev_is_active(&a.timer));
	ageing_set_cycle(&a, 5 * NS_PER_MS);
	(void)ev_run(loop, 0); /* comes back when no watcher is left */
	assert_int_equal(pipe_pool_idle(&pipes), 0);
	pipe_pool_free(&pipes);
	buf_pool_free(&bufs);
	ev_loop_destroy(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_pools_have_no_timer),
		cmocka_unit_test(resting_pipes_age_away_and_the_timer_with_them),
		cmocka_unit_test(no_cycle_is_no_ageing_until_control_sets_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * test_turn_watch.c - turns are measured from the beginning of a reload until some time after its end.
 */
#include <ev.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "control/turn_watch.h"
#include "engine/worker.h"

static struct engine engine; /* has no worker */
static struct ev_loop *loop;
static struct turn_watch watch;

static int setup(void **state)
{
	(void)state;
	loop = ev_loop_new(EVFLAG_AUTO);
	if (loop == NULL)
		return -1;
	memset(&engine, 0, sizeof(engine));
	memset(&watch, 0, sizeof(watch));
	turn_watch_init(&watch, loop, &engine);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	turn_watch_stop(&watch);
	turn_watch_stop(&watch); /* harmless */
	assert_int_equal(atomic_load(&engine.turn_watch), 0);
	assert_int_equal(ev_run(loop, EVRUN_NOWAIT), 0); /* nothing is waited for */
	ev_loop_destroy(loop);
	return 0;
}

static bool is_measured(void)
{
	return atomic_load(&engine.turn_watch) != 0;
}

/* The time after the end has passed. */
static void pass_time(void)
{
	assert_true(ev_is_active(&watch.timer));
	ev_timer_stop(loop, &watch.timer);
	ev_feed_event(loop, &watch.timer, EV_TIMER);
	(void)ev_run(loop, EVRUN_NOWAIT);
}

static void turns_are_measured_until_some_time_after_the_end(void **state)
{
	(void)state;
	assert_false(is_measured());
	turn_watch_begin(&watch);
	assert_true(is_measured());
	assert_false(ev_is_active(&watch.timer));
	turn_watch_end(&watch);
	assert_true(is_measured());
	pass_time();
	assert_false(is_measured());
}

static void a_reload_soon_after_another_is_measured_by_itself(void **state)
{
	uint32_t first;

	(void)state;
	turn_watch_begin(&watch);
	first = atomic_load(&engine.turn_watch);
	turn_watch_end(&watch);
	turn_watch_begin(&watch);
	assert_true(is_measured());
	assert_int_not_equal(atomic_load(&engine.turn_watch), first);
	assert_false(ev_is_active(&watch.timer)); /* the time of the first one does not end it */
	turn_watch_end(&watch);
	turn_watch_end(&watch); /* one that was late, and refused */
	pass_time();
	assert_false(is_measured());
}

static void put_figure(void *to, const struct figure *row, uint64_t value)
{
	assert_string_equal(row->name, "longest_turn_us");
	*(uint64_t *)to = value;
}

static void the_figure_is_rounded_up_and_0_without_a_reload(void **state)
{
	struct turn_watch none = {.loop = NULL};
	struct worker worker = {.longest_turn_ns = 2001};
	struct worker *workers[] = {&worker};
	uint64_t us = 1;

	(void)state;
	turn_watch_publish(&none, put_figure, &us);
	assert_int_equal(us, 0);
	engine.workers = workers;
	engine.worker_count = 1;
	turn_watch_begin(&watch);
	turn_watch_publish(&watch, put_figure, &us);
	assert_int_equal(us, 0); /* it has not finished a turn since */
	atomic_store(&worker.turn_watch, atomic_load(&engine.turn_watch));
	turn_watch_publish(&watch, put_figure, &us);
	assert_int_equal(us, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(turns_are_measured_until_some_time_after_the_end, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_reload_soon_after_another_is_measured_by_itself, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_figure_is_rounded_up_and_0_without_a_reload, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

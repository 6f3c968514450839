/* SPDX-License-Identifier: MIT
 *
 * test_pulse.c - how busy workers are: CPU time while they run and afterwards, late timers, and how sessions
 * ended.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/clock.h"
#include "weir/engine/pulse.h"
#include "weir/engine/tallies.h"
#include "engine/session.h"
#include "engine/worker.h"
#include "small_engine.h"

static struct small_config config;
static struct engine engine;
static struct worker *w;
static struct worker_pulse pulse;

static void no_news(void *arg)
{
	(void)arg;
}

static int setup(void **state)
{
	(void)state;
	small_config_init(&config);
	small_engine_open(&engine, &config.config, 1, no_news);
	small_engine_stand_in(&engine);
	w = small_engine_worker(&engine, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	engine_free(&engine);
	return 0;
}

static void nothing_happens(struct timer *t)
{
	(void)t;
}

/* The timer was due that long ago when the turn looks. */
static void turn_with_late_timer(int64_t late_ns)
{
	struct timer t;

	timer_init(&t, nothing_happens);
	assert_int_equal(timer_set(&w->loop.timers, &t, clock_mono_ns() - late_ns), 0);
	worker_turn(w);
	assert_false(timer_is_set(&t));
}

static void a_late_timer_is_noted(void **state)
{
	(void)state;
	turn_with_late_timer(50 * NS_PER_MS);
	turn_with_late_timer(20 * NS_PER_MS);
	engine_pulse(&engine, 0, &pulse);
	assert_int_equal(pulse.timer_runs, 2);
	assert_true(pulse.timer_lag_ns >= 70u * (uint64_t)NS_PER_MS);
	assert_true(pulse.timer_lag_max_ns >= 50u * (uint64_t)NS_PER_MS);
	assert_true(pulse.timer_lag_max_ns < pulse.timer_lag_ns);
	assert_int_equal(pulse.turns, 2);
	mailbox_signal(&w->mailbox, MAIL_MAXIMA);
	worker_turn(w);
	engine_pulse(&engine, 0, &pulse);
	assert_int_equal(pulse.timer_lag_max_ns, 0);
	assert_int_equal(pulse.timer_runs, 2);
}

static uint64_t busy_ns(void)
{
	engine_pulse(&engine, 0, &pulse);
	return pulse.busy_ns;
}

static void cpu_time_grows_and_outlives_the_thread(void **state)
{
	const int64_t until_ns = clock_mono_ns() + 20 * NS_PER_SEC;
	uint64_t last_ns;

	(void)state;
	assert_int_equal(busy_ns(), 0);
	assert_int_equal(worker_spawn(w), 0);
	while (busy_ns() == 0)
		assert_true(clock_mono_ns() < until_ns);
	last_ns = pulse.busy_ns;
	while (busy_ns() <= last_ns) {
		mailbox_signal(&w->mailbox, MAIL_PING);
		assert_true(clock_mono_ns() < until_ns);
	}
	last_ns = pulse.busy_ns;
	engine_stop(&engine);
	while (atomic_load(&engine.workers_done) == 0) {
		assert_true(busy_ns() >= last_ns);
		last_ns = pulse.busy_ns;
		assert_true(clock_mono_ns() < until_ns);
	}
	engine_join(&engine);
	assert_true(busy_ns() > 0);
}

static void ends_are_counted_by_reason(void **state)
{
	struct session s;

	(void)state;
	memset(&s, 0, sizeof(s));
	session_comes_in(&s, w, first_endpoint(&engine));
	tally_session_began(&s);
	s.reason = CLOSE_CLIENT_RESET;
	s.limited_by = LIMITED_NETWORK;
	tally_session_ended(&s);
	session_goes_away(&s);
	tally_turned_away(w, first_frontend(&engine), CLOSE_DENIED);
	for (int i = 0; i < CLOSE_REASONS; i++)
		assert_int_equal(engine_closes(&engine, (enum close_reason)i),
				 i == CLOSE_CLIENT_RESET || i == CLOSE_DENIED);
	for (int i = 0; i < CLOSE_REASONS; i++) {
		const enum close_reason reason = (enum close_reason)i;

		assert_int_equal(engine_closes_lately(&engine, reason, w->loop.now_ns),
				 engine_closes(&engine, reason));
		assert_int_equal(engine_closes_lately(&engine, reason, w->loop.now_ns + 70 * NS_PER_SEC), 0);
	}
	assert_int_equal(engine_limits_lately(&engine, LIMITED_NETWORK, w->loop.now_ns), 1);
	assert_int_equal(engine_limits_lately(&engine, LIMITED_CLIENT, w->loop.now_ns), 0);
}

static void each_row_has_a_metric_of_its_own(void **state)
{
	const struct pulse_row *row;

	(void)state;
	for (size_t i = 0; (row = pulse_row(i)) != NULL; i++) {
		const size_t len = strlen(row->metric);

		const bool is_total = len > 6 && strcmp(row->metric + len - 6, "_total") == 0;

		assert_int_equal(row->kind == FIGURE_TOTAL, is_total);
		assert_int_equal(strcmp(row->unit, "ns") == 0, strstr(row->metric, "seconds") != NULL);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(row->metric, pulse_row(k)->metric);
	}
}

#define PULSE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PULSE_TEST(a_late_timer_is_noted),
		PULSE_TEST(cpu_time_grows_and_outlives_the_thread),
		PULSE_TEST(ends_are_counted_by_reason),
		PULSE_TEST(each_row_has_a_metric_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

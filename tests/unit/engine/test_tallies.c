/* SPDX-License-Identifier: MIT
 *
 * test_tallies.c - what workers count: rates, times and maxima, of two workers whose clocks the tests turn.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/clock.h"
#include "weir/engine/tallies.h"
#include "engine/extra.h"
#include "engine/session.h"
#include "engine/worker.h"
#include "small_engine.h"

enum { OF_FRONTEND, OF_BACKEND, OF_SERVER, TALLIES };

static struct small_config config;
static struct engine engine;
static struct worker *workers[2];
static struct server *server;
static uint32_t slots[TALLIES];
static struct tally_sum sums[TALLIES];

static void no_news(void *arg)
{
	(void)arg;
}

static void set_clock(int64_t ms)
{
	for (unsigned i = 0; i < 2; i++)
		workers[i]->loop.now_ns = 1000 * NS_PER_SEC + ms * NS_PER_MS;
}

static int setup(void **state)
{
	(void)state;
	small_config_init(&config);
	small_engine_open(&engine, &config.config, 2, no_news);
	small_engine_stand_in(&engine);
	for (unsigned i = 0; i < 2; i++)
		workers[i] = small_engine_worker(&engine, i);
	server = first_server(&engine);
	slots[OF_FRONTEND] = first_frontend(&engine)->slot;
	slots[OF_BACKEND] = engine.backends[0]->slot;
	slots[OF_SERVER] = server->slot;
	set_clock(0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_true(small_engine_is_unused(&engine));
	engine_free(&engine);
	return 0;
}

static struct session begin(unsigned worker)
{
	struct session s;

	memset(&s, 0, sizeof(s));
	session_comes_in(&s, workers[worker], first_endpoint(&engine));
	s.accepted_ns = workers[worker]->loop.now_ns;
	atomic_fetch_add(&first_frontend(&engine)->sessions, 1);
	tally_session_began(&s);
	tally_backend_entered(&s);
	session_goes_to(&s, server);
	tally_server_entered(&s, atomic_fetch_add(&server->sessions, 1) + 1);
	return s;
}

static void end(struct session *s)
{
	tally_session_ended(s);
	atomic_fetch_sub(&first_frontend(&engine)->sessions, 1);
	atomic_fetch_sub(&server->sessions, 1);
	session_goes_away(s);
}

static void begin_many(unsigned worker, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct session s = begin(worker);

		end(&s);
	}
}

/* What both workers have counted, added up. */
static const struct tally_sum *take(unsigned which)
{
	tally_sum_up(&engine, slots[which], workers[0]->loop.now_ns, &sums[which]);
	return &sums[which];
}

static void a_rate_is_of_the_last_second_and_fades(void **state)
{
	(void)state;
	begin_many(0, 60);
	begin_many(1, 40);
	set_clock(500);
	for (unsigned which = 0; which < TALLIES; which++)
		assert_int_equal(take(which)->rate, 100);
	set_clock(1000);
	assert_int_equal(take(OF_SERVER)->rate, 100);
	set_clock(1250);
	begin_many(0, 8);
	assert_int_equal(take(OF_SERVER)->rate, 75 + 8);
	set_clock(2000);
	assert_int_equal(take(OF_SERVER)->rate, 8);
	set_clock(3000);
	assert_int_equal(take(OF_SERVER)->rate, 0);
	assert_int_equal(take(OF_SERVER)->total, 108);
}

/* Each of them left the second at another time, and one of them not at all. */
static void the_most_in_a_second_is_of_all_workers(void **state)
{
	(void)state;
	begin_many(0, 30);
	begin_many(1, 20);
	set_clock(1100);
	begin_many(0, 1);
	set_clock(7000);
	begin_many(1, 2);
	assert_int_equal(take(OF_FRONTEND)->rate_max, 50);
	assert_int_equal(take(OF_BACKEND)->rate_max, 50);
	begin_many(0, 60);
	assert_int_equal(take(OF_BACKEND)->rate_max, 62);
	set_clock(20000);
	begin_many(0, 1);
	begin_many(1, 1);
	assert_int_equal(take(OF_BACKEND)->rate_max, 62);
}

static void connected(unsigned worker, uint64_t wait_ms, uint64_t connect_ms, uint64_t total_ms)
{
	struct session_extra extra = {.wait_ns = wait_ms * (uint64_t)NS_PER_MS};
	struct session s = begin(worker);

	s.connect_us = (uint32_t)(1 + connect_ms * 1000);
	s.accepted_ns -= (int64_t)total_ms * NS_PER_MS;
	if (wait_ms > 0)
		s.extra = &extra;
	end(&s);
}

static void times_are_averages_and_maxima_of_connected_sessions(void **state)
{
	(void)state;
	connected(0, 30, 4, 100);
	connected(1, 0, 2, 50);
	begin_many(0, 10); /* these never were */
	for (unsigned which = OF_BACKEND; which <= OF_SERVER; which++) {
		assert_int_equal(take(which)->samples, 2);
		assert_int_equal(tally_average_us(take(which), TALLY_QUEUE), 15000);
		assert_int_equal(tally_average_us(take(which), TALLY_CONNECT), 3000);
		assert_int_equal(tally_average_us(take(which), TALLY_TOTAL), 75000);
		assert_int_equal(take(which)->times_max_us[TALLY_QUEUE], 30000);
		assert_int_equal(take(which)->times_max_us[TALLY_CONNECT], 4000);
		assert_int_equal(take(which)->times_max_us[TALLY_TOTAL], 100000);
	}
	assert_int_equal(tally_average_us(take(OF_FRONTEND), TALLY_TOTAL), 0);
}

/* After many short ones, few long ones of an hour ago say nothing any more. */
static void an_average_forgets(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 100; i++)
		connected(0, 0, 1000, 1000);
	assert_int_equal(tally_average_us(take(OF_SERVER), TALLY_CONNECT), 1000000);
	for (unsigned i = 0; i < 924; i++)
		connected(0, 0, 1, 1);
	assert_int_equal(take(OF_SERVER)->samples, 1024);
	assert_in_range(tally_average_us(take(OF_SERVER), TALLY_CONNECT), 98000, 99000);
	for (unsigned i = 0; i < 10 * 1024; i++)
		connected(0, 0, 1, 1);
	assert_int_equal(take(OF_SERVER)->samples, 1024);
	assert_in_range(tally_average_us(take(OF_SERVER), TALLY_CONNECT), 990, 1010);
	assert_int_equal(take(OF_SERVER)->times_max_us[TALLY_CONNECT], 1000000);
}

static void a_backend_counts_its_own_sessions(void **state)
{
	struct session one = begin(0), two = begin(1), three = begin(0);
	struct session denied;

	(void)state;
	assert_int_equal(take(OF_BACKEND)->sessions, 3);
	assert_int_equal(take(OF_BACKEND)->sessions_max, 3);
	assert_int_equal(take(OF_SERVER)->sessions_max, 3);
	end(&one);
	end(&two);
	three.reason = CLOSE_NO_RESOURCE;
	end(&three);
	assert_int_equal(take(OF_BACKEND)->sessions, 0);
	assert_int_equal(take(OF_BACKEND)->sessions_max, 3);
	assert_int_equal(take(OF_BACKEND)->total, 3);
	assert_int_equal(take(OF_BACKEND)->internal_errors, 1);
	assert_int_equal(take(OF_SERVER)->internal_errors, 1);
	/* Who was not let in never came to it. */
	memset(&denied, 0, sizeof(denied));
	session_comes_in(&denied, workers[0], first_endpoint(&engine));
	tally_session_began(&denied);
	tally_session_ended(&denied);
	session_goes_away(&denied);
	assert_int_equal(take(OF_BACKEND)->total, 3);
	assert_int_equal(take(OF_FRONTEND)->total, 4);
	assert_int_equal(take(OF_FRONTEND)->sessions, 0);
}

static void bytes_are_counted_when_a_session_ends(void **state)
{
	struct session s = begin(1);

	(void)state;
	s.flows[FLOW_TO_SERVER].bytes_out = 700;
	s.flows[FLOW_TO_CLIENT].bytes_out = 9;
	assert_int_equal(take(OF_SERVER)->bytes_to_server, 0); /* whoever sums up adds these */
	end(&s);
	for (unsigned which = 0; which < TALLIES; which++) {
		assert_int_equal(take(which)->bytes_to_server, 700);
		assert_int_equal(take(which)->bytes_to_client, 9);
	}
}

/* What a walk has seen is in its sum, so it is not in the tallies before the next walk. */
static void who_slowed_it_down_is_counted_at_each(void **state)
{
	struct session slow = begin(0), quick = begin(1);

	(void)state;
	slow.limited_by = LIMITED_CLIENT;
	end(&slow);
	end(&quick);
	for (unsigned which = 0; which < TALLIES; which++) {
		assert_int_equal(take(which)->limited_by_client, 1);
		assert_int_equal(take(which)->limited_by_none, 0);
	}
}

static void bytes_of_a_late_end_are_counted_by_the_next_walk(void **state)
{
	struct session seen = begin(0), unseen = begin(0), later;

	(void)state;
	tally_begin_walk(workers[0]);
	seen.sum_mark = workers[0]->sum_mark;
	later = begin(0); /* at a place that the walk has passed */
	seen.flows[FLOW_TO_SERVER].bytes_out = 100;
	unseen.flows[FLOW_TO_SERVER].bytes_out = 20;
	later.flows[FLOW_TO_SERVER].bytes_out = 3;
	end(&seen);
	end(&unseen);
	end(&later);
	for (unsigned which = 0; which < TALLIES; which++)
		assert_int_equal(take(which)->bytes_to_server, 23);
	for (unsigned i = 0; i < 3; i++) {
		tally_begin_walk(workers[0]);
		assert_int_equal(take(OF_BACKEND)->bytes_to_server, 123);
	}
	/* A walk before the last one has seen it: it is not late. */
	seen = begin(0);
	seen.sum_mark = workers[0]->sum_mark;
	seen.flows[FLOW_TO_SERVER].bytes_out = 1000;
	tally_begin_walk(workers[0]);
	end(&seen);
	assert_int_equal(take(OF_SERVER)->bytes_to_server, 1123);
}

/* As the worker's next turn would. */
static void begin_anew(bool times)
{
	tally_begin_anew(&engine, times, workers[0]->loop.now_ns);
	for (unsigned i = 0; i < 2; i++) {
		const unsigned signals = mailbox_signals(&workers[i]->mailbox);

		assert_true(signals & MAIL_MAXIMA);
		assert_int_equal((signals & MAIL_TIMES) != 0, times);
		tally_forget(workers[i], signals & MAIL_MAXIMA, signals & MAIL_TIMES);
	}
}

static void maxima_begin_anew_and_totals_go_on(void **state)
{
	const uint64_t us[TALLY_TIMES] = {1, 2000, 30};
	struct session s[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		s[i] = begin(i % 2);
	tally_count_times(chunks_at(&workers[1]->tallies, slots[OF_SERVER]), us);
	begin_many(0, 7);
	((struct tally_sum *)chunks_at(&engine.kept, slots[OF_BACKEND]))->sessions_max = 99;
	begin_anew(false);
	for (unsigned which = 0; which < TALLIES; which++) {
		assert_int_equal(take(which)->sessions_max, 0);
		assert_int_equal(take(which)->rate_max, 0);
		assert_int_equal(take(which)->rate, 10);
		assert_int_equal(take(which)->total, 10);
		assert_true(take(which)->last_ns > 0);
	}
	assert_int_equal(tally_kept(&engine, slots[OF_BACKEND])->sessions_max, 0);
	assert_int_equal(take(OF_SERVER)->times_max_us[TALLY_CONNECT], 0);
	assert_int_equal(tally_average_us(take(OF_SERVER), TALLY_CONNECT), 2000);
	begin_many(1, 2); /* in the second of the order: what came before it is not to be told apart */
	assert_int_equal(take(OF_SERVER)->rate_max, 0);
	assert_int_equal(take(OF_BACKEND)->sessions_max, 4);
	set_clock(1000);
	begin_many(0, 3);
	set_clock(2000);
	begin_many(1, 1);
	for (unsigned which = 0; which < TALLIES; which++)
		assert_int_equal(take(which)->rate_max, 3);
	begin_anew(true);
	assert_int_equal(tally_average_us(take(OF_SERVER), TALLY_CONNECT), 0);
	for (unsigned i = 0; i < 3; i++)
		end(&s[i]);
}

#define TALLY_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TALLY_TEST(a_rate_is_of_the_last_second_and_fades),
		TALLY_TEST(the_most_in_a_second_is_of_all_workers),
		TALLY_TEST(times_are_averages_and_maxima_of_connected_sessions),
		TALLY_TEST(an_average_forgets),
		TALLY_TEST(a_backend_counts_its_own_sessions),
		TALLY_TEST(bytes_are_counted_when_a_session_ends),
		TALLY_TEST(who_slowed_it_down_is_counted_at_each),
		TALLY_TEST(bytes_of_a_late_end_are_counted_by_the_next_walk),
		TALLY_TEST(maxima_begin_anew_and_totals_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

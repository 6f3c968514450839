/* SPDX-License-Identifier: MIT
 *
 * test_histograms.c - histograms of objects: only when they are wanted, of all workers, without memory.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../base/alloc_fail.h"
#include "weir/base/clock.h"
#include "weir/engine/histograms.h"
#include "weir/engine/tallies.h"
#include "engine/extra.h"
#include "engine/session.h"
#include "engine/worker.h"
#include "small_engine.h"

static struct small_config config;
static struct engine engine;
static struct worker *workers[2];
static uint32_t frontend, backend, server;
static struct {
	struct histogram_sum of[HISTOGRAMS];
} sums;

static void no_news(void *arg)
{
	(void)arg;
}

static int setup(void **state)
{
	(void)state;
	small_config_init(&config);
	small_engine_open(&engine, &config.config, 2, no_news);
	small_engine_stand_in(&engine);
	for (unsigned i = 0; i < 2; i++) {
		workers[i] = small_engine_worker(&engine, i);
		workers[i]->loop.now_ns = 1000 * NS_PER_SEC;
	}
	frontend = first_frontend(&engine)->slot;
	backend = engine.backends[0]->slot;
	server = first_server(&engine)->slot;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	engine_free(&engine);
	return 0;
}

/* A session that was connected after 3 ms, took a second and moved these bytes. */
static void session(unsigned worker, uint64_t to_server, uint64_t to_client, uint64_t wait_ms)
{
	struct session_extra extra = {.wait_ns = wait_ms * (uint64_t)NS_PER_MS, .queued_ns = 1};
	struct session s;

	memset(&s, 0, sizeof(s));
	session_comes_in(&s, workers[worker], first_endpoint(&engine));
	s.accepted_ns = workers[worker]->loop.now_ns - NS_PER_SEC;
	tally_session_began(&s);
	tally_backend_entered(&s);
	session_goes_to(&s, first_server(&engine));
	s.connect_us = 1 + 3000;
	s.extra = wait_ms > 0 ? &extra : NULL;
	s.flows[FLOW_TO_SERVER].bytes_out = to_server;
	s.flows[FLOW_TO_CLIENT].bytes_out = to_client;
	s.reason = CLOSE_NORMAL;
	tally_session_ended(&s);
	session_goes_away(&s);
}

static bool sum_up(uint32_t slot)
{
	bool found = true;

	for (unsigned kind = 0; kind < HISTOGRAMS; kind++)
		found = histograms_sum_up(&engine, slot, (enum histogram_kind)kind, &sums.of[kind]) && found;
	return found;
}

static void nothing_is_kept_that_nobody_wants(void **state)
{
	const long before = allocated;

	(void)state;
	assert_int_equal(histograms_follow(&engine), 0);
	session(0, 10, 20, 0);
	assert_false(sum_up(frontend));
	assert_int_equal(allocated, before);
}

static void workers_are_added_up(void **state)
{
	(void)state;
	assert_int_equal(histograms_keep(&engine, HISTOGRAMS_PROXIES), 0);
	session(0, 10, 20, 0);
	session(1, 1000, 5000, 40);
	for (unsigned i = 0; i < 2; i++) {
		const uint32_t slot = i == 0 ? frontend : backend;

		assert_true(sum_up(slot));
		for (int kind = 0; kind < HISTOGRAMS; kind++)
			assert_int_equal(histogram_total(&sums.of[kind]), 2);
		assert_int_equal(sums.of[HISTOGRAM_QUEUE_TIME].sum, 40000);
		assert_int_equal(sums.of[HISTOGRAM_CONNECT_TIME].sum, 6000);
		assert_int_equal(sums.of[HISTOGRAM_SESSION_TIME].sum, 2000000);
		assert_int_equal(sums.of[HISTOGRAM_BYTES_TO_SERVER].sum, 1010);
		assert_int_equal(sums.of[HISTOGRAM_BYTES_TO_CLIENT].sum, 5020);
	}
	assert_false(sum_up(server));
}

static void servers_are_kept_on_request(void **state)
{
	(void)state;
	assert_int_equal(histograms_keep(&engine, HISTOGRAMS_ALL), 0);
	session(0, 10, 20, 0);
	assert_true(sum_up(server));
	assert_int_equal(histogram_total(&sums.of[HISTOGRAM_CONNECT_TIME]), 1);
	assert_int_equal(histograms_keep(&engine, HISTOGRAMS_NONE), 0);
	session(0, 10, 20, 0);
	assert_true(sum_up(server));
	assert_int_equal(histogram_total(&sums.of[HISTOGRAM_CONNECT_TIME]), 1);
}

static void servers_count_only_while_that_is_wanted(void **state)
{
	static const enum histograms_kept steps[] = {HISTOGRAMS_ALL, HISTOGRAMS_PROXIES, HISTOGRAMS_ALL};
	static const unsigned counts[] = {1, 1, 2};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(histograms_keep(&engine, steps[i]), 0);
		assert_int_equal(histograms_are_of_servers(&engine), steps[i] == HISTOGRAMS_ALL);
		session(0, 10, 20, 0);
		assert_true(sum_up(server));
		assert_int_equal(histogram_total(&sums.of[HISTOGRAM_SESSION_TIME]), counts[i]);
		assert_true(sum_up(backend));
		assert_int_equal(histogram_total(&sums.of[HISTOGRAM_SESSION_TIME]), i + 1);
	}
}

static void a_server_that_comes_has_its_sets_at_once(void **state)
{
	const struct server *s = first_server(&engine);

	(void)state;
	assert_int_equal(histograms_follow_server(&engine, s), 0);
	assert_false(sum_up(backend));
	atomic_store(&engine.histograms, HISTOGRAMS_PROXIES);
	assert_int_equal(histograms_follow_server(&engine, s), 0);
	assert_true(sum_up(backend));
	assert_false(sum_up(server));
	atomic_store(&engine.histograms, HISTOGRAMS_ALL);
	until_failure = 0;
	assert_int_equal(histograms_follow_server(&engine, s), -ENOMEM);
	until_failure = -1;
	assert_int_equal(histograms_follow_server(&engine, s), 0);
	assert_true(sum_up(server));
}

static void who_comes_next_begins_with_nothing(void **state)
{
	(void)state;
	assert_int_equal(histograms_keep(&engine, HISTOGRAMS_ALL), 0);
	session(0, 10, 20, 0);
	worker_forget(workers[0], server);
	worker_forget(workers[1], server);
	assert_true(sum_up(server));
	assert_int_equal(histogram_total(&sums.of[HISTOGRAM_CONNECT_TIME]), 0);
	assert_true(sum_up(backend));
	assert_int_equal(histogram_total(&sums.of[HISTOGRAM_CONNECT_TIME]), 1);
}

/* Each allocation fails in turn: sessions go on, and the next attempt makes what is missing. */
static void without_memory_the_next_attempt_makes_what_is_missing(void **state)
{
	long failures = 0;

	(void)state;
	until_failure = 0;
	assert_int_equal(histograms_keep(&engine, HISTOGRAMS_ALL), -ENOMEM);
	do {
		session(0, 10, 20, 0);
		session(1, 10, 20, 0);
		until_failure = 1;
		failures++;
	} while (histograms_follow(&engine) != 0);
	until_failure = -1;
	assert_int_equal(failures, 6); /* three objects of two workers */
	session(0, 10, 20, 0);
	session(1, 10, 20, 0);
	assert_true(sum_up(server));
	assert_int_equal(histogram_total(&sums.of[HISTOGRAM_CONNECT_TIME]), 2 + 1);
}

#define HISTOGRAMS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HISTOGRAMS_TEST(nothing_is_kept_that_nobody_wants),
		HISTOGRAMS_TEST(workers_are_added_up),
		HISTOGRAMS_TEST(servers_are_kept_on_request),
		HISTOGRAMS_TEST(servers_count_only_while_that_is_wanted),
		HISTOGRAMS_TEST(a_server_that_comes_has_its_sets_at_once),
		HISTOGRAMS_TEST(who_comes_next_begins_with_nothing),
		HISTOGRAMS_TEST(without_memory_the_next_attempt_makes_what_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * test_source_rates.c - new connections of each source: what a bucket lets in, who shares one, what a full
 * table does, also under threads.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "text_address.h"
#include "weir/base/clock.h"
#include "weir/net/source_rates.h"

#define BEGIN (5 * NS_PER_SEC)
#define THREADS 4

static struct source_rates *table(size_t most)
{
	struct source_rates *t = source_rates_new(most);

	assert_non_null(t);
	return t;
}

static enum source_rate_verdict take(struct source_rates *t, const char *text, struct source_rate rate,
				     int64_t now_ns)
{
	const struct addr_brief a = text_address(text);
	const int64_t wait_ns = source_rates_wait_ns(t, &a, &rate, now_ns);
	const enum source_rate_verdict v = source_rates_take(t, &a, &rate, now_ns);

	assert_int_equal(v == SOURCE_RATE_OVER, wait_ns > 0); /* which counts nothing itself */
	return v;
}

/* How many of `tries` are let in at this moment. */
static unsigned let_in(struct source_rates *t, const char *text, struct source_rate rate, int64_t now_ns,
		       unsigned tries)
{
	unsigned n = 0;

	while (tries-- > 0)
		n += take(t, text, rate, now_ns) == SOURCE_RATE_PASSED;
	return n;
}

static void a_burst_comes_at_once_and_then_one_for_each_share_of_the_time(void **state)
{
	struct source_rates *t = table(8);
	const struct source_rate rate = source_rate_of(10, NS_PER_SEC, 4);

	(void)state;
	assert_int_equal(let_in(t, "192.0.2.1", rate, BEGIN, 20), 4);
	assert_int_equal(let_in(t, "192.0.2.1", rate, BEGIN + 100 * NS_PER_MS - 1, 20), 0);
	assert_int_equal(let_in(t, "192.0.2.1", rate, BEGIN + 100 * NS_PER_MS, 20), 1);
	assert_int_equal(let_in(t, "192.0.2.1", rate, BEGIN + 100 * NS_PER_MS, 20), 0);
	assert_int_equal(let_in(t, "192.0.2.1", rate, BEGIN + 399 * NS_PER_MS, 20), 2);
	/* A bucket holds no more than a burst, however long it was quiet. */
	assert_int_equal(let_in(t, "192.0.2.1", rate, BEGIN + 3600 * NS_PER_SEC, 20), 4);
	source_rates_free(t);
}

static void who_keeps_trying_is_let_in_at_the_rate(void **state)
{
	struct source_rates *t = table(8);
	const struct source_rate rate = source_rate_of(3, NS_PER_SEC, 3);
	unsigned n = 0;

	(void)state;
	for (int64_t at = 0; at < 10 * NS_PER_SEC; at += NS_PER_MS)
		n += let_in(t, "192.0.2.1", rate, BEGIN + at, 1);
	/* A third of a second is rounded up: never more than 3 + 3 * 10. */
	assert_in_range(n, 31, 33);
	source_rates_free(t);
}

static void the_wait_ends_when_the_next_one_is_let_in(void **state)
{
	struct source_rates *t = table(8);
	const struct source_rate rate = source_rate_of(2, 60 * NS_PER_SEC, 1);
	const struct addr_brief a = text_address("192.0.2.1");

	(void)state;
	assert_int_equal(source_rates_wait_ns(t, &a, &rate, BEGIN), 0);
	assert_int_equal(let_in(t, "192.0.2.1", rate, BEGIN, 1), 1);
	assert_int_equal(source_rates_wait_ns(t, &a, &rate, BEGIN + NS_PER_SEC), 29 * NS_PER_SEC);
	assert_int_equal(source_rates_size(t), 1);
	source_rates_free(t);
}

static void sources_are_those_of_maxconn_per_source(void **state)
{
	struct source_rates *t = table(8);
	const struct source_rate rate = source_rate_of(1, NS_PER_SEC, 1);

	(void)state;
	assert_int_equal(let_in(t, "192.0.2.1", rate, BEGIN, 2), 1);
	assert_int_equal(let_in(t, "192.0.2.2", rate, BEGIN, 2), 1);
	assert_int_equal(let_in(t, "::ffff:192.0.2.1", rate, BEGIN, 2), 0);
	assert_int_equal(let_in(t, "2001:db8::1", rate, BEGIN, 2), 1);
	assert_int_equal(let_in(t, "2001:db8::ffff:0:0:1", rate, BEGIN, 2), 0);
	assert_int_equal(let_in(t, "2001:db8:0:1::1", rate, BEGIN, 2), 1);
	/* The bytes of 192.0.2.1, as an IPv6 network. */
	assert_int_equal(let_in(t, "c000:0201::1", rate, BEGIN, 2), 1);
	assert_int_equal(source_rates_size(t), 5);
	source_rates_free(t);
}

static const char *source(unsigned i)
{
	static char text[32];

	(void)snprintf(text, sizeof(text), "10.%u.%u.%u", i >> 16, (i >> 8) & 255, i & 255);
	return text;
}

static void a_full_table_lets_others_in_until_a_place_is_no_longer_needed(void **state)
{
	struct source_rates *t = table(8);
	const struct source_rate rate = source_rate_of(1, NS_PER_SEC, 1);

	(void)state;
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(take(t, source(i), rate, BEGIN + (i == 0 ? 0 : NS_PER_MS)),
				 SOURCE_RATE_PASSED);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(take(t, source(100), rate, BEGIN), SOURCE_RATE_NO_ROOM);
	assert_int_equal(take(t, source(7), rate, BEGIN), SOURCE_RATE_OVER);
	/* The bucket of one source is full again: its place is the newcomer's, and no other is lost. */
	assert_int_equal(take(t, source(100), rate, BEGIN + NS_PER_SEC), SOURCE_RATE_PASSED);
	assert_int_equal(take(t, source(100), rate, BEGIN + NS_PER_SEC), SOURCE_RATE_OVER);
	for (unsigned i = 1; i < 8; i++)
		assert_int_equal(take(t, source(i), rate, BEGIN + NS_PER_SEC), SOURCE_RATE_OVER);
	assert_int_equal(take(t, source(101), rate, BEGIN + NS_PER_SEC), SOURCE_RATE_NO_ROOM);
	assert_int_equal(source_rates_size(t), 8);
	source_rates_free(t);
}

/* A sweep looks at some places at a time, and goes on where the last one ended. */
static void every_place_is_found_in_the_end(void **state)
{
	struct source_rates *t = table(1000);
	const struct source_rate rate = source_rate_of(1, NS_PER_SEC, 1);

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(take(t, source(i), rate, BEGIN), SOURCE_RATE_PASSED);
	assert_int_equal(take(t, source(5000), rate, BEGIN), SOURCE_RATE_NO_ROOM);
	for (unsigned i = 0; i < 1000; i++) {
		enum source_rate_verdict v = SOURCE_RATE_NO_ROOM;

		/* A sweep looks at 64: after 16 of them each place was looked at. */
		for (unsigned n = 0; n < 17 && v == SOURCE_RATE_NO_ROOM; n++)
			v = take(t, source(1000 + i), rate, BEGIN + NS_PER_SEC);
		assert_int_equal(v, SOURCE_RATE_PASSED);
	}
	assert_int_equal(source_rates_size(t), 1000);
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(take(t, source(1000 + i), rate, BEGIN + NS_PER_SEC), SOURCE_RATE_OVER);
	source_rates_free(t);
}

static void a_faster_limit_forgets_what_a_slower_one_owed(void **state)
{
	struct source_rates *t = table(8);
	const struct source_rate slow = source_rate_of(1, 3600 * NS_PER_SEC, 2);
	const struct source_rate fast = source_rate_of(10, NS_PER_SEC, 10);

	(void)state;
	assert_int_equal(let_in(t, "192.0.2.1", slow, BEGIN, 5), 2);
	assert_int_equal(let_in(t, "192.0.2.1", fast, BEGIN, 5), 0);
	assert_int_equal(let_in(t, "192.0.2.1", fast, BEGIN + 100 * NS_PER_MS, 5), 1);
	assert_int_equal(let_in(t, "192.0.2.1", fast, BEGIN + 5 * NS_PER_SEC, 20), 10);
	/* And what the fast one counted still counts. */
	assert_int_equal(let_in(t, "192.0.2.1", slow, BEGIN + 5 * NS_PER_SEC, 5), 1);
	source_rates_free(t);
}

/* A thread whose time is a little behind gives nobody more. */
static void times_that_differ_give_no_more(void **state)
{
	struct source_rates *t = table(8);
	const struct source_rate rate = source_rate_of(1000, NS_PER_SEC, 10);
	unsigned n = 0;

	(void)state;
	for (int i = 0; i < 100; i++) {
		n += let_in(t, "192.0.2.1", rate, BEGIN, 3);
		n += let_in(t, "192.0.2.1", rate, BEGIN - 20 * NS_PER_MS, 3);
	}
	assert_int_equal(n, 10);
	source_rates_free(t);
}

static void a_thread_that_is_behind_finds_the_whole_burst(void **state)
{
	struct source_rates *t = table(8);
	const struct source_rate rate = source_rate_of(2, 3600 * NS_PER_SEC, 2);

	(void)state;
	assert_int_equal(take(t, "192.0.2.1", rate, BEGIN), SOURCE_RATE_PASSED);
	assert_int_equal(take(t, "192.0.2.1", rate, BEGIN - NS_PER_MS), SOURCE_RATE_PASSED);
	assert_int_equal(take(t, "192.0.2.1", rate, BEGIN), SOURCE_RATE_OVER);
	source_rates_free(t);
}

static void limits_are_rounded_against_the_client(void **state)
{
	(void)state;
	assert_int_equal(source_rate_of(0, NS_PER_SEC, 0).each_ns, 0);
	assert_int_equal(source_rate_of(3, NS_PER_SEC, 2).each_ns, 333333334);
	assert_int_equal(source_rate_of(3, NS_PER_SEC, 2).whole_ns, 666666668);
	assert_int_equal(source_rate_of(1, 86400 * NS_PER_SEC, 365).whole_ns, 365 * 86400 * NS_PER_SEC);
}

static void memory_of_a_table_is_known(void **state)
{
	(void)state;
	assert_in_range(source_rates_bytes(SOURCE_RATES_MAX), 2400000, 3000000);
	assert_true(source_rates_bytes(8) < 10000);
}

/* ---- threads ---- */

static struct {
	struct source_rates *t;
	struct source_rate rate;
	atomic_uint passed;
	atomic_uint passed_of_others;
} shared;

static void *knock(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < 20000; i++) {
		const struct addr_brief one = {.family = AF_INET, .ip = {192, 0, 2, 1}};
		const struct addr_brief other = {.family = AF_INET,
						 .ip = {10, 0, (uint8_t)(i >> 8), (uint8_t)i}};

		if (source_rates_take(shared.t, &one, &shared.rate, BEGIN) == SOURCE_RATE_PASSED)
			atomic_fetch_add(&shared.passed, 1);
		/* All threads bring the same new sources at about the same time. */
		if (source_rates_take(shared.t, &other, &shared.rate, BEGIN) == SOURCE_RATE_PASSED)
			atomic_fetch_add(&shared.passed_of_others, 1);
	}
	return NULL;
}

static void all_threads_share_a_bucket(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	shared.t = table(50000);
	shared.rate = source_rate_of(100, 3600 * NS_PER_SEC, 100);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, knock, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(atomic_load(&shared.passed), 100);
	/* Each of 20000 others came once per thread. */
	assert_int_equal(atomic_load(&shared.passed_of_others), THREADS * 20000);
	assert_int_equal(source_rates_size(shared.t), 20001);
	source_rates_free(shared.t);
}

/* Places change hands all the time, and time goes on. */
static void *churn(void *arg)
{
	unsigned n = *(const unsigned *)arg;

	for (unsigned i = 0; i < 50000; i++) {
		n = n * 1103515245u + 12345u;
		const struct addr_brief a = {.family = AF_INET,
					     .ip = {10, 0, (uint8_t)(n >> 24 & 3), (uint8_t)(n >> 16)}};

		(void)source_rates_take(shared.t, &a, &shared.rate, BEGIN + i * NS_PER_MS);
	}
	return NULL;
}

static void a_table_stays_whole_under_threads(void **state)
{
	pthread_t threads[THREADS];
	unsigned first[THREADS] = {1, 2, 3, 4};
	const int64_t later_ns = BEGIN + 1000 * NS_PER_SEC;
	unsigned passed = 0;

	(void)state;
	shared.t = table(100);
	shared.rate = source_rate_of(10, NS_PER_SEC, 3);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, churn, &first[i]), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_in_range(source_rates_size(shared.t), 1, 100);
	/* No place was lost, and none is there twice. */
	for (unsigned i = 0; i < 200; i++)
		passed += take(shared.t, source(0x20000 + i), shared.rate, later_ns) == SOURCE_RATE_PASSED;
	assert_int_equal(passed, 100);
	assert_int_equal(source_rates_size(shared.t), 100);
	source_rates_free(shared.t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_comes_at_once_and_then_one_for_each_share_of_the_time),
		cmocka_unit_test(who_keeps_trying_is_let_in_at_the_rate),
		cmocka_unit_test(the_wait_ends_when_the_next_one_is_let_in),
		cmocka_unit_test(sources_are_those_of_maxconn_per_source),
		cmocka_unit_test(a_full_table_lets_others_in_until_a_place_is_no_longer_needed),
		cmocka_unit_test(every_place_is_found_in_the_end),
		cmocka_unit_test(a_faster_limit_forgets_what_a_slower_one_owed),
		cmocka_unit_test(times_that_differ_give_no_more),
		cmocka_unit_test(a_thread_that_is_behind_finds_the_whole_burst),
		cmocka_unit_test(limits_are_rounded_against_the_client),
		cmocka_unit_test(memory_of_a_table_is_known),
		cmocka_unit_test(all_threads_share_a_bucket),
		cmocka_unit_test(a_table_stays_whole_under_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * test_rate.c - how many come in a second, in simulated time and from several threads.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "weir/base/clock.h"
#include "weir/base/rate.h"

#define BEGIN_NS (INT64_C(123456) * NS_PER_MS + 789)
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static const uint32_t limits[] = {1, 2, 3, 7, 10, 100, 999, 1000, 50000};

/* Whoever waits comes as soon as it may, until `until_ns`. How many came; `*now_ns` is the last moment. */
static uint32_t press(struct rate *r, int64_t *now_ns, int64_t until_ns)
{
	uint32_t came = 0;

	while (*now_ns < until_ns) {
		const int64_t due_ns = rate_take(r, *now_ns);

		if (due_ns == 0) {
			came++;
			continue;
		}
		assert_true(due_ns > *now_ns);
		assert_true(due_ns <= *now_ns + 2 * NS_PER_SEC);
		*now_ns = due_ns;
	}
	return came;
}

static void pressure_gets_the_limit_in_each_second(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		struct rate r;
		int64_t now_ns = BEGIN_NS;

		rate_init(&r, limits[i]);
		for (int second = 1; second <= 5; second++)
			assert_int_equal(press(&r, &now_ns, BEGIN_NS + second * NS_PER_SEC), limits[i]);
	}
}

static void a_burst_of_one_second_is_let_in_at_once_and_then_they_come_evenly(void **state)
{
	struct rate r;
	int64_t now_ns = BEGIN_NS;
	int64_t last_ns = BEGIN_NS + NS_PER_SEC;

	(void)state;
	rate_init(&r, 10);
	for (int i = 0; i < 10; i++)
		assert_int_equal(rate_take(&r, now_ns), 0);
	now_ns = rate_take(&r, now_ns);
	assert_in_range(now_ns, last_ns, last_ns + 10);
	assert_int_equal(rate_take(&r, now_ns), 0);
	for (int i = 0; i < 25; i++) {
		last_ns = now_ns;
		now_ns = rate_take(&r, now_ns);
		assert_in_range(now_ns - last_ns, NS_PER_SEC / 10 - 1000, NS_PER_SEC / 10 + 1000);
		assert_int_equal(rate_take(&r, now_ns), 0);
	}
}

static void who_stays_below_the_limit_never_waits(void **state)
{
	struct rate r;

	(void)state;
	rate_init(&r, 100);
	for (int64_t i = 0; i < 1000; i++)
		assert_int_equal(rate_take(&r, BEGIN_NS + i * NS_PER_SEC / 99), 0);
}

static void one_before_its_time_is_told_the_same_time_again(void **state)
{
	struct rate r;
	int64_t due_ns;

	(void)state;
	rate_init(&r, 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(rate_take(&r, BEGIN_NS), 0);
	due_ns = rate_take(&r, BEGIN_NS);
	assert_int_equal(rate_take(&r, BEGIN_NS + NS_PER_SEC / 2), due_ns);
	assert_int_equal(rate_take(&r, due_ns - 1), due_ns);
	assert_int_equal(rate_take(&r, due_ns), 0);
}

static void after_a_pause_all_of_a_second_is_there_again(void **state)
{
	struct rate r;
	int64_t now_ns = BEGIN_NS;

	(void)state;
	rate_init(&r, 50);
	assert_int_equal(press(&r, &now_ns, BEGIN_NS + 3 * NS_PER_SEC), 150);
	now_ns = BEGIN_NS + 60 * NS_PER_SEC + 12345;
	for (int i = 0; i < 50; i++)
		assert_int_equal(rate_take(&r, now_ns), 0);
	assert_true(rate_take(&r, now_ns) > now_ns);
}

static void what_is_given_back_may_be_taken_again(void **state)
{
	struct rate r;

	(void)state;
	rate_init(&r, 2);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(rate_take(&r, BEGIN_NS), 0);
		rate_give_back(&r, BEGIN_NS);
	}
	assert_int_equal(rate_take(&r, BEGIN_NS), 0);
	assert_int_equal(rate_take(&r, BEGIN_NS), 0);
	assert_true(rate_take(&r, BEGIN_NS) > BEGIN_NS);
	rate_give_back(&r, BEGIN_NS);
	assert_int_equal(rate_take(&r, BEGIN_NS), 0);
	/* Given back in the second after: it no longer counts there either. */
	assert_true(rate_take(&r, BEGIN_NS + NS_PER_SEC) > 0);
	rate_give_back(&r, BEGIN_NS);
	assert_int_equal(rate_take(&r, BEGIN_NS + NS_PER_SEC), 0);
}

static void who_only_asks_takes_nothing(void **state)
{
	struct rate r;

	(void)state;
	rate_init(&r, 2);
	for (int i = 0; i < 10; i++)
		assert_true(rate_has_room(&r, BEGIN_NS));
	assert_int_equal(rate_room(&r, BEGIN_NS), 2);
	assert_int_equal(rate_take(&r, BEGIN_NS), 0);
	assert_int_equal(rate_room(&r, BEGIN_NS), 1);
	assert_int_equal(rate_take(&r, BEGIN_NS), 0);
	assert_false(rate_has_room(&r, BEGIN_NS));
	rate_force(&r, BEGIN_NS);
	assert_int_equal(rate_room(&r, BEGIN_NS), 0);
	/* A second later those still count, a little less each moment. */
	assert_false(rate_has_room(&r, BEGIN_NS + NS_PER_SEC));
	assert_true(rate_has_room(&r, BEGIN_NS + 2 * NS_PER_SEC - 1));
	rate_give_back(&r, BEGIN_NS);
	rate_give_back(&r, BEGIN_NS);
	assert_true(rate_has_room(&r, BEGIN_NS + NS_PER_SEC));
}

static void what_is_given_back_late_makes_no_room(void **state)
{
	struct rate r;

	(void)state;
	rate_init(&r, 2);
	assert_int_equal(rate_take(&r, BEGIN_NS), 0);
	/* Two seconds on these count for nothing, and what comes now is not theirs to give back. */
	for (int i = 0; i < 2; i++)
		assert_int_equal(rate_take(&r, BEGIN_NS + 5 * NS_PER_SEC), 0);
	rate_give_back(&r, BEGIN_NS);
	assert_true(rate_take(&r, BEGIN_NS + 5 * NS_PER_SEC) > 0);
	/* Nor is what came a second later than that of the one before. */
	assert_true(rate_take(&r, BEGIN_NS + 6 * NS_PER_SEC) > 0);
	rate_give_back(&r, BEGIN_NS + 4 * NS_PER_SEC);
	assert_true(rate_take(&r, BEGIN_NS + 6 * NS_PER_SEC) > 0);
}

static void who_is_not_asked_is_counted(void **state)
{
	struct rate r;
	int64_t now_ns = BEGIN_NS;

	(void)state;
	rate_init(&r, 10);
	for (int i = 0; i < 40; i++)
		rate_force(&r, BEGIN_NS);
	/* Forty count for less than ten in the last quarter of the next second. */
	assert_int_equal(press(&r, &now_ns, BEGIN_NS + NS_PER_SEC * 7 / 4), 0);
	assert_int_equal(press(&r, &now_ns, BEGIN_NS + 2 * NS_PER_SEC), 10);
	assert_int_equal(press(&r, &now_ns, BEGIN_NS + 3 * NS_PER_SEC), 10);
}

static void a_clock_that_is_a_little_behind_does_no_harm(void **state)
{
	struct rate r;
	int64_t due_ns;

	(void)state;
	rate_init(&r, 1);
	assert_int_equal(rate_take(&r, BEGIN_NS), 0);
	due_ns = rate_take(&r, BEGIN_NS - NS_PER_MS);
	assert_in_range(due_ns, BEGIN_NS + NS_PER_SEC, BEGIN_NS + NS_PER_SEC + 10);
}

/* ---- a limit that changes ---- */

static void what_came_under_the_old_limit_counts_against_the_new_one(void **state)
{
	struct rate r;
	int64_t now_ns = BEGIN_NS;

	(void)state;
	rate_init(&r, 40);
	for (int i = 0; i < 40; i++)
		assert_int_equal(rate_take(&r, BEGIN_NS), 0);
	rate_set_limit(&r, 10, BEGIN_NS);
	/* Forty count for less than ten in the last quarter of the next second. */
	assert_int_equal(press(&r, &now_ns, BEGIN_NS + NS_PER_SEC * 7 / 4), 0);
	assert_int_equal(press(&r, &now_ns, BEGIN_NS + 2 * NS_PER_SEC), 10);
	rate_set_limit(&r, 50, now_ns);
	now_ns = BEGIN_NS + 2 * NS_PER_SEC;
	assert_int_equal(press(&r, &now_ns, BEGIN_NS + 3 * NS_PER_SEC), 50);
	assert_int_equal(rate_limit(&r), 50);
}

static void without_a_limit_everything_is_let_in_and_the_next_limit_begins_anew(void **state)
{
	struct rate r;

	(void)state;
	rate_init(&r, 1);
	assert_int_equal(rate_take(&r, BEGIN_NS), 0);
	assert_true(rate_take(&r, BEGIN_NS) > 0);
	rate_set_limit(&r, 0, BEGIN_NS);
	for (int i = 0; i < 100; i++) {
		assert_true(rate_has_room(&r, BEGIN_NS));
		assert_int_equal(rate_take(&r, BEGIN_NS), 0);
	}
	rate_set_limit(&r, 2, BEGIN_NS + 5);
	assert_int_equal(rate_room(&r, BEGIN_NS + 5), 2);
	assert_int_equal(rate_take(&r, BEGIN_NS + 6), 0);
	assert_int_equal(rate_take(&r, BEGIN_NS + 6), 0);
	/* Clients let in while there was no limit have no place to give back. */
	rate_give_back(&r, BEGIN_NS);
	assert_true(rate_take(&r, BEGIN_NS + 7) > 0);
	rate_give_back(&r, BEGIN_NS + 6);
	assert_int_equal(rate_take(&r, BEGIN_NS + 7), 0);
}

/* ---- threads ---- */

#define THREADS 4
#define TURNS 40000

struct crowd {
	struct rate rate;
	pthread_barrier_t start;
	uint32_t came[THREADS];
};

struct member {
	struct crowd *crowd;
	unsigned index;
};

/* All see the same simulated time; each third one gives its place back. */
static void *press_in_thread(void *arg)
{
	const struct member *m = arg;
	struct crowd *c = m->crowd;

	(void)pthread_barrier_wait(&c->start); /* which thread is told to be the last does not matter */
	for (int i = 0; i < TURNS; i++) {
		if (rate_take(&c->rate, BEGIN_NS) != 0)
			continue;
		if (i % 3 == 0)
			rate_give_back(&c->rate, BEGIN_NS);
		else
			c->came[m->index]++;
	}
	return NULL;
}

/* How many came. Meanwhile this thread changes the limit `changes` times, never above the one that it had. */
static uint32_t press_together(struct crowd *c, int changes)
{
	const uint32_t limit = rate_limit(&c->rate);
	struct member m[THREADS];
	pthread_t t[THREADS];
	uint32_t sum = 0;

	assert_int_equal(pthread_barrier_init(&c->start, NULL, THREADS), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		m[i] = (struct member){c, i};
		assert_int_equal(pthread_create(&t[i], NULL, press_in_thread, &m[i]), 0);
	}
	for (int i = 0; i < changes; i++)
		rate_set_limit(&c->rate, i % 2 == 0 ? limit - 1 - (uint32_t)i : limit, BEGIN_NS);
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(t[i], NULL), 0);
		sum += c->came[i];
	}
	pthread_barrier_destroy(&c->start);
	return sum;
}

static void threads_together_get_the_limit_and_not_one_more(void **state)
{
	struct crowd c = {.came = {0}};

	(void)state;
	rate_init(&c.rate, 50000);
	assert_int_equal(press_together(&c, 0), 50000);
}

static void a_limit_that_changes_below_threads_lets_no_one_more_in(void **state)
{
	struct crowd c = {.came = {0}};
	uint32_t came;

	(void)state;
	rate_init(&c.rate, 50000);
	came = press_together(&c, 1000);
	assert_true(came <= 50000);
	while (rate_take(&c.rate, BEGIN_NS) == 0)
		came++;
	assert_int_equal(came, 50000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pressure_gets_the_limit_in_each_second),
		cmocka_unit_test(a_burst_of_one_second_is_let_in_at_once_and_then_they_come_evenly),
		cmocka_unit_test(who_stays_below_the_limit_never_waits),
		cmocka_unit_test(one_before_its_time_is_told_the_same_time_again),
		cmocka_unit_test(after_a_pause_all_of_a_second_is_there_again),
		cmocka_unit_test(what_is_given_back_may_be_taken_again),
		cmocka_unit_test(who_only_asks_takes_nothing),
		cmocka_unit_test(what_is_given_back_late_makes_no_room),
		cmocka_unit_test(who_is_not_asked_is_counted),
		cmocka_unit_test(a_clock_that_is_a_little_behind_does_no_harm),
		cmocka_unit_test(what_came_under_the_old_limit_counts_against_the_new_one),
		cmocka_unit_test(without_a_limit_everything_is_let_in_and_the_next_limit_begins_anew),
		cmocka_unit_test(threads_together_get_the_limit_and_not_one_more),
		cmocka_unit_test(a_limit_that_changes_below_threads_lets_no_one_more_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * test_histogram.c - buckets and their limits, and sums of two writers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/account/histogram.h"

static struct histogram_set sets[2];

static int setup(void **state)
{
	(void)state;
	memset(sets, 0, sizeof(sets));
	return 0;
}

/* The bucket that a value is counted in. */
static unsigned bucket_of(enum histogram_kind kind, uint64_t value)
{
	unsigned found = HISTOGRAM_BUCKETS;

	histogram_clear(&sets[0]);
	histogram_count(&sets[0], kind, value);
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (counter_get(&sets[0].of[kind].counts[i]) > 0) {
			assert_int_equal(found, HISTOGRAM_BUCKETS);
			found = i;
		}
	assert_in_range(found, 0, HISTOGRAM_BUCKETS - 1);
	return found;
}

static void a_value_is_below_the_limit_of_its_bucket_alone(void **state)
{
	(void)state;
	for (int kind = 0; kind < HISTOGRAMS; kind++) {
		assert_int_equal(bucket_of((enum histogram_kind)kind, 0), 0);
		for (unsigned i = 0; i < HISTOGRAM_BUCKETS - 1; i++) {
			const uint64_t limit = histogram_limit((enum histogram_kind)kind, i);

			assert_int_equal(bucket_of((enum histogram_kind)kind, limit - 1), i);
			assert_int_equal(bucket_of((enum histogram_kind)kind, limit), i + 1);
		}
		assert_int_equal(bucket_of((enum histogram_kind)kind, UINT64_MAX), HISTOGRAM_BUCKETS - 1);
		assert_true(histogram_limit((enum histogram_kind)kind, HISTOGRAM_BUCKETS - 1) == UINT64_MAX);
	}
}

static void a_bucket_is_a_quarter_wider_at_most(void **state)
{
	(void)state;
	for (unsigned i = HISTOGRAM_STEP; i < HISTOGRAM_BUCKETS - 1; i++) {
		const uint64_t from = histogram_limit(HISTOGRAM_CONNECT_TIME, i - 1);
		const uint64_t to = histogram_limit(HISTOGRAM_CONNECT_TIME, i);

		assert_true(to - from <= from / 4);
	}
	for (unsigned i = HISTOGRAM_STEP - 1; i < HISTOGRAM_BUCKETS - 1; i += HISTOGRAM_STEP) {
		const uint64_t limit = histogram_limit(HISTOGRAM_CONNECT_TIME, i);

		assert_int_equal(limit & (limit - 1), 0);
	}
}

static void long_sessions_and_large_ones_have_a_bucket(void **state)
{
	const uint64_t hour_us = UINT64_C(3600000000);

	(void)state;
	assert_true(bucket_of(HISTOGRAM_QUEUE_TIME, hour_us) < HISTOGRAM_BUCKETS - 1);
	assert_true(bucket_of(HISTOGRAM_SESSION_TIME, 80 * 24 * hour_us) < HISTOGRAM_BUCKETS - 1);
	assert_true(bucket_of(HISTOGRAM_BYTES_TO_CLIENT, UINT64_C(100) << 30) < HISTOGRAM_BUCKETS - 1);
}

static void two_writers_are_added_up(void **state)
{
	struct histogram_sum sum = {0}, other = {0};

	(void)state;
	histogram_count(&sets[0], HISTOGRAM_BYTES_TO_SERVER, 100);
	histogram_count(&sets[1], HISTOGRAM_BYTES_TO_SERVER, 100);
	histogram_count(&sets[1], HISTOGRAM_BYTES_TO_SERVER, 5000);
	for (unsigned i = 0; i < 2; i++) {
		histogram_add(&sum, &sets[i], HISTOGRAM_BYTES_TO_SERVER);
		histogram_add(&other, &sets[i], HISTOGRAM_BYTES_TO_CLIENT);
	}
	assert_int_equal(histogram_total(&sum), 3);
	assert_int_equal(sum.sum, 5200);
	assert_int_equal(histogram_below(&sum, bucket_of(HISTOGRAM_BYTES_TO_SERVER, 100)), 2);
	assert_int_equal(histogram_below(&sum, bucket_of(HISTOGRAM_BYTES_TO_SERVER, 5000)), 3);
	assert_int_equal(histogram_total(&other), 0);
}

static void a_cleared_set_is_as_new(void **state)
{
	static const struct histogram_set new;

	(void)state;
	for (int kind = 0; kind < HISTOGRAMS; kind++)
		histogram_count(&sets[0], (enum histogram_kind)kind, 12345);
	histogram_clear(&sets[0]);
	assert_memory_equal(&sets[0], &new, sizeof(new));
}

static void each_row_has_a_metric_in_base_units_and_a_help_text(void **state)
{
	const struct histogram_row *row;
	size_t i;

	(void)state;
	for (i = 0; (row = histogram_row(i)) != NULL; i++) {
		const char *end = strcmp(row->unit, "us") == 0 ? "_seconds" : "_bytes";

		assert_true(strlen(row->metric) > strlen(end));
		assert_string_equal(row->metric + strlen(row->metric) - strlen(end), end);
		assert_true(strlen(row->help) > 3);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(row->metric, histogram_row(k)->metric);
	}
	assert_int_equal(i, HISTOGRAMS);
}

#define HISTOGRAM_TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HISTOGRAM_TEST(a_value_is_below_the_limit_of_its_bucket_alone),
		HISTOGRAM_TEST(a_bucket_is_a_quarter_wider_at_most),
		HISTOGRAM_TEST(long_sessions_and_large_ones_have_a_bucket),
		HISTOGRAM_TEST(two_writers_are_added_up),
		HISTOGRAM_TEST(a_cleared_set_is_as_new),
		HISTOGRAM_TEST(each_row_has_a_metric_in_base_units_and_a_help_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

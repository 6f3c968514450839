/* SPDX-License-Identifier: MIT
 *
 * test_recent.c - what happened in the last minute is counted, and what is older is not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "weir/base/recent.h"

#define AT(s) ((s)*NS_PER_SEC)

static void a_minute_is_counted_and_no_more(void **state)
{
	struct recent r = {0};

	(void)state;
	assert_int_equal(recent_count(&r, AT(1000)), 0);
	recent_add(&r, AT(1000));
	recent_add(&r, AT(1001));
	recent_add(&r, AT(1030));
	assert_int_equal(recent_count(&r, AT(1030)), 3);
	assert_int_equal(recent_count(&r, AT(1060)), 3);
	assert_int_equal(recent_count(&r, AT(1064)), 1);
	assert_int_equal(recent_count(&r, AT(1100)), 0);
}

static void a_slot_that_is_used_again_begins_anew(void **state)
{
	struct recent r = {0};

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		recent_add(&r, AT(2000));
	recent_add(&r, AT(2064));
	assert_int_equal(recent_count(&r, AT(2064)), 1);
	/* Long after, when the number of the slot has the same remainder. */
	recent_add(&r, AT(2000 + 64 * 1000));
	assert_int_equal(recent_count(&r, AT(2000 + 64 * 1000)), 1);
}

static void one_a_second_are_a_minutes_worth(void **state)
{
	struct recent r = {0};

	(void)state;
	for (int64_t s = 1; s < 500; s++) {
		recent_add(&r, AT(s));
		assert_in_range(recent_count(&r, AT(s)), s < 60 ? (uintmax_t)s : 60, 64);
	}
}

static void the_first_moments_of_the_clock_count(void **state)
{
	struct recent r = {0};

	(void)state;
	recent_add(&r, 0);
	recent_add(&r, AT(3));
	assert_int_equal(recent_count(&r, AT(4)), 2);
	/* A reader whose clock is behind that of the writer. */
	recent_add(&r, AT(8));
	assert_int_equal(recent_count(&r, AT(4)), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_minute_is_counted_and_no_more),
		cmocka_unit_test(a_slot_that_is_used_again_begins_anew),
		cmocka_unit_test(one_a_second_are_a_minutes_worth),
		cmocka_unit_test(the_first_moments_of_the_clock_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

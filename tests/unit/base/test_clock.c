/* SPDX-License-Identifier: MIT
 *
 * test_clock.c - the clocks are those that the header names, in nanoseconds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "weir/base/clock.h"

static int64_t of(clockid_t id)
{
	struct timespec ts;

	assert_int_equal(clock_gettime(id, &ts), 0);
	return (int64_t)ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

static void mono_clock_lies_between_two_readings_of_clock_monotonic(void **state)
{
	const int64_t before = of(CLOCK_MONOTONIC);
	const int64_t now = clock_mono_ns();
	const int64_t after = of(CLOCK_MONOTONIC);

	(void)state;
	assert_true(before <= now);
	assert_true(now <= after);
}

static void mono_clock_never_goes_back(void **state)
{
	int64_t last = clock_mono_ns();

	(void)state;
	for (int i = 0; i < 10000; i++) {
		const int64_t now = clock_mono_ns();

		assert_true(now >= last);
		last = now;
	}
}

static void wall_clock_is_the_date(void **state)
{
	const int64_t seconds = clock_wall_ns() / NS_PER_SEC;
	const int64_t date = (int64_t)time(NULL);

	(void)state;
	/* time(2) may lag by a tick. */
	assert_in_range(seconds - date + 1, 0, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mono_clock_lies_between_two_readings_of_clock_monotonic),
		cmocka_unit_test(mono_clock_never_goes_back),
		cmocka_unit_test(wall_clock_is_the_date),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

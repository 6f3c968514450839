/* SPDX-License-Identifier: MIT
 *
 * test_wall_time.c - moments of the wall clock as text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "weir/base/clock.h"
#include "weir/base/wall_time.h"

static void assert_time(int64_t wall_ns, const char *wanted)
{
	char buf[WALL_TIME_MAX];

	assert_string_equal(wall_time_format(wall_ns, buf), wanted);
}

static void moments_are_written_in_utc(void **state)
{
	(void)state;
	assert_time(1, "1970-01-01T00:00:00Z");
	assert_time(1795449900 * NS_PER_SEC, "2026-11-23T16:05:00Z");
	assert_time(1795449900 * NS_PER_SEC + 999999999, "2026-11-23T16:05:00Z");
	assert_time(INT64_MAX, "2262-04-11T23:47:16Z");
}

static void no_moment_is_a_dash(void **state)
{
	(void)state;
	assert_time(0, "-");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moments_are_written_in_utc),
		cmocka_unit_test(no_moment_is_a_dash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

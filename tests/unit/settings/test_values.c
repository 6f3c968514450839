/* SPDX-License-Identifier: MIT
 *
 * test_values.c - numbers, durations and sizes as people write them, and back.
 */
#include "config_test.h"

#include <errno.h>

#include "weir/base/clock.h"
#include "weir/config/values.h"

static void numbers_are_digits_and_nothing_else(void **state)
{
	static const char *const bad[] = {"", " 1", "1 ", "+1", "-1", "0x1", "1e3", "1_0", "one"};
	uint64_t n = 0;

	(void)state;
	assert_int_equal(value_number("18446744073709551615", &n), 0);
	assert_true(n == UINT64_MAX);
	assert_int_equal(value_number("18446744073709551616", &n), -ERANGE);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(value_number(bad[i], &n), -EINVAL);
}

static void counts_hold_underscores_between_digits(void **state)
{
	uint64_t n = 0;

	(void)state;
	assert_int_equal(value_count("1_000_000", &n), 0);
	assert_int_equal(n, 1000000);
	assert_int_equal(value_count("_1", &n), -EINVAL);
	assert_int_equal(value_count("1_", &n), -EINVAL);
	assert_int_equal(value_count("1__0", &n), -EINVAL);
}

static void durations_need_units_and_add_up(void **state)
{
	int64_t ns = 0;

	(void)state;
	assert_int_equal(value_duration("1m30s", &ns), 0);
	assert_int_equal(ns, 90 * NS_PER_SEC);
	assert_int_equal(value_duration("250ms", &ns), 0);
	assert_int_equal(ns, 250 * NS_PER_MS);
	assert_int_equal(value_duration("0", &ns), 0);
	assert_int_equal(ns, 0);
	assert_int_equal(value_duration("off", &ns), 0);
	assert_int_equal(value_duration("2d", &ns), 0);
	assert_int_equal(ns, 2 * 86400 * NS_PER_SEC);
	assert_int_equal(value_duration("5000", &ns), -EDOM);
	assert_int_equal(value_duration("1m30", &ns), -EDOM);
	assert_int_equal(value_duration("5 s", &ns), -EINVAL);
	assert_int_equal(value_duration("5S", &ns), -EINVAL);
	assert_int_equal(value_duration("1.5s", &ns), -EINVAL);
	assert_int_equal(value_duration("-5s", &ns), -EINVAL);
	assert_int_equal(value_duration("", &ns), -EINVAL);
	assert_int_equal(value_duration("9223372036854775807d", &ns), -ERANGE);
	assert_int_equal(value_duration("106751d106751d", &ns), -ERANGE);
}

static void durations_print_to_what_reads_back(void **state)
{
	static const int64_t all[] = {0,
				      NS_PER_US,
				      1500 * NS_PER_US,
				      999 * NS_PER_MS,
				      NS_PER_SEC,
				      90 * NS_PER_SEC,
				      3600 * NS_PER_SEC,
				      86400 * NS_PER_SEC,
				      90061 * NS_PER_SEC + 1001 * NS_PER_US};
	char buf[VALUE_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		int64_t ns = -1;

		assert_int_equal(value_duration(value_format_duration(all[i], buf), &ns), 0);
		assert_int_equal(ns, all[i]);
	}
}

static void sizes_are_binary(void **state)
{
	uint64_t n = 0;
	char buf[VALUE_TEXT_MAX];

	(void)state;
	assert_int_equal(value_size("256k", &n), 0);
	assert_int_equal(n, 262144);
	assert_int_equal(value_size("1M", &n), 0);
	assert_int_equal(n, 1048576);
	assert_int_equal(value_size("65536", &n), 0);
	assert_int_equal(n, 65536);
	assert_int_equal(value_size("1kb", &n), -EINVAL);
	assert_int_equal(value_size("1t", &n), -EINVAL);
	assert_int_equal(value_size("k", &n), -EINVAL);
	assert_int_equal(value_size("99999999999999g", &n), -ERANGE);
	assert_string_equal(value_format_size(262144, buf), "256k");
	assert_string_equal(value_format_size(65537, buf), "65537");
	assert_string_equal(value_format_size(0, buf), "0");
}

static void modes_are_octal(void **state)
{
	int mode = 0;

	(void)state;
	assert_int_equal(value_mode("660", &mode), 0);
	assert_int_equal(mode, 0660);
	assert_int_equal(value_mode("0600", &mode), 0);
	assert_int_equal(mode, 0600);
	assert_int_equal(value_mode("888", &mode), -EINVAL);
	assert_int_equal(value_mode("", &mode), -EINVAL);
	assert_int_equal(value_mode("77777", &mode), -ERANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_digits_and_nothing_else),
		cmocka_unit_test(counts_hold_underscores_between_digits),
		cmocka_unit_test(durations_need_units_and_add_up),
		cmocka_unit_test(durations_print_to_what_reads_back),
		cmocka_unit_test(sizes_are_binary),
		cmocka_unit_test(modes_are_octal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

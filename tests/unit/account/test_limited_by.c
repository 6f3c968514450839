/* SPDX-License-Identifier: MIT
 *
 * test_limited_by.c - who slowed a session down, from the times that the kernel has counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/account/limited_by.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"

#define SECOND_US UINT64_C(1000000)

static const struct tcp_facts idle = {.known = true};
static const struct tcp_facts none = {.known = false};

static struct tcp_facts held(uint64_t busy_us, uint64_t window_us, uint64_t send_buffer_us)
{
	return (struct tcp_facts){
		.known = true, .busy_us = busy_us, .window_us = window_us, .send_buffer_us = send_buffer_us};
}

static void the_longest_time_counts(void **state)
{
	static const struct {
		uint64_t client[3];
		uint64_t server[3];
		enum limited_by by;
	} rows[] = {
		{{9 * SECOND_US, 9 * SECOND_US, 0}, {0, 0, 0}, LIMITED_CLIENT},
		{{0, 0, 0}, {9 * SECOND_US, 8 * SECOND_US, 0}, LIMITED_SERVER},
		{{9 * SECOND_US, 3 * SECOND_US, 2 * SECOND_US}, {0, 0, 0}, LIMITED_NETWORK},
		{{2 * SECOND_US, 0, 0}, {1 * SECOND_US, 0, 0}, LIMITED_NETWORK},
		{{4 * SECOND_US, 0, 4 * SECOND_US}, {0, 0, 0}, LIMITED_US},
		{{2 * SECOND_US, 2 * SECOND_US, 0}, {0, 0, 0}, LIMITED_NONE},
		{{5 * SECOND_US / 2, 5 * SECOND_US / 2, 0}, {0, 0, 0}, LIMITED_CLIENT},
		/* The kernel does not read its three clocks at one moment. */
		{{3 * SECOND_US, 3 * SECOND_US + 1, 0}, {0, 0, 0}, LIMITED_CLIENT},
		{{0, 0, 0}, {0, 0, 0}, LIMITED_NONE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct tcp_facts c = held(rows[i].client[0], rows[i].client[1], rows[i].client[2]);
		const struct tcp_facts s = held(rows[i].server[0], rows[i].server[1], rows[i].server[2]);

		assert_int_equal(limited_by(&c, &s, 10 * NS_PER_SEC), rows[i].by);
	}
}

static void a_side_without_tcp_says_nothing(void **state)
{
	const struct tcp_facts slow = held(9 * SECOND_US, 9 * SECOND_US, 0);

	(void)state;
	assert_int_equal(limited_by(&none, &none, 10 * NS_PER_SEC), LIMITED_UNKNOWN);
	assert_int_equal(limited_by(&none, &idle, 10 * NS_PER_SEC), LIMITED_NONE);
	assert_int_equal(limited_by(&slow, &none, 10 * NS_PER_SEC), LIMITED_CLIENT);
}

static void all_but_the_unknown_have_a_word(void **state)
{
	(void)state;
	assert_null(limited_by_word(LIMITED_UNKNOWN));
	for (int i = LIMITED_NONE; i < LIMITS; i++)
		assert_non_null(limited_by_word((enum limited_by)i));
	assert_string_equal(limited_by_word(LIMITED_US), "us");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_longest_time_counts),
		cmocka_unit_test(a_side_without_tcp_says_nothing),
		cmocka_unit_test(all_but_the_unknown_have_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * test_trend.c - a trend shows the last values to scale, and a server's trend follows its name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/clock.h"
#include "cli/trend.h"

static const char *drawn(const struct trend *t, unsigned wide, bool blocks)
{
	static char shown[4 * TREND_MAX];
	struct text out;

	text_over(&out, shown, sizeof(shown));
	trend_draw(t, wide, blocks, &out);
	assert_false(out.failed);
	return shown;
}

static void values_are_to_the_scale_of_the_largest(void **state)
{
	struct trend t = {.next = 0};

	(void)state;
	assert_string_equal(drawn(&t, 3, false), "   ");
	trend_add(&t, 0);
	trend_add(&t, 1);
	assert_string_equal(drawn(&t, 4, false), "  _#");
	trend_add(&t, 1000);
	assert_string_equal(drawn(&t, 4, false), " _.#");
	assert_string_equal(drawn(&t, 2, false), ".#");
	assert_string_equal(drawn(&t, 2, true), "\u2582\u2588");
	assert_string_equal(drawn(&t, 0, true), "");
	trend_add(&t, UINT64_MAX);
	assert_string_equal(drawn(&t, 2, false), ".#");
}

static void only_the_last_values_stay(void **state)
{
	struct trend t = {.next = 0};

	(void)state;
	trend_add(&t, 1000000);
	for (unsigned i = 0; i < TREND_MAX; i++)
		trend_add(&t, 1);
	for (unsigned i = 0; i < TREND_MAX; i++)
		assert_int_equal(drawn(&t, TREND_MAX, false)[i], '#');
}

static struct view_row server(const char *name, uint64_t bytes)
{
	struct view_row row = {.proxy = "web", .bytes_in = bytes};

	(void)snprintf(row.name, sizeof(row.name), "%s", name);
	return row;
}

static void a_trend_follows_its_server(void **state)
{
	struct view_row first[] = {server("a", 0), server("b", 0), server("c", 0)};
	struct view_row second[] = {server("a", 7), server("b", 0), server("c", 9)};
	struct view_row third[] = {server("new", 3), server("a", 7), server("c", 9)};
	struct view views[] = {
		{.servers = first, .server_count = 3, .taken_ns = NS_PER_SEC},
		{.servers = second, .server_count = 3, .taken_ns = 2 * NS_PER_SEC},
		{.servers = third, .server_count = 3, .taken_ns = 3 * NS_PER_SEC},
	};
	struct trends t;

	(void)state;
	trends_init(&t);
	trends_add(&t, &views[1], &views[0]);
	trends_add(&t, &views[2], &views[1]);
	assert_int_equal(t.server_count, 3);
	assert_string_equal(t.servers[0].name, "new");
	assert_int_equal(t.servers[0].bytes.count, 1);
	assert_int_equal(t.servers[0].bytes.values[0], 0); /* since when is not known */
	assert_string_equal(t.servers[1].name, "a");
	assert_int_equal(t.servers[1].bytes.count, 2);
	assert_int_equal(t.servers[1].bytes.values[0], 7);
	assert_int_equal(t.servers[1].bytes.values[1], 0);
	assert_string_equal(t.servers[2].name, "c");
	assert_int_equal(t.servers[2].bytes.values[0], 9);
	trends_free(&t);
	assert_null(t.servers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_to_the_scale_of_the_largest),
		cmocka_unit_test(only_the_last_values_stay),
		cmocka_unit_test(a_trend_follows_its_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

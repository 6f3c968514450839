/* SPDX-License-Identifier: MIT
 *
 * test_figures.c - numbers for people.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "demo/figures.h"

static void figures_are_short(void **state)
{
	char b[FIGURE_MAX];

	(void)state;
	assert_string_equal(figure_short(0, b), "0");
	assert_string_equal(figure_short(999.4, b), "999");
	assert_string_equal(figure_short(999.6, b), "1.0k");
	assert_string_equal(figure_short(4120, b), "4.1k");
	assert_string_equal(figure_short(12345678, b), "12M");
	assert_string_equal(figure_bytes(512, b), "512 B");
	assert_string_equal(figure_bytes(3.2e9, b), "3.2 GB");
}

static void figures_are_grouped_by_three(void **state)
{
	char b[FIGURE_MAX];

	(void)state;
	assert_string_equal(figure_grouped(0, b), "0");
	assert_string_equal(figure_grouped(999, b), "999");
	assert_string_equal(figure_grouped(1000, b), "1 000");
	assert_string_equal(figure_grouped(98214567, b), "98 214 567");
	assert_string_equal(figure_grouped(UINT64_MAX, b), "18 446 744 073 709 551 615");
}

static void figures_of_time_have_a_unit(void **state)
{
	char b[FIGURE_MAX];

	(void)state;
	assert_string_equal(figure_time(400000, b), "0.4 ms");
	assert_string_equal(figure_time(12000000, b), "12 ms");
	assert_string_equal(figure_time(1200000000, b), "1.2 s");
}

static void figures_of_nothing_are_0_percent(void **state)
{
	(void)state;
	assert_true(figure_percent(0, 0) == 0.);
	assert_true(figure_percent(1, 4) == 25.);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(figures_are_short),
	    cmocka_unit_test(figures_are_grouped_by_three),
	    cmocka_unit_test(figures_of_time_have_a_unit),
	    cmocka_unit_test(figures_of_nothing_are_0_percent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

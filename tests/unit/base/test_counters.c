/* SPDX-License-Identifier: MIT
 *
 * test_counters.c - what the table says of each counter, which reports hand on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/counters.h"

static void each_counter_has_a_unit_and_a_help_text(void **state)
{
	const struct counter_row *row;
	size_t i;

	(void)state;
	for (i = 0; (row = counter_row(i)) != NULL; i++) {
		assert_true(strlen(row->name) > 0);
		assert_true(row->kind == FIGURE_TOTAL || row->kind == FIGURE_GAUGE);
		assert_in_range(strspn(row->unit, "abcdefghijklmnopqrstuvwxyz"), 1, strlen(row->unit));
		assert_true(strlen(row->help) > 3);
		assert_int_equal(row->offset, i * sizeof(uint64_t)); /* each field has its row */
	}
	assert_int_equal(i * sizeof(uint64_t), sizeof(struct counters));
}

static void no_two_counters_have_the_same_name_or_help(void **state)
{
	const struct counter_row *row;

	(void)state;
	for (size_t i = 0; (row = counter_row(i)) != NULL; i++)
		for (size_t k = 0; k < i; k++) {
			assert_string_not_equal(row->name, counter_row(k)->name);
			assert_string_not_equal(row->help, counter_row(k)->help);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_counter_has_a_unit_and_a_help_text),
		cmocka_unit_test(no_two_counters_have_the_same_name_or_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

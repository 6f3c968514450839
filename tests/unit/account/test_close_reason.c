/* SPDX-License-Identifier: MIT
 *
 * test_close_reason.c - the table of close reasons: each can be told from the others, in any log.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/account/close_reason.h"

static void each_row_has_a_name_and_words_of_its_own(void **state)
{
	static const char of_names[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

	(void)state;
	for (int i = 0; i < CLOSE_REASONS; i++) {
		const struct close_reason_row *row = close_reason_row((enum close_reason)i);

		assert_int_equal(strspn(row->name, of_names), strlen(row->name));
		assert_true(strlen(row->words) > 3);
		assert_null(strchr(row->words, '"')); /* they stand in quotes */
		for (int k = 0; k < i; k++) {
			assert_string_not_equal(row->name, close_reason_row((enum close_reason)k)->name);
			assert_string_not_equal(row->words, close_reason_row((enum close_reason)k)->words);
		}
	}
}

static void letters_are_those_of_haproxy(void **state)
{
	(void)state;
	for (int i = 0; i < CLOSE_REASONS; i++) {
		const struct close_reason_row *row = close_reason_row((enum close_reason)i);

		assert_non_null(strchr("-CScsPRIDLK", row->letter1));
		assert_true(row->letter2 == 0 || strchr("-CQD", row->letter2) != NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_has_a_name_and_words_of_its_own),
		cmocka_unit_test(letters_are_those_of_haproxy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * test_info_line.c - lines of "name: value", read one by one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/info_line.h"

static const char answer[] = "# a heading\nstate: ready\nserver.a:b/c: up total=3\n"
			     "listen.web.1: [::1]:80\nempty: \nnone:\nstate: again\nlast: 1: 2";

static void lines_come_one_by_one(void **state)
{
	static const char *const wanted[][2] = {{"state", "ready"}, {"server.a:b/c", "up total=3"},
						{"listen.web.1", "[::1]:80"}, {"empty", ""},
						{"state", "again"}, {"last", "1: 2"}};
	const char *at = answer;
	struct info_line line;

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		assert_true(info_line_next(&at, &line));
		assert_true(info_line_is(&line, wanted[i][0]));
		assert_true(info_line_says(&line, wanted[i][1]));
	}
	assert_false(info_line_next(&at, &line));
	assert_false(info_line_next(&at, &line));
	at = "";
	assert_false(info_line_next(&at, &line));
}

static void a_line_is_found_by_its_whole_name(void **state)
{
	struct info_line line;

	(void)state;
	assert_true(info_line_find(answer, "state", &line));
	assert_true(info_line_says(&line, "ready"));
	assert_false(info_line_says(&line, "read"));
	assert_false(info_line_says(&line, "ready "));
	assert_false(info_line_find(answer, "stat", &line));
	assert_false(info_line_find(answer, "tate", &line));
	assert_false(info_line_find(answer, "none", &line));
}

static void a_value_is_copied_and_cut(void **state)
{
	struct info_line line;
	char out[6];

	(void)state;
	assert_true(info_line_find(answer, "state", &line));
	info_line_copy(&line, out, sizeof(out));
	assert_string_equal(out, "ready");
	info_line_copy(&line, out, 5);
	assert_string_equal(out, "read");
	info_line_copy(&line, out, 1);
	assert_string_equal(out, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_one_by_one),
		cmocka_unit_test(a_line_is_found_by_its_whole_name),
		cmocka_unit_test(a_value_is_copied_and_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

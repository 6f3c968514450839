/* SPDX-License-Identifier: MIT
 *
 * test_log_fields.c - members of a JSON line: any bytes, any room, and still JSON.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/log_fields.h"

static void members_follow_each_other(void **state)
{
	struct log_fields f;
	char out[128];

	(void)state;
	log_fields_init(&f, out, sizeof(out));
	assert_string_equal(out, "");
	log_fields_text(&f, "a", "x");
	log_fields_number(&f, "b", "%d", -3);
	log_fields_bytes(&f, "c", "SDx", 2);
	log_fields_text(&f, "d", "");
	assert_string_equal(out, "\"a\":\"x\",\"b\":-3,\"c\":\"SD\",\"d\":\"\"");
	assert_int_equal(f.text.len, strlen(out));
}

/* Is it what may stand between two quotes of JSON, with no escapes but \" and \\? */
static bool is_json_text(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] < ' ' || text[i] > 126 || text[i] == '"')
			return false;
		if (text[i] == '\\' && ++i < len && text[i] != '\\' && text[i] != '"')
			return false;
		if (i >= len)
			return false; /* half an escape */
	}
	return true;
}

static void every_byte_is_written_so_that_json_takes_it(void **state)
{
	struct log_fields f;
	char out[2048];
	char all[256];

	(void)state;
	for (int i = 0; i < 256; i++)
		all[i] = (char)i;
	log_fields_init(&f, out, sizeof(out));
	log_fields_bytes(&f, "k", all, sizeof(all));
	assert_memory_equal(out, "\"k\":\"\\\\x00\\\\x01", 15);
	assert_non_null(strstr(out, " !\\\"#"));
	assert_non_null(strstr(out, "[\\\\]"));
	assert_non_null(strstr(out, "~\\\\x7f\\\\x80"));
	assert_int_equal(out[f.text.len - 1], '"');
	assert_true(is_json_text(out + 5, f.text.len - 6));
}

static void value_that_does_not_fit_is_cut_between_escapes_with_a_mark(void **state)
{
	const char value[] = "ab\n\"\\\xff" "cdefghijkl";
	const size_t whole = 5 + (2 + 5 + 2 + 2 + 5 + 10) + 1 + 1; /* "k":" VALUE " NUL */
	char out[64];

	(void)state;
	for (size_t room = 1; room <= sizeof(out); room++) {
		struct log_fields f;

		memset(out, '#', sizeof(out));
		log_fields_init(&f, out, room);
		log_fields_text(&f, "k", value);
		assert_true(f.text.len < room);
		assert_int_equal(out[f.text.len], '\0');
		for (size_t i = room; i < sizeof(out); i++)
			assert_int_equal(out[i], '#');
		if (f.text.len == 0) {
			assert_true(room < 10);
			continue;
		}
		assert_int_equal(out[f.text.len - 1], '"');
		assert_true(is_json_text(out + 5, f.text.len - 6));
		assert_int_equal(strstr(out, "...\"") != NULL, room < whole);
	}
}

static void number_that_does_not_fit_is_left_out(void **state)
{
	struct log_fields f;
	char out[14];

	(void)state;
	log_fields_init(&f, out, sizeof(out));
	log_fields_number(&f, "a", "%d", 1);
	log_fields_number(&f, "b", "%d", 1234567);
	assert_string_equal(out, "\"a\":1");
	log_fields_number(&f, "b", "%d", 12);
	assert_string_equal(out, "\"a\":1,\"b\":12");
}

static void plain_text_is_cut_with_a_mark(void **state)
{
	char out[8];

	(void)state;
	assert_int_equal(log_plain("abcdefg", 7, out, sizeof(out)), 7);
	assert_string_equal(out, "abcdefg");
	assert_int_equal(log_plain("abcdefgh", 8, out, sizeof(out)), 7);
	assert_string_equal(out, "abcd...");
	assert_int_equal(log_plain("abc\nd", 5, out, sizeof(out)), 6);
	assert_string_equal(out, "abc...");
	assert_int_equal(log_plain("abc\n", 4, out, sizeof(out)), 7);
	assert_string_equal(out, "abc\\x0a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_follow_each_other),
		cmocka_unit_test(every_byte_is_written_so_that_json_takes_it),
		cmocka_unit_test(value_that_does_not_fit_is_cut_between_escapes_with_a_mark),
		cmocka_unit_test(number_that_does_not_fit_is_left_out),
		cmocka_unit_test(plain_text_is_cut_with_a_mark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

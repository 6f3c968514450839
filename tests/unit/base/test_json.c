/* SPDX-License-Identifier: MIT
 *
 * test_json.c - the writer of JSON: any bytes, its commas, its lines, and what does not fit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/json.h"

static struct text out;
static struct json j;

static void begin(enum json_bytes bytes)
{
	text_free(&out);
	json_init(&j, &out, bytes);
}

static void assert_string(enum json_bytes bytes, const char *value, size_t len, const char *wanted)
{
	begin(bytes);
	json_string_of(&j, NULL, value, len);
	assert_string_equal(out.bytes, wanted);
}

static void bytes_are_escaped_in_three_ways(void **state)
{
	static const char quotes[] = "a\"b\\c/'", controls[] = "\0\n\x1f \x7e\x7f";

	(void)state;
	for (int bytes = JSON_CODES; bytes <= JSON_HEX; bytes++)
		assert_string((enum json_bytes)bytes, quotes, strlen(quotes), "\"a\\\"b\\\\c/'\"");
	assert_string(JSON_CODES, controls, sizeof(controls) - 1, "\"\\u0000\\u000a\\u001f ~\\u007f\"");
	assert_string(JSON_UTF8, controls, sizeof(controls) - 1, "\"\\u0000\\u000a\\u001f ~\\u007f\"");
	assert_string(JSON_HEX, controls, sizeof(controls) - 1, "\"\\\\x00\\\\x0a\\\\x1f ~\\\\x7f\"");
	assert_string(JSON_CODES, "\xc3\xa4\xff", 3, "\"\\u00c3\\u00a4\\u00ff\"");
	assert_string(JSON_HEX, "\xc3\xa4\xff", 3, "\"\\\\xc3\\\\xa4\\\\xff\"");
	assert_string(JSON_CODES, "", 0, "\"\"");
}

static void utf8_stays_and_what_is_none_does_not(void **state)
{
	static const struct {
		const char *in, *wanted;
	} cases[] = {
		{"\xc3\xa4", "\"\xc3\xa4\""},
		{"x\xe2\x82\xac\"", "\"x\xe2\x82\xac\\\"\""},
		{"\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""},
		{"\xff", "\"\\ufffd\""},
		{"\xc3", "\"\\ufffd\""},	      /* cut */
		{"\xc3(", "\"\\ufffd(\""},	      /* no second byte */
		{"\xc0\xaf", "\"\\ufffd\\ufffd\""},   /* overlong */
		{"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""}, /* half a surrogate pair */
		{"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""}, /* past the last */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string(JSON_UTF8, cases[i].in, strlen(cases[i].in), cases[i].wanted);
}

static void items_have_commas_and_keys(void **state)
{
	(void)state;
	begin(JSON_CODES);
	json_object(&j, NULL);
	json_string(&j, "a\"", "x");
	json_string(&j, "none", NULL);
	json_array(&j, "list");
	json_unsigned(&j, NULL, UINT64_MAX);
	json_signed(&j, NULL, -1);
	json_array(&j, NULL);
	json_array_end(&j);
	json_object(&j, NULL);
	json_object_end(&j);
	json_array_end(&j);
	json_bool(&j, "yes", true);
	json_key(&j, "number", 3);
	json_printf(&j, NULL, "%.1f", 2.5);
	json_object_end(&j);
	assert_string_equal(out.bytes,
			    "{\"a\\\"\":\"x\",\"none\":null,\"list\":[18446744073709551615,-1,[],{}],"
			    "\"yes\":true,\"num\":2.5}");
}

static void words_that_are_whole_numbers_are_numbers(void **state)
{
	static const char *const words[] = {"0", "-7", "12", "18446744073709551615", "007", "1.5", "-", ""};

	(void)state;
	begin(JSON_CODES);
	json_array(&j, NULL);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		json_word(&j, NULL, words[i], strlen(words[i]));
	json_array_end(&j);
	assert_string_equal(out.bytes, "[0,-7,12,\"18446744073709551615\",\"007\",\"1.5\",\"-\",\"\"]");
}

static void lines_begin_where_they_are_asked_for(void **state)
{
	(void)state;
	begin(JSON_CODES);
	j.spaced = true;
	json_object(&j, NULL);
	json_line(&j, 2);
	json_unsigned(&j, "a", 1);
	json_unsigned(&j, "b", 2);
	json_line(&j, 2);
	json_array(&j, "c");
	json_line(&j, 4); /* it stays empty */
	json_array_end(&j);
	json_array(&j, "d");
	json_line(&j, 4);
	json_unsigned(&j, NULL, 3);
	json_line(&j, 2);
	json_array_end(&j);
	json_line(&j, 0);
	json_object_end(&j);
	assert_string_equal(out.bytes, "{\n  \"a\": 1, \"b\": 2,\n  \"c\": [], \"d\": [\n    3\n  ]\n}");
}

static void a_buffer_that_is_full_is_never_overrun(void **state)
{
	char buf[32];

	(void)state;
	for (size_t room = 1; room <= sizeof(buf); room++) {
		struct text fixed;

		memset(buf, '#', sizeof(buf));
		text_over(&fixed, buf, room);
		json_init(&j, &fixed, JSON_HEX);
		json_object(&j, NULL);
		json_unsigned(&j, "number", 1234);
		json_string(&j, "s", "\n");
		json_object_end(&j);
		assert_int_equal(fixed.failed, room < strlen("{\"number\":1234,\"s\":\"\\\\x0a\"}") + 1);
		assert_true(fixed.len < room);
		assert_int_equal(buf[fixed.len], '\0');
		for (size_t i = room; i < sizeof(buf); i++)
			assert_int_equal(buf[i], '#');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_escaped_in_three_ways),
		cmocka_unit_test(utf8_stays_and_what_is_none_does_not),
		cmocka_unit_test(items_have_commas_and_keys),
		cmocka_unit_test(words_that_are_whole_numbers_are_numbers),
		cmocka_unit_test(lines_begin_where_they_are_asked_for),
		cmocka_unit_test(a_buffer_that_is_full_is_never_overrun),
	};
	const int failed = cmocka_run_group_tests(tests, NULL, NULL);

	text_free(&out);
	return failed;
}

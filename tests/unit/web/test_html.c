/* SPDX-License-Identifier: MIT
 *
 * test_html.c - what is written into HTML stays text, and numbers read as people expect.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "web/html.h"
#include "weir/base/check.h"

static char buf[512];
static struct text out;

static void expect(const char *wanted)
{
	assert_false(out.failed);
	assert_string_equal(buf, wanted);
	text_over(&out, buf, sizeof(buf));
}

static void markup_in_text_is_escaped(void **state)
{
	(void)state;
	text_over(&out, buf, sizeof(buf));
	html_text(&out, "<b a='1' c=\"2\">&amp;</b>");
	expect("&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;amp;&lt;/b&gt;");
	html_text(&out, "a\x01\xff\n\x7f" "b");
	expect("a\\x01\\xff\\x0a\\x7f" "b");
	html_text(&out, NULL);
	html_text(&out, "");
	expect("");
	html_raw(&out, "<b>");
	expect("<b>");
}

/* Every byte alone: none of those that mean something in HTML comes out as it is. */
static void no_byte_is_forgotten(void **state)
{
	(void)state;
	for (unsigned c = 1; c < 256; c++) {
		const char one[] = {(char)c, '\0'};

		text_over(&out, buf, sizeof(buf));
		html_text(&out, one);
		assert_false(out.failed);
		assert_true(out.len > 0);
		assert_null(strpbrk(buf, "<>\"'"));
		assert_true(c != '&' || strcmp(buf, "&amp;") == 0);
		for (size_t i = 0; i < out.len; i++)
			assert_true(buf[i] >= ' ' && buf[i] < 0x7f);
		text_over(&out, buf, sizeof(buf));
		html_query(&out, one);
		assert_null(strpbrk(buf, "<>\"'&?#+ /"));
	}
}

static void a_query_is_encoded(void **state)
{
	(void)state;
	text_over(&out, buf, sizeof(buf));
	html_query(&out, "a-b_c.d~E9/ &\xff");
	expect("a-b_c.d~E9%2F%20%26%FF");
}

static void numbers_are_readable(void **state)
{
	static const struct {
		enum html_form form;
		uint64_t value;
		const char *text;
		bool rounded;
	} rows[] = {
		{HTML_COUNT, 0, "0", false},
		{HTML_COUNT, 999999, "999999", false},
		{HTML_COUNT, 1000000, "1.00 M", true},
		{HTML_TROUBLE, 12345678, "12.3 M", true},
		{HTML_COUNT, 999400000, "999 M", true},
		{HTML_COUNT, 999600000, "1.00 G", true},
		{HTML_COUNT, UINT64_MAX, "18.4 E", true},
		{HTML_BYTES, 0, "0 B", true},
		{HTML_BYTES, 1023, "1023 B", true},
		{HTML_BYTES, 1024, "1.00 KiB", true},
		{HTML_BYTES, 1536, "1.50 KiB", true},
		{HTML_BYTES, 1048575, "1.00 MiB", true},
		{HTML_BYTES, UINT64_MAX, "16.0 EiB", true},
		{HTML_TIME, 0, "0 &micro;s", true},
		{HTML_TIME, 999, "999 &micro;s", true},
		{HTML_TIME, 1500, "1.50 ms", true},
		{HTML_TIME, 999499, "999 ms", true},
		{HTML_TIME, 999600, "1.00 s", true},
		{HTML_TIME, 123000000, "123 s", true},
	};

	(void)state;
	text_over(&out, buf, sizeof(buf));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		html_number(&out, rows[i].form, rows[i].value);
		expect(rows[i].text);
		assert_int_equal(html_is_rounded(rows[i].form, rows[i].value), rows[i].rounded);
	}
}

static void ages_have_two_units(void **state)
{
	static const struct {
		int64_t seconds;
		const char *text;
	} rows[] = {
		{-5, "0 s"}, {0, "0 s"}, {59, "59 s"}, {60, "1 min"}, {3599, "59 min"}, {3600, "1 h 0 min"},
		{86399, "23 h 59 min"}, {90000, "1 d 1 h"}, {INT64_C(86400) * 400, "400 d 0 h"},
	};

	(void)state;
	text_over(&out, buf, sizeof(buf));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		html_age(&out, rows[i].seconds);
		expect(rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(markup_in_text_is_escaped),
		cmocka_unit_test(no_byte_is_forgotten),
		cmocka_unit_test(a_query_is_encoded),
		cmocka_unit_test(numbers_are_readable),
		cmocka_unit_test(ages_have_two_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

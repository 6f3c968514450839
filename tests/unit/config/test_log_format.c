/* SPDX-License-Identifier: MIT
 *
 * test_log_format.c - log formats: what is a field, what is text, and what is refused at which place.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/config/log_format.h"

static struct log_format parse(const char *text)
{
	struct log_format_fault fault;
	struct log_format f;

	assert_int_equal(log_format_parse(&f, text, &fault), 0);
	assert_ptr_equal(f.text, text);
	return f;
}

static void assert_piece(const struct log_format *f, size_t i, enum log_name name, const char *text)
{
	assert_true(i < f->count);
	assert_int_equal(f->pieces[i].name, name);
	assert_int_equal(f->pieces[i].len, strlen(text));
	assert_memory_equal(f->text + f->pieces[i].start, text, strlen(text));
}

static void fields_and_text_follow_each_other(void **state)
{
	const struct log_format f = parse("a {client}{%B}{{x}} {{{id}}}");

	(void)state;
	assert_int_equal(f.count, 10);
	assert_piece(&f, 0, LOG_NAME_NONE, "a ");
	assert_piece(&f, 1, LOG_NAME_CLIENT, "{client}");
	assert_piece(&f, 2, LOG_NAME_HA_BYTES_OUT, "{%B}");
	assert_piece(&f, 3, LOG_NAME_NONE, "{");
	assert_piece(&f, 4, LOG_NAME_NONE, "x");
	assert_piece(&f, 5, LOG_NAME_NONE, "}");
	assert_piece(&f, 6, LOG_NAME_NONE, " ");
	assert_piece(&f, 7, LOG_NAME_NONE, "{");
	assert_piece(&f, 8, LOG_NAME_ID, "{id}");
	assert_piece(&f, 9, LOG_NAME_NONE, "}");
}

static void every_name_is_found_by_its_word(void **state)
{
	(void)state;
	for (enum log_name i = 0; i < LOG_NAMES; i++)
		assert_int_equal(log_name_of(log_name_word(i), strlen(log_name_word(i))), i);
	assert_int_equal(log_name_of("clien", 5), LOG_NAME_NONE);
	assert_int_equal(log_name_of("", 0), LOG_NAME_NONE);
}

static void only_formats_with_counts_need_them(void **state)
{
	static const char *const with[] = {LOG_FORMAT_TCPLOG, "{%ac}", "{%fc}", "{%bc}", "{%sc}"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(with); i++)
		assert_true(parse(with[i]).counts);
	assert_false(parse("{client} {%rc} {%sq} {%bq}").counts);
}

static void faults_have_a_place(void **state)
{
	static const struct {
		const char *text;
		size_t at, len;
		const char *why; /* NULL = a name */
	} rows[] = {
		{"{client} {clinet}", 10, 6, NULL},
		{"{client} {server", 9, 1, "never closed"},
		{"{client {server}", 0, 1, "never closed"},
		{"{client} {}", 9, 2, "empty"},
		{"{client}}", 8, 1, "not opened"},
		{"a\tb", 1, 1, "printable"},
		{"{id} \xc3\xa4", 5, 1, "printable"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct log_format_fault fault;
		struct log_format f;

		assert_int_equal(log_format_parse(&f, rows[i].text, &fault), -EINVAL);
		assert_int_equal(fault.at, rows[i].at);
		assert_int_equal(fault.len, rows[i].len);
		assert_int_equal(fault.is_name, rows[i].why == NULL);
		if (rows[i].why != NULL)
			assert_non_null(strstr(fault.why, rows[i].why));
	}
}

static void length_and_pieces_are_limited(void **state)
{
	struct log_format_fault fault;
	struct log_format f;
	char text[LOG_FORMAT_MAX + 2];

	(void)state;
	memset(text, 'x', sizeof(text));
	text[LOG_FORMAT_MAX] = '\0';
	assert_int_equal(log_format_parse(&f, text, &fault), 0);
	text[LOG_FORMAT_MAX] = 'x';
	text[LOG_FORMAT_MAX + 1] = '\0';
	assert_int_equal(log_format_parse(&f, text, &fault), -EINVAL);
	assert_non_null(strstr(fault.why, "511"));
	for (size_t i = 0; i <= LOG_FORMAT_PIECES; i++)
		memcpy(text + 2 * i, "{{", 3);
	assert_int_equal(log_format_parse(&f, text, &fault), -EINVAL);
	assert_int_equal(fault.at, 2 * LOG_FORMAT_PIECES);
	text[2 * LOG_FORMAT_PIECES] = '\0';
	assert_int_equal(log_format_parse(&f, text, &fault), 0);
	assert_int_equal(f.count, LOG_FORMAT_PIECES);
}

static void words_mean_styles(void **state)
{
	const char *text = "x";

	(void)state;
	assert_int_equal(log_format_style(NULL, &text), LOG_STYLE_TEXT);
	assert_null(text);
	assert_int_equal(log_format_style("json", &text), LOG_STYLE_JSON);
	assert_null(text);
	assert_int_equal(log_format_style("text", &text), LOG_STYLE_TEXT);
	assert_null(text);
	assert_int_equal(log_format_style("tcplog", &text), LOG_STYLE_TEXT);
	assert_string_equal(text, LOG_FORMAT_TCPLOG);
	assert_int_equal(log_format_style("{id}", &text), LOG_STYLE_TEXT);
	assert_string_equal(text, "{id}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_and_text_follow_each_other),
		cmocka_unit_test(every_name_is_found_by_its_word),
		cmocka_unit_test(only_formats_with_counts_need_them),
		cmocka_unit_test(faults_have_a_place),
		cmocka_unit_test(length_and_pieces_are_limited),
		cmocka_unit_test(words_mean_styles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

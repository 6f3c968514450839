/* SPDX-License-Identifier: MIT
 *
 * test_exec_output.c - the last line of what a program prints, however it is cut into pieces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "health/exec_output.h"

static char text[EXEC_LINE_BYTES + 1];

static const char *last_of(const char *data, size_t len, size_t piece)
{
	struct exec_output o;

	exec_output_init(&o);
	for (size_t i = 0; i < len; i += piece)
		exec_output_push(&o, data + i, len - i < piece ? len - i : piece);
	exec_output_end(&o, text);
	return text;
}

static void the_last_line_with_something_in_it_counts(void **state)
{
	static const struct {
		const char *all, *last;
	} rows[] = {
		{"", ""},
		{"\n\n \t\r\n", ""},
		{"one", "one"},
		{"one\n", "one"},
		{"one\ntwo", "two"},
		{"one\r\n\r\n", "one"},
		{"one\n  two \t\n\n", "  two"},
		{"one\n   ", "one"},
		{"a \x1b[1m\"b\"\\\n", "a \\x1b[1m\\x22b\\x22\\x5c"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t piece = 1; piece < 5; piece++)
			assert_string_equal(last_of(rows[i].all, strlen(rows[i].all), piece), rows[i].last);
}

static void a_long_line_keeps_its_beginning(void **state)
{
	char data[3000];

	(void)state;
	memset(data, 'x', sizeof(data));
	for (size_t piece = 1; piece < sizeof(data); piece *= 7) {
		assert_int_equal(strlen(last_of(data, sizeof(data), piece)), EXEC_LINE_BYTES);
		data[1000] = '\n';
		assert_int_equal(strlen(last_of(data, 1001, piece)), EXEC_LINE_BYTES);
		data[1000] = 'x';
	}
	/* An escape is written whole or not at all. */
	memset(data, '\1', sizeof(data));
	assert_int_equal(strlen(last_of(data, sizeof(data), 64)), EXEC_LINE_BYTES / 4 * 4);
	memcpy(data, "xyz", 3);
	assert_int_equal(strlen(last_of(data, sizeof(data), 64)), 199);
	memset(data, 0, sizeof(data));
	assert_int_equal(strlen(last_of(data, sizeof(data), 64)), EXEC_LINE_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_line_with_something_in_it_counts),
		cmocka_unit_test(a_long_line_keeps_its_beginning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

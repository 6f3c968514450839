/* SPDX-License-Identifier: MIT
 *
 * test_text.c - the text that grows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/text.h"

static void text_grows_and_keeps_its_bytes(void **state)
{
	struct text t;

	(void)state;
	text_init(&t);
	for (int i = 0; i < 10000; i++)
		text_printf(&t, "%04d\n", i);
	text_add(&t, "end", 3);
	assert_false(t.failed);
	assert_int_equal(t.len, 50003);
	assert_memory_equal(t.bytes + 5 * 1234, "1234\n", 5);
	assert_string_equal(t.bytes + 50000, "end");
	text_free(&t);
	assert_null(t.bytes);
	assert_int_equal(t.len, 0);
}

static void text_takes_nothing_gladly(void **state)
{
	struct text t;

	(void)state;
	text_init(&t);
	text_add(&t, "", 0);
	assert_null(t.bytes);
	text_printf(&t, "%s", "");
	assert_int_equal(t.len, 0);
	text_free(&t);
}

static void text_remembers_what_did_not_fit(void **state)
{
	struct text t;

	(void)state;
	text_init(&t);
	text_add(&t, "a", 1);
	text_add(&t, "b", TEXT_BYTES_MAX); /* refused before a byte is read */
	assert_true(t.failed);
	text_add(&t, "c", 1);
	assert_int_equal(t.len, 1);
	text_free(&t);
	assert_false(t.failed);
}

static void text_is_cut(void **state)
{
	char buf[8];
	struct text t;

	(void)state;
	text_init(&t);
	text_cut(&t, 0);
	assert_null(t.bytes);
	text_printf(&t, "abcdef");
	text_cut(&t, 4);
	assert_string_equal(t.bytes, "abcd");
	text_add(&t, "x", 1);
	assert_string_equal(t.bytes, "abcdx");
	text_free(&t);
	text_over(&t, buf, sizeof(buf));
	text_printf(&t, "abcdefg");
	text_cut(&t, 0);
	assert_string_equal(buf, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_grows_and_keeps_its_bytes),
		cmocka_unit_test(text_takes_nothing_gladly),
		cmocka_unit_test(text_remembers_what_did_not_fit),
		cmocka_unit_test(text_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

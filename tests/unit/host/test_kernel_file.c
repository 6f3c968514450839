/* SPDX-License-Identifier: MIT
 *
 * test_kernel_file.c - small files as text, lines and numbers; capabilities.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/kernel_file.h"
#include "weir/base/check.h"

static char path[] = "/tmp/weir-file-XXXXXX";

static int setup(void **state)
{
	const int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	(void)state;
	return unlink(path);
}

static void hold(const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void file_is_read_as_far_as_it_fits(void **state)
{
	char buf[8];

	(void)state;
	hold("ab\ncd");
	assert_int_equal(kernel_file_read(path, buf, sizeof(buf)), 5);
	assert_string_equal(buf, "ab\ncd");
	hold("0123456789");
	assert_int_equal(kernel_file_read(path, buf, sizeof(buf)), 7);
	assert_string_equal(buf, "0123456");
	assert_int_equal(kernel_file_read("/nowhere", buf, sizeof(buf)), -ENOENT);
	assert_string_equal(buf, "");
}

static void line_ends_before_its_newline(void **state)
{
	char buf[8];

	(void)state;
	hold("reno bbr\ncubic\n");
	assert_string_equal(kernel_file_line(path, buf, sizeof(buf)), "reno bb");
	hold("a\nb\n");
	assert_string_equal(kernel_file_line(path, buf, sizeof(buf)), "a");
	assert_string_equal(kernel_file_line("/nowhere", buf, sizeof(buf)), "");
}

static void only_digits_begin_a_number(void **state)
{
	static const char *const none[] = {"max\n", "", " 7\n", "-1\n", "18446744073709551616\n"};
	uint64_t n;

	(void)state;
	hold("4096\n");
	assert_true(kernel_file_number(path, &n));
	assert_int_equal(n, 4096);
	hold("10240 65000\n");
	assert_true(kernel_file_number(path, &n));
	assert_int_equal(n, 10240);
	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		hold(none[i]);
		assert_false(kernel_file_number(path, &n));
	}
	assert_false(kernel_file_number("/nowhere", &n));
}

static void capabilities_are_read_from_status(void **state)
{
	(void)state;
	assert_true(kernel_file_capabilities("Name:\tx\nCapEff:\t000001ffffffffff\nCapBnd:\t0\n") ==
		    UINT64_C(0x1ffffffffff));
	assert_true(kernel_file_capabilities("\nCapEff:\t0000000000200000\n") == UINT64_C(1) << 21);
	assert_true(kernel_file_capabilities("\nCapEff:\t0000000000000000\n") == 0);
	assert_true(kernel_file_capabilities("Name:\tx\n") == 0);
	/* All or nothing for root, as a rule: it must not fail, whatever it says. */
	(void)kernel_file_has_capability(10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_is_read_as_far_as_it_fits),
		cmocka_unit_test(line_ends_before_its_newline),
		cmocka_unit_test(only_digits_begin_a_number),
		cmocka_unit_test(capabilities_are_read_from_status),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

/* SPDX-License-Identifier: MIT
 *
 * test_keyed.c - bytes that belong to a key.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "demo/keyed.h"

static void keyed_bytes_are_the_same_at_both_ends(void **state)
{
	(void)state;
	for (uint64_t key = 0; key < 1000; key += 7) {
		unsigned char copy[4096];

		memcpy(copy, keyed_at(key, key * 1000), sizeof(copy));
		assert_true(keyed_same(key, key * 1000, copy, sizeof(copy)));
	}
}

static void keyed_stream_goes_on_where_a_piece_ends(void **state)
{
	(void)state;
	for (uint64_t at = 0; at < 3 * KEYED_PERIOD; at += 977)
		assert_memory_equal(keyed_at(5, at) + 500, keyed_at(5, at + 500), KEYED_PIECE - 500);
}

static void keyed_sees_a_byte_that_changed(void **state)
{
	unsigned char copy[2048];

	(void)state;
	for (size_t i = 0; i < sizeof(copy); i++) {
		memcpy(copy, keyed_at(9, 100), sizeof(copy));
		copy[i] ^= 1;
		assert_false(keyed_same(9, 100, copy, sizeof(copy)));
	}
}

static void keyed_sees_bytes_that_moved_or_came_from_another_key(void **state)
{
	(void)state;
	for (uint64_t shift = 1; shift < 70000; shift++)
		if (shift != KEYED_PERIOD)
			assert_false(keyed_same(3, 0, keyed_at(3, shift), 16));
	for (uint64_t key = 4; key < 3000; key++)
		assert_false(keyed_same(3, 0, keyed_at(key, 0), 16));
	/* Blocks and pages are what a mistake would move bytes by. */
	for (uint64_t shift = 512; shift < (1u << 30); shift *= 2)
		assert_false(keyed_same(3, 0, keyed_at(3, shift), 16));
}

static int setup(void **state)
{
	(void)state;
	keyed_init();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(keyed_bytes_are_the_same_at_both_ends),
	    cmocka_unit_test(keyed_stream_goes_on_where_a_piece_ends),
	    cmocka_unit_test(keyed_sees_a_byte_that_changed),
	    cmocka_unit_test(keyed_sees_bytes_that_moved_or_came_from_another_key),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}

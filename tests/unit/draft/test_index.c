/* SPDX-License-Identifier: MIT
 *
 * test_index.c - what was put under a text is found, however many there are; an arena with a limit has one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "weir/draft/index.h"

#define MANY 5000

static void what_was_put_last_is_found(void **state)
{
	static unsigned things[MANY];
	struct arena a = {0};
	struct index x = {.count = 0};

	(void)state;
	assert_null(index_find(&x, ""));
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < MANY; i++)
			index_put(&a, &x, arena_printf(&a, "name %u", i), &things[(i + round) % MANY]);
	assert_int_equal(x.count, MANY);
	for (unsigned i = 0; i < MANY; i++)
		assert_ptr_equal(index_find(&x, arena_printf(&a, "name %u", i)), &things[(i + 1) % MANY]);
	assert_null(index_find(&x, "name"));
	arena_free(&a);
}

static void memory_ends_at_the_limit(void **state)
{
	static unsigned got; /* kept over the jump */
	struct arena a = {.max = 1 << 20};
	jmp_buf no_memory;

	(void)state;
	a.no_memory = &no_memory;
	if (setjmp(no_memory) == 0)
		for (got = 0; got < 2048; got++)
			(void)arena_alloc(&a, 1000); /* counted, and freed with the arena */
	assert_in_range(got, 900, 1048);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_was_put_last_is_found),
	    cmocka_unit_test(memory_ends_at_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

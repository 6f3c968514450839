/* SPDX-License-Identifier: MIT
 *
 * test_shared.c - the same for all that want it, until the last of them drops it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "weir/base/shared.h"

struct thing {
	int number;
	struct shared shared;
};

static bool has_number(const struct shared *s, const void *key)
{
	return container_of(s, struct thing, shared)->number == *(const int *)key;
}

static struct shared_set things = SHARED_SET(things, has_number);

static void the_last_one_ends_it(void **state)
{
	struct thing one = {.number = 1}, two = {.number = 2}, again = {.number = 1};

	(void)state;
	assert_null(shared_find(&things, &one.number));
	assert_ptr_equal(shared_publish(&things, &one.shared, &one.number), &one.shared);
	assert_ptr_equal(shared_publish(&things, &two.shared, &two.number), &two.shared);
	assert_ptr_equal(shared_publish(&things, &again.shared, &again.number), &one.shared);
	assert_ptr_equal(shared_find(&things, &again.number), &one.shared);
	shared_hold(&things, &one.shared);
	for (int i = 0; i < 3; i++)
		assert_false(shared_drop(&things, &one.shared));
	assert_true(shared_drop(&things, &one.shared));
	assert_null(shared_find(&things, &one.number));
	assert_ptr_equal(shared_publish(&things, &again.shared, &again.number), &again.shared);
	assert_true(shared_drop(&things, &again.shared));
	assert_true(shared_drop(&things, &two.shared));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_one_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

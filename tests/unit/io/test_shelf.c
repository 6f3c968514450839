/* SPDX-License-Identifier: MIT
 *
 * test_shelf.c - the order in which things are taken, and what a cycle hands out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "weir/io/shelf.h"

#define ITEMS 8

static struct shelf_item items[ITEMS];

static struct shelf shelf_of(int n)
{
	struct shelf s = {.head = NULL};

	for (int i = 0; i < n; i++) {
		shelf_item_init(&items[i]);
		shelf_push(&s, &items[i]);
	}
	return s;
}

static uint32_t chain_length(struct shelf_item *chain)
{
	uint32_t n = 0;

	while (shelf_next_dead(&chain) != NULL)
		n++;
	return n;
}

static void youngest_is_taken_first_and_victims_last(void **state)
{
	struct shelf s = shelf_of(2);

	(void)state;
	assert_null(shelf_age(&s));
	shelf_item_init(&items[2]);
	shelf_push(&s, &items[2]);
	assert_int_equal(shelf_size(&s), 3);
	assert_ptr_equal(shelf_pop(&s), &items[2]);
	assert_null(shelf_pop_young(&s));
	assert_ptr_equal(shelf_pop(&s), &items[1]);
	assert_ptr_equal(shelf_pop(&s), &items[0]);
	assert_null(shelf_pop(&s));
	assert_int_equal(shelf_size(&s), 0);
}

static void cycle_hands_out_the_low_water_mark_of_what_was_there(void **state)
{
	struct shelf s = shelf_of(6);
	struct shelf_item *taken[4];

	(void)state;
	assert_null(shelf_age(&s));
	for (int i = 0; i < 4; i++)
		taken[i] = shelf_pop(&s); /* 2 are left: the low-water mark */
	for (int i = 0; i < 4; i++)
		shelf_push(&s, taken[i]);
	assert_int_equal(chain_length(shelf_age(&s)), 2);
	assert_int_equal(shelf_size(&s), 4);
	assert_int_equal(chain_length(shelf_age(&s)), 4);
	assert_int_equal(shelf_size(&s), 0);
}

static void moved_items_are_victims_no_more(void **state)
{
	struct shelf from = shelf_of(5);
	struct shelf to = {.head = NULL};

	(void)state;
	assert_null(shelf_age(&from));
	assert_int_equal(shelf_move(&from, &to, 3), 3);
	assert_int_equal(from.victim_count, 2);
	assert_int_equal(to.count, 3);
	assert_int_equal(to.victim_count, 0);
	assert_int_equal(shelf_move(&from, &to, 3), 2);
	assert_int_equal(shelf_move(&from, &to, 3), 0);
	assert_int_equal(shelf_size(&to), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(youngest_is_taken_first_and_victims_last),
		cmocka_unit_test(cycle_hands_out_the_low_water_mark_of_what_was_there),
		cmocka_unit_test(moved_items_are_victims_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

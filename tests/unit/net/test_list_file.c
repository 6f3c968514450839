/* SPDX-License-Identifier: MIT
 *
 * test_list_file.c - lists of files: one object per text, freed with its last reference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "weir/net/host_set.h"
#include "weir/net/list_file.h"
#include "weir/net/netset.h"

static const struct net_prefix ten = {AF_INET, 8, {10}}, eleven = {AF_INET, 8, {11}};
static const struct addr_brief in_ten = {AF_INET, 80, 0, {10, 1}}, in_eleven = {AF_INET, 80, 0, {11, 1}};

static struct list_file *networks(const char *text, size_t len)
{
	const struct list_key key = list_key_of(LIST_NETWORKS, text, len);
	const struct list_sets sets = {.networks = netset_new(&ten, 1)};

	assert_non_null(sets.networks);
	return list_file_make(&key, sets, 7);
}

static void the_same_text_is_the_same_object(void **state)
{
	const struct list_key key = list_key_of(LIST_NETWORKS, "10.0.0.0/8", 10);
	const struct list_key as_names = list_key_of(LIST_NAMES, "10.0.0.0/8", 10);
	const struct list_key other = list_key_of(LIST_NETWORKS, "10.0.0.0/9", 10);
	struct list_file *a, *b, *c;

	(void)state;
	assert_null(list_file_find(&key));
	a = networks("10.0.0.0/8", 10);
	b = list_file_find(&key);
	c = networks("10.0.0.0/8", 10); /* what another thread made meanwhile is let go */
	assert_ptr_equal(a, b);
	assert_ptr_equal(a, c);
	assert_null(list_file_find(&as_names));
	assert_null(list_file_find(&other));
	assert_int_equal(list_file_count(a), 7);
	assert_true(netset_has(list_file_networks(a), &in_ten));
	assert_null(list_file_names(a));
	list_file_drop(a);
	list_file_drop(b);
	assert_ptr_equal(list_file_hold(c), c);
	list_file_drop(c);
	assert_true(netset_has(list_file_networks(c), &in_ten));
	list_file_drop(c);
	assert_null(list_file_find(&key));
}

static void a_set_contains_what_it_includes(void **state)
{
	struct list_file *file = networks("x", 1);
	struct netset *set = netset_new(&eleven, 1), *empty = netset_new(NULL, 0);

	(void)state;
	assert_false(netset_has(set, &in_ten));
	assert_true(netset_include(set, list_file_networks(file)));
	assert_true(netset_has(set, &in_ten));
	assert_true(netset_has(set, &in_eleven));
	assert_true(netset_include(empty, set));
	assert_true(netset_has(empty, &in_ten));
	assert_false(netset_has(list_file_networks(file), &in_eleven));
	netset_free(empty);
	netset_free(set);
	list_file_drop(file);
}

static void names_of_a_part_match_and_cover(void **state)
{
	const struct host_pattern one = {HOST_EXACT, 3, "one"}, below = {HOST_BELOW, 3, "two"};
	const struct host_pattern a_two = {HOST_EXACT, 5, "a.two"};
	struct host_set *set = host_set_new(&one, 1), *part = host_set_room(2, 6);
	struct host_pattern wide;

	(void)state;
	assert_non_null(set);
	assert_non_null(part);
	host_set_add(part, &below);
	host_set_add(part, &below);
	assert_false(host_set_has(set, "a.two", 5));
	assert_true(host_set_include(set, part));
	assert_true(host_set_has(set, "a.two", 5));
	assert_false(host_set_has(set, "two", 3));
	assert_true(host_set_has(set, "one", 3));
	assert_true(host_set_covers(set, &a_two, &wide));
	assert_string_equal(wide.name, "two");
	host_set_free(set);
	host_set_free(part);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_text_is_the_same_object),
		cmocka_unit_test(a_set_contains_what_it_includes),
		cmocka_unit_test(names_of_a_part_match_and_cover),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

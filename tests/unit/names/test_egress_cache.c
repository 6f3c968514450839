/* SPDX-License-Identifier: MIT
 *
 * test_egress_cache.c - names are remembered until their time is over, by name and family, and the one that
 * was used least recently makes room; and whose addresses are.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "names/egress_cache.h"
#include "names/egress_route.h"

static struct egress_cache cache;

static int begin(void **state)
{
	(void)state;
	egress_cache_init(&cache);
	return 0;
}

static int end(void **state)
{
	(void)state;
	egress_cache_free(&cache);
	assert_int_equal(cache.count, 0);
	return 0;
}

static struct egress_found found_at(uint8_t last, unsigned count)
{
	struct egress_found f = {.outcome = count > 0 ? EGRESS_FOUND : EGRESS_NOTHING, .count = count};

	for (unsigned i = 0; i < count; i++)
		f.list[i] = (struct addr_brief){.family = AF_INET, .ip = {192, 0, 2, (uint8_t)(last + i)}};
	return f;
}

static void put(const char *name, int family, uint8_t last, int64_t now_ns, int64_t until_ns)
{
	const struct egress_found f = found_at(last, 2);

	egress_cache_put(&cache, name, family, &f, now_ns, until_ns);
}

/* The last byte of its first address; -1 = nothing is known. */
static int look(const char *name, int family, int64_t now_ns)
{
	struct egress_found f = {0};

	return egress_cache_find(&cache, name, family, now_ns, &f) ? f.list[0].ip[3] : -1;
}

static void a_name_is_known_until_its_time_is_over(void **state)
{
	(void)state;
	assert_int_equal(look("a.example", AF_UNSPEC, 0), -1);
	put("a.example", AF_UNSPEC, 1, 0, 100);
	put("a.example", AF_INET, 7, 0, 100);
	put("ab.example", AF_UNSPEC, 9, 0, 200);
	assert_int_equal(look("a.example", AF_UNSPEC, 99), 1);
	assert_int_equal(look("a.example", AF_INET, 99), 7);
	assert_int_equal(look("a.example", AF_INET6, 99), -1);
	assert_int_equal(look("a.exampl", AF_UNSPEC, 99), -1);
	assert_int_equal(look("a.example", AF_UNSPEC, 100), -1);
	assert_int_equal(look("ab.example", AF_UNSPEC, 100), 9);
	assert_int_equal(cache.count, 2);
}

static void the_newer_answer_counts_and_none_is_one(void **state)
{
	const struct egress_found none = found_at(0, 0);
	struct egress_found f;

	(void)state;
	put("a.example", AF_UNSPEC, 1, 0, 100);
	put("a.example", AF_UNSPEC, 2, 50, 300);
	assert_int_equal(look("a.example", AF_UNSPEC, 200), 2);
	egress_cache_put(&cache, "a.example", AF_UNSPEC, &none, 200, 300);
	assert_true(egress_cache_find(&cache, "a.example", AF_UNSPEC, 250, &f));
	assert_int_equal(f.outcome, EGRESS_NOTHING);
	assert_int_equal(f.count, 0);
	assert_int_equal(cache.count, 1);
}

static void the_least_recently_used_name_makes_room(void **state)
{
	char name[32];

	(void)state;
	for (unsigned i = 0; i < EGRESS_NAMES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "n%u.example", i);
		put(name, AF_UNSPEC, 1, 0, 1000);
	}
	assert_int_equal(cache.count, EGRESS_NAMES_MAX);
	assert_int_equal(look("n0.example", AF_UNSPEC, 1), 1);
	put("more.example", AF_UNSPEC, 3, 1, 1000);
	assert_int_equal(cache.count, EGRESS_NAMES_MAX);
	assert_int_equal(cache.left_early, 1);
	assert_int_equal(look("n0.example", AF_UNSPEC, 1), 1);
	assert_int_equal(look("n1.example", AF_UNSPEC, 1), -1);
	assert_int_equal(look("more.example", AF_UNSPEC, 1), 3);
	put("n1.example", AF_UNSPEC, 4, 2000, 3000); /* n2 has had its time */
	assert_int_equal(cache.left_early, 1);
	assert_int_equal(look("n1.example", AF_UNSPEC, 2001), 4);
}

static enum egress_route route(const char *text, enum egress_route (*of)(int *fd, const struct addr_brief *a))
{
	struct addr_brief a = {.family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET};
	enum egress_route r;
	int fd = -1;

	assert_int_equal(inet_pton(a.family, text, a.ip), 1);
	r = of(&fd, &a);
	egress_route_close(&fd);
	return r;
}

static enum egress_route by_bind(int *fd, const struct addr_brief *a)
{
	(void)fd;
	return egress_route_by_bind(a);
}

static void the_kernel_knows_the_addresses_of_this_machine(void **state)
{
	(void)state;
	assert_int_equal(route("127.0.0.1", egress_route_of), EGRESS_ROUTE_OWN);
	assert_int_equal(route("127.9.9.9", egress_route_of), EGRESS_ROUTE_OWN);
	assert_int_equal(route("192.0.2.1", egress_route_of), EGRESS_ROUTE_FAR);
	assert_int_equal(route("255.255.255.255", egress_route_of), EGRESS_ROUTE_GROUP);
	assert_int_equal(route("2001:db8::1", egress_route_of), EGRESS_ROUTE_FAR);
}

/* In a sandbox without AF_NETLINK. */
static void and_bind_knows_them_as_well(void **state)
{
	(void)state;
	assert_int_equal(route("127.0.0.1", by_bind), EGRESS_ROUTE_OWN);
	assert_int_equal(route("192.0.2.1", by_bind), EGRESS_ROUTE_FAR);
	assert_int_equal(route("2001:db8::1", by_bind), EGRESS_ROUTE_FAR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_name_is_known_until_its_time_is_over, begin, end),
		cmocka_unit_test_setup_teardown(the_newer_answer_counts_and_none_is_one, begin, end),
		cmocka_unit_test_setup_teardown(the_least_recently_used_name_makes_room, begin, end),
		cmocka_unit_test(the_kernel_knows_the_addresses_of_this_machine),
		cmocka_unit_test(and_bind_knows_them_as_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

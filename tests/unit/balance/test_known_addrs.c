/* SPDX-License-Identifier: MIT
 *
 * test_known_addrs.c - a name server that never gives the same address twice: what a server keeps, and what
 * a change costs.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "config_of_servers.h"
#include "balance/server_change.h"
#include "weir/balance/backend.h"
#include "weir/balance/known_addrs.h"
#include "weir/base/clock.h"

#define DISTINCT 100000u

static_assert(KNOWN_ADDRS_MAX == 16384, "as the help of resolve-interval says");

static struct addr nth(uint32_t n)
{
	struct addr a;

	memset(&a, 0, sizeof(a));
	a.len = sizeof(a.in);
	a.in.sin_family = AF_INET;
	a.in.sin_port = htons(80);
	a.in.sin_addr.s_addr = htonl(0x0a000000u + n);
	return a;
}

static void address_is_kept_once_and_stays_where_it_is(void **state)
{
	struct known_addrs k = {0};
	struct known_addr *first[1000], *again;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		const struct addr a = nth(i);

		assert_int_equal(known_addrs_add(&k, &a, &first[i]), 1);
	}
	for (uint32_t i = 0; i < 1000; i++) {
		const struct addr a = nth(i);

		assert_int_equal(known_addrs_add(&k, &a, &again), 0);
		assert_ptr_equal(again, first[i]);
		assert_memory_equal(&again->addr.in, &a.in, sizeof(a.in));
	}
	assert_int_equal(k.count, 1000);
	known_addrs_free(&k);
	known_addrs_free(&k); /* harmless */
}

static void addresses_that_differ_in_port_or_family_are_others(void **state)
{
	struct known_addrs k = {0};
	struct known_addr *one, *other;
	struct addr a = nth(1);

	(void)state;
	assert_int_equal(known_addrs_add(&k, &a, &one), 1);
	a.in.sin_port = htons(81);
	assert_int_equal(known_addrs_add(&k, &a, &other), 1);
	assert_ptr_not_equal(one, other);
	memset(&a, 0, sizeof(a));
	a.len = sizeof(a.in6);
	a.in6.sin6_family = AF_INET6;
	assert_int_equal(known_addrs_add(&k, &a, &other), 1);
	assert_int_equal(k.count, 3);
	known_addrs_free(&k);
}

static void hundred_thousand_addresses_are_bounded_and_cost_no_search(void **state)
{
	struct config_of_servers c;
	struct backend *b;
	struct server *s;
	int64_t began_ns;
	struct addr a;

	(void)state;
	config_of_servers_init(&c, (unsigned[]){1}, 1);
	b = backends_new(&c.config);
	assert_non_null(b);
	s = &b->servers[0];
	began_ns = clock_mono_ns();
	for (uint32_t i = 1; i < DISTINCT; i++) {
		a = nth(i);
		/* The first one is that of the configuration. */
		assert_int_equal(server_set_addr(s, &a), i < KNOWN_ADDRS_MAX ? 0 : -ENOSPC);
	}
	print_message("%u distinct addresses: %lld ms\n", DISTINCT,
		      (long long)((clock_mono_ns() - began_ns) / NS_PER_MS));
	assert_int_equal(s->known.count, KNOWN_ADDRS_MAX);
	a = nth(KNOWN_ADDRS_MAX - 1);
	assert_memory_equal(&atomic_load(&s->addr)->in, &a.in, sizeof(a.in)); /* the last that was kept */
	assert_true(server_usable(s));
	a = nth(17);
	assert_int_equal(server_set_addr(s, &a), 0); /* one that it had is no new one */
	assert_memory_equal(&atomic_load(&s->addr)->in, &a.in, sizeof(a.in));
	backends_free(b, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(address_is_kept_once_and_stays_where_it_is),
		cmocka_unit_test(addresses_that_differ_in_port_or_family_are_others),
		cmocka_unit_test(hundred_thousand_addresses_are_bounded_and_cost_no_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * test_client_key.c - a client's key: its address, no more, and the same everywhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "weir/balance/client_key.h"

static struct addr_brief brief(const char *text)
{
	struct addr_spec spec;
	struct addr_brief b;

	assert_int_equal(addr_parse(text, &spec, NULL, NULL), 0);
	addr_to_brief(&spec.addr.sa, spec.addr.len, &b);
	return b;
}

static uint64_t key(const char *text)
{
	const struct addr_brief b = brief(text);

	return client_key(&b);
}

/* Another release, another machine: its clients must not move. */
static void keys_are_what_they_were(void **state)
{
	(void)state;
	assert_true(key("10.0.0.1:80") == UINT64_C(0xcd13514f005ee20a));
	assert_true(key("[2001:db8::1]:80") == UINT64_C(0xdf7b23d99ac286a9));
	assert_true(key("unix:/run/x.sock") == UINT64_C(0xd5afba1336a3be4b));
}

static void port_is_left_out(void **state)
{
	(void)state;
	assert_true(key("10.0.0.1:1") == key("10.0.0.1:2"));
	assert_true(key("[::1]:1") == key("[::1]:2"));
}

static void addresses_differ(void **state)
{
	const struct addr_brief none = {0};

	(void)state;
	assert_true(key("10.0.0.1:1") != key("10.0.0.2:1"));
	assert_true(key("[::1]:1") != key("[::2]:1"));
	/* The same bytes, as far as IPv4 has any. */
	assert_true(key("10.0.0.1:1") != key("[a00:1::]:1"));
	assert_true(client_key(&none) != key("unix:/run/x.sock"));
}

static void clients_of_a_mapped_address_are_ipv4(void **state)
{
	(void)state;
	assert_true(key("[::ffff:10.0.0.1]:1") == key("10.0.0.1:1"));
}

static void unix_clients_have_one_key(void **state)
{
	(void)state;
	assert_true(key("unix:/run/x.sock") == key("unix:@name"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_what_they_were),
		cmocka_unit_test(port_is_left_out),
		cmocka_unit_test(addresses_differ),
		cmocka_unit_test(clients_of_a_mapped_address_are_ipv4),
		cmocka_unit_test(unix_clients_have_one_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * test_self_connect.c - when a connect may meet itself, and that one which has is known. Over the real
 * kernel.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/net/self_connect.h"
#include "weir/net/sock.h"
#include "weir/sys/sys.h"
#include "../base/own_network.h"

static struct addr address(const char *host, unsigned port)
{
	struct addr_spec spec = {.kind = ADDR_NONE};
	char text[64];

	(void)snprintf(text, sizeof(text), "%s:%u", host, port);
	assert_int_equal(addr_parse(text, &spec, NULL, NULL), 0);
	return spec.addr;
}

/* A port that the kernel chooses from, and one that it does not. */
static unsigned chosen_port(bool chosen)
{
	uint16_t first, last;

	assert_int_equal(sys_port_range(&first, &last), 0);
	assert_true(first <= last);
	return chosen ? last : first - 1u;
}

static bool possible(const char *to, unsigned port, const char *from, unsigned from_port)
{
	const struct addr dst = address(to, port);
	struct addr src = {0};
	struct self_connect_sources sources = {.list = &src, .count = from != NULL};

	if (from != NULL) {
		src = address(from, from_port == 0 ? 1 : from_port);
		if (src.sa.sa_family == AF_INET)
			src.in.sin_port = htons((uint16_t)from_port);
		else
			src.in6.sin6_port = htons((uint16_t)from_port);
	}
	return self_connect_possible(&dst, &sources);
}

static void only_an_address_of_ours_and_a_port_that_is_chosen_can_meet_itself(void **state)
{
	const unsigned in = chosen_port(true), out = chosen_port(false);

	(void)state;
	assert_true(possible("127.0.0.1", in, NULL, 0));
	assert_false(possible("127.0.0.1", out, NULL, 0));
	assert_true(possible("0.0.0.0", in, NULL, 0));
	/* A connect to it comes from 127.0.0.1. */
	assert_false(possible("127.0.0.2", in, NULL, 0));
}

static void a_source_decides_for_itself(void **state)
{
	const unsigned in = chosen_port(true), out = chosen_port(false);

	(void)state;
	assert_true(possible("127.0.0.2", in, "127.0.0.2", 0));
	assert_false(possible("127.0.0.2", out, "127.0.0.2", 0));
	assert_false(possible("127.0.0.1", in, "127.0.0.2", 0));
	assert_true(possible("127.0.0.2", out, "127.0.0.2", out));
	assert_false(possible("127.0.0.2", out, "127.0.0.2", out - 1));
	/* A fixed port that is another one, in the range of the kernel's. */
	assert_false(possible("127.0.0.2", in, "127.0.0.2", in - 1));
	/* Bound to none, it gets the address that the kernel chooses. */
	assert_true(possible("127.0.0.1", in, "0.0.0.0", 0));
	assert_false(possible("127.0.0.2", in, "0.0.0.0", 0));
	assert_true(possible("127.0.0.1", out, "0.0.0.0", out));
	/* Of another family: the kernel chooses. */
	assert_true(possible("127.0.0.1", in, "[::1]", 0));
}

static void a_clients_own_address_may_be_any(void **state)
{
	const struct self_connect_sources any = {.any = true};
	const struct addr in = address("192.0.2.1", chosen_port(true));
	const struct addr out = address("192.0.2.1", chosen_port(false));

	(void)state;
	assert_true(self_connect_possible(&in, &any));
	assert_false(self_connect_possible(&out, &any));
}

static void a_unix_socket_never_does(void **state)
{
	const struct self_connect_sources none = {.count = 0};
	struct addr a = {.len = sizeof(a.un), .un.sun_family = AF_UNIX};

	(void)state;
	assert_false(self_connect_possible(&a, &none));
	assert_false(self_connect_happened(-1, &a));
}

/* A socket that is bound to a free port of `host`, and where it is. */
static int bound(const char *host, struct addr *at)
{
	const struct sock_tcp tcp = {.dscp = -1};
	struct addr none = {0}, any = address(host, 1);
	const int fd = sock_open(&any, &none, &tcp);

	assert_true(fd >= 0);
	*(any.sa.sa_family == AF_INET ? &any.in.sin_port : &any.in6.sin6_port) = 0;
	assert_int_equal(sys_bind(fd, &any.sa, any.len), 0);
	at->len = sizeof(at->un);
	assert_int_equal(sys_getsockname(fd, &at->sa, &at->len), 0);
	return fd;
}

static void connect_to(int fd, const struct addr *to)
{
	const int err = sys_connect(fd, &to->sa, to->len);

	assert_true(err == 0 || err == -EINPROGRESS);
}

static void one_that_met_itself_is_known_and_its_port_is_free_behind_it(void **state)
{
	static const char *const hosts[] = {"127.0.0.1", "[::1]"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		struct addr at, wildcard;
		int fd = bound(hosts[i], &at);
		char byte = 0;

		connect_to(fd, &at);
		assert_true(self_connect_happened(fd, &at));
		wildcard = address(i == 0 ? "0.0.0.0" : "[::]", addr_port(&at));
		assert_true(self_connect_happened(fd, &wildcard));
		/* This is what a client would have met. */
		assert_int_equal(sys_send(fd, "x", 1), 1);
		assert_int_equal(sys_recv(fd, &byte, 1, 0), 1);
		sock_harden(fd);
		sys_close(fd);
		/* Bound without SO_REUSEADDR, so TIME_WAIT would be in the way. */
		fd = sys_socket(at.sa.sa_family);
		assert_int_equal(sys_bind(fd, &at.sa, at.len), 0);
		sys_close(fd);
	}
}

static void one_that_met_a_listener_is_not(void **state)
{
	struct sock_listen opt = {.mode = -1, .uid = (uid_t)-1, .gid = (gid_t)-1, .tcp.dscp = -1};
	struct addr there = {.len = sizeof(there.in), .in.sin_family = AF_INET}, ours;
	const int listener = sock_listen(&there, &opt), fd = bound("127.0.0.1", &ours);

	(void)state;
	assert_true(listener >= 0);
	there = address("127.0.0.1", addr_port(&there));
	connect_to(fd, &there);
	assert_false(self_connect_happened(fd, &there));
	sys_close(fd);
	sys_close(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_an_address_of_ours_and_a_port_that_is_chosen_can_meet_itself),
		cmocka_unit_test(a_source_decides_for_itself),
		cmocka_unit_test(a_clients_own_address_may_be_any),
		cmocka_unit_test(a_unix_socket_never_does),
		cmocka_unit_test(one_that_met_itself_is_known_and_its_port_is_free_behind_it),
		cmocka_unit_test(one_that_met_a_listener_is_not),
	};

	own_network(); /* a port is left, and taken again */
	return cmocka_run_group_tests(tests, NULL, NULL);
}

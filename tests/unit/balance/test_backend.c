/* SPDX-License-Identifier: MIT
 *
 * test_backend.c - servers at run time: what they begin with, and how addresses are given.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "config_of_servers.h"
#include "live_by_hand.h"
#include "balance/server_change.h"
#include "weir/balance/backend.h"
#include "weir/config/same.h"

#define CHANGES 2000

static const unsigned weights[] = {1, 1, 1};

static struct addr address(const char *text)
{
	struct addr_spec spec;

	assert_int_equal(addr_parse(text, &spec, NULL, NULL), 0);
	return spec.addr;
}

static void servers_with_an_address_are_up_from_the_start(void **state)
{
	struct config_of_servers c;
	struct backend *b;
	char buf[ADDR_TEXT_MAX];

	(void)state;
	config_of_servers_init(&c, weights, 3);
	b = backend_by_hand(&c.config);
	assert_non_null(b);
	assert_int_equal(b->server_count, 3);
	for (unsigned i = 0; i < 3; i++) {
		const struct server *s = b->servers[i];

		assert_true(server_usable(s));
		assert_int_equal(s->id - 1, i);
		assert_true(config_server_same(s->config, &c.servers[i]));
		assert_ptr_equal(s->config, server_settings(s)->config);
		assert_true(config_backend_same(s->backend, &c.backend));
		assert_ptr_equal(s->backend, b->config);
		assert_int_equal(s->sessions, 0);
	}
	assert_string_equal(addr_format(server_addr(b->servers[2]), buf), "127.0.0.1:1003");
	backend_by_hand_free(b);
}

static void named_server_is_unusable_until_it_gets_an_address(void **state)
{
	struct config_of_servers c;
	struct backend *b;
	struct server *s;
	struct addr a = address("10.0.0.1:80");

	(void)state;
	config_of_servers_init(&c, weights, 2);
	config_of_servers_unresolve(&c, 1);
	b = backend_by_hand(&c.config);
	s = b->servers[1];
	assert_false(server_usable(s));
	assert_null(server_addr(s));
	assert_true(server_usable(b->servers[0]));
	assert_int_equal(server_set_addr(s, &a), 0);
	memset(&a, 0, sizeof(a)); /* it was copied */
	assert_true(server_usable(s));
	a = address("10.0.0.1:80");
	assert_true(addr_equal(server_addr(s), &a));
	backend_by_hand_free(b);
}

static void replaced_address_that_is_in_use_stays_readable_and_comes_back(void **state)
{
	struct config_of_servers c;
	struct backend *b;
	const struct addr one = address("10.0.0.1:80");
	const struct addr two = address("10.0.0.2:80");
	const struct addr *seen[2];

	(void)state;
	config_of_servers_init(&c, weights, 1);
	b = backend_by_hand(&c.config);
	assert_int_equal(server_set_addr(b->servers[0], &one), 0);
	seen[0] = server_addr(b->servers[0]);
	assert_int_equal(server_set_addr(b->servers[0], &two), 0);
	seen[1] = server_addr(b->servers[0]);
	assert_true(addr_equal(seen[0], &one));
	assert_true(addr_equal(seen[1], &two));
	for (int i = 0; i < 10; i++) {
		assert_int_equal(server_set_addr(b->servers[0], i % 2 ? &one : &two), 0);
		assert_ptr_equal(server_addr(b->servers[0]), seen[i % 2 ? 0 : 1]);
	}
	backend_by_hand_free(b);
}

static void no_server_is_no_lack_of_memory(void **state)
{
	struct config_of_servers c;
	struct backend *b;

	(void)state;
	config_of_servers_init(&c, weights, 0);
	b = backend_by_hand(&c.config);
	assert_non_null(b);
	assert_int_equal(b->server_count, 0);
	backend_by_hand_free(b);
	backend_free(NULL); /* harmless */
}

static void backend_without_servers_is_no_lack_of_memory(void **state)
{
	struct config_of_servers c;
	struct backend *b;

	(void)state;
	config_of_servers_init(&c, weights, 0);
	b = backend_by_hand(&c.config);
	assert_non_null(b);
	assert_int_equal(b->server_count, 0);
	backend_by_hand_free(b);
}

static void shared_lines_of_a_server_lie_apart(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct server) % 64, 0);
	assert_int_equal(offsetof(struct server, state) % 64, 0);
	assert_int_equal(offsetof(struct server, sessions) % 64, 0);
	assert_int_not_equal(offsetof(struct server, state) / 64, offsetof(struct server, sessions) / 64);
}

/* One server that is resolved again and again while a worker waits for it. */
struct race {
	struct server *server;
	atomic_uint turn; /* odd: control may give the address; even: it is unresolved again */
};

static void *give_addresses(void *arg)
{
	struct race *r = arg;
	struct addr a = address("10.0.0.1:80");

	for (unsigned i = 0; i < CHANGES; i++) {
		while (atomic_load(&r->turn) != 2 * i + 1)
			sched_yield();
		a.in.sin_addr.s_addr = htonl(0x0a000000 + i % 100);
		a.in.sin_port = htons((uint16_t)(i % 100));
		check(server_set_addr(r->server, &a) == 0);
		atomic_store(&r->turn, 2 * i + 2);
	}
	return NULL;
}

static void worker_that_sees_a_server_up_sees_a_whole_address(void **state)
{
	struct config_of_servers c;
	struct backend *b;
	struct race r = {.turn = 0};
	pthread_t control;

	(void)state;
	config_of_servers_init(&c, weights, 1);
	config_of_servers_unresolve(&c, 0);
	b = backend_by_hand(&c.config);
	r.server = b->servers[0];
	assert_int_equal(pthread_create(&control, NULL, give_addresses, &r), 0);
	for (unsigned i = 0; i < CHANGES; i++) {
		const struct addr *a;

		atomic_store(&r.server->state, SERVER_UNRESOLVED);
		atomic_store(&r.turn, 2 * i + 1);
		for (unsigned spins = 1; !server_usable(r.server); spins++)
			if (spins % 1024 == 0)
				sched_yield();
		a = server_addr(r.server);
		assert_non_null(a);
		assert_int_equal(ntohs(a->in.sin_port), i % 100);
		assert_int_equal(ntohl(a->in.sin_addr.s_addr), 0x0a000000 + i % 100);
		while (atomic_load(&r.turn) != 2 * i + 2)
			sched_yield();
	}
	assert_int_equal(pthread_join(control, NULL), 0);
	backend_by_hand_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(servers_with_an_address_are_up_from_the_start),
		cmocka_unit_test(named_server_is_unusable_until_it_gets_an_address),
		cmocka_unit_test(replaced_address_that_is_in_use_stays_readable_and_comes_back),
		cmocka_unit_test(no_server_is_no_lack_of_memory),
		cmocka_unit_test(backend_without_servers_is_no_lack_of_memory),
		cmocka_unit_test(shared_lines_of_a_server_lie_apart),
		cmocka_unit_test(worker_that_sees_a_server_up_sees_a_whole_address),
	};

	log_set_level(LOG_LEVEL_ERROR); /* thousands of changes are no news */
	return cmocka_run_group_tests(tests, NULL, NULL);
}

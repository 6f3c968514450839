/* SPDX-License-Identifier: MIT
 *
 * test_resolver_change.c - names that come, change and go, whatever the lookup thread is doing.
 *
 * Linked with --wrap of the allocator, so that each allocation can fail in turn, and all are counted.
 */
#include <ev.h>
#include <netdb.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/balance/live_change.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/names/resolver.h"
#include "../balance/live_by_hand.h"
#include "../balance/updates_by_hand.h"
#include "../base/alloc_fail.h"

#define TIMES 10000
#define TURNS 5000

static sem_t hanging, release;
static atomic_bool hang;
static atomic_int lookups;

/* NAME is at 10.0.0.N, N being the length of the name. */
static int fake_lookup(const char *host, const char *port, const struct addrinfo *hints,
		       struct addrinfo **out)
{
	static struct sockaddr_in in;
	static struct addrinfo info;

	(void)port;
	(void)hints;
	atomic_fetch_add(&lookups, 1);
	if (atomic_load(&hang)) {
		(void)sem_post(&hanging);
		(void)sem_wait(&release);
	}
	in = (struct sockaddr_in){.sin_family = AF_INET};
	in.sin_addr.s_addr = htonl(0x0a000000u + (unsigned)strlen(host));
	info = (struct addrinfo){.ai_family = AF_INET, .ai_addrlen = sizeof(in)};
	info.ai_addr = (struct sockaddr *)&in;
	*out = &info;
	return 0;
}

static void fake_release(struct addrinfo *list)
{
	(void)list;
}

static const struct resolver_calls calls = {.lookup = fake_lookup, .release = fake_release};
static const struct config_global global = {.resolver = CONFIG_RESOLVER_SYSTEM};
static const struct resolver_settings settings = {&global, &calls};

static struct config_server first, other; /* `first` is there from the start, without a name */
static struct config_backend backend_config;
static struct config config;
static struct backend **backends;
static struct updates_by_hand hand;
static struct server_updates *const u = &hand.updates;
static struct ev_loop *loop;
static struct resolver *resolver;

static int setup(void **state)
{
	int err;

	(void)state;
	memset(&backend_config, 0, sizeof(backend_config));
	memset(&first, 0, sizeof(first));
	(void)snprintf(backend_config.name, sizeof(backend_config.name), "app");
	(void)snprintf(first.name, sizeof(first.name), "first");
	first.weight = 1;
	first.place.file = "test.ini";
	other = first;
	assert_int_equal(addr_parse("10.1.1.1:80", &first.addr, NULL, NULL), 0);
	(void)snprintf(other.name, sizeof(other.name), "other");
	assert_int_equal(addr_parse("abc:80", &other.addr, NULL, NULL), 0);
	backend_config.servers = &first;
	backend_config.server_count = 1;
	config.backends = &backend_config;
	config.backend_count = 1;
	atomic_store(&lookups, 0);
	atomic_store(&hang, false);
	loop = ev_loop_new(EVFLAG_AUTO);
	backends = backends_by_hand(&config);
	updates_by_hand_init(&hand, backends, 1);
	resolver = resolver_new(loop, u, &settings, &err);
	return resolver != NULL ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	resolver_free(resolver);
	server_updates_free(u);
	retire_end(&backends[0]->live->retire);
	backends_by_hand_free(backends);
	ev_loop_destroy(loop);
	return 0;
}

static void end_turn(void)
{
	updates_by_hand_turn(&hand, clock_mono_ns());
	retire_go_on(&backends[0]->live->retire);
}

static struct server *come(void)
{
	struct server *s;
	int err;

	assert_int_equal(resolver_prepare(resolver, 1), 0);
	s = server_prepare(backends[0], &other, &err);
	assert_non_null(s);
	server_commit_add(u, s);
	resolver_settle(resolver, 1);
	end_turn();
	return s;
}

static void go(struct server *s)
{
	assert_int_equal(server_prepare_remove(s), 0);
	server_remove(u, s);
	end_turn();
}

static void change(struct server *s, const char *addr)
{
	struct server_settings *v;
	int err;

	assert_int_equal(addr_parse(addr, &other.addr, NULL, NULL), 0);
	assert_int_equal(resolver_prepare(resolver, 1), 0);
	v = server_prepare_change(s, &other, &err);
	assert_non_null(v);
	server_commit_change(u, v);
	resolver_settle(resolver, 1);
	end_turn();
}

/* N of 10.0.0.N; 0 = none. */
static int host_of(const struct server *s)
{
	const struct addr *a = server_addr(s);

	return a != NULL ? (int)(ntohl(a->in.sin_addr.s_addr) & 0xff) : 0;
}

static void run_until_host(const struct server *s, int host)
{
	for (int i = 0; i < TURNS && host_of(s) != host; i++)
		(void)ev_run(loop, EVRUN_ONCE);
	assert_int_equal(host_of(s), host);
}

static void resolved_servers_come_and_go(void **state)
{
	long had = 0;

	(void)state;
	backend_config.resolve_interval_ns = NS_PER_SEC;
	for (int i = 0; i < TIMES; i++) {
		struct server *s;

		if (i == 10)
			had = allocated;
		s = come();
		run_until_host(s, 3);
		go(s);
		if (i >= 10)
			assert_int_equal(allocated, had);
	}
}

/* All but one are gone before the thread begins; the answer of that one is for nobody. */
static void lookup_under_way_ends_for_nobody(void **state)
{
	struct server *s;
	long had;

	(void)state;
	atomic_store(&hang, true);
	s = come();
	assert_int_equal(sem_wait(&hanging), 0);
	go(s);
	had = allocated;
	for (int i = 0; i < TIMES; i++) {
		go(come());
		assert_true(allocated <= had);
	}
	assert_int_equal(addr_parse("abcdef:80", &other.addr, NULL, NULL), 0);
	s = come();
	assert_int_equal(host_of(s), 0);
	atomic_store(&hang, false);
	(void)sem_post(&release);
	run_until_host(s, 6);
	assert_int_equal(atomic_load(&lookups), 2);
	go(s);
}

static void other_name_is_looked_up_at_once(void **state)
{
	struct server *s = come();

	(void)state;
	run_until_host(s, 3);
	atomic_store(&hang, true);
	change(s, "abcd:80");
	assert_int_equal(host_of(s), 0);
	assert_int_equal(sem_wait(&hanging), 0);
	change(s, "abcde:80"); /* while the other one is looked up, whose answer does not count */
	atomic_store(&hang, false);
	(void)sem_post(&release);
	run_until_host(s, 5);
	for (int i = 0; i < TIMES; i++) { /* the same name stays, with what it has */
		other.weight = 1 + (unsigned)i % 2;
		change(s, "abcde:80");
	}
	assert_int_equal(host_of(s), 5);
	assert_int_equal(atomic_load(&lookups), 3);
	change(s, "10.1.1.9:80");
	assert_null(s->name);
	assert_int_equal(host_of(s), 9);
	change(s, "ab:80");
	run_until_host(s, 2);
	go(s);
}

static void changed_interval_counts_at_once(void **state)
{
	struct backend_settings *v;
	struct server *s = come();
	int err;

	(void)state;
	run_until_host(s, 3); /* and never again */
	for (int i = 0; i < 10; i++)
		(void)ev_run(loop, EVRUN_NOWAIT);
	backend_config.resolve_interval_ns = NS_PER_MS;
	v = backend_prepare_change(backends[0], &backend_config, &err);
	assert_non_null(v);
	backend_commit_change(u, v);
	end_turn();
	for (int i = 0; i < TURNS && atomic_load(&lookups) < 4; i++)
		(void)ev_run(loop, EVRUN_ONCE);
	assert_true(atomic_load(&lookups) >= 4);
	go(s);
}

static void each_allocation_may_fail(void **state)
{
	long failures = 0;
	int err;

	(void)state;
	for (bool done = false; !done; failures++) {
		const long had = allocated;

		until_failure = failures;
		err = resolver_prepare(resolver, 3);
		done = until_failure >= 0;
		until_failure = -1;
		assert_true(done == (err == 0));
		if (err == 0)
			resolver_settle(resolver, 3);
		assert_int_equal(allocated, had);
		assert_int_equal(ev_run(loop, 0), 0); /* comes back: nothing is waited for */
	}
	assert_true(failures > 6);
	assert_int_equal(atomic_load(&lookups), 0);
}

#define CHANGE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHANGE_TEST(resolved_servers_come_and_go),
		CHANGE_TEST(lookup_under_way_ends_for_nobody),
		CHANGE_TEST(other_name_is_looked_up_at_once),
		CHANGE_TEST(changed_interval_counts_at_once),
		CHANGE_TEST(each_allocation_may_fail),
	};

	(void)sem_init(&hanging, 0, 0);
	(void)sem_init(&release, 0, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

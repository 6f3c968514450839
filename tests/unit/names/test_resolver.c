/* SPDX-License-Identifier: MIT
 *
 * test_resolver.c - names that resolve, that do not, that change, and a lookup that hangs. The
 * lookups are this file's.
 */
#include <ev.h>
#include <netdb.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/clock.h"
#include "weir/base/log.h"
#include "weir/names/resolver.h"
#include "../balance/live_by_hand.h"
#include "../balance/updates_by_hand.h"
#include "../base/log_take.h"

#define WAIT_S 10.

/* What the next lookups find: IPv4 addresses 10.0.0.N, an IPv6 one before them when asked for. */
static atomic_int error;
static atomic_int first_host; /* N of the first */
static atomic_int host_count;
static atomic_bool with_ipv6;
static atomic_int lookups;
static atomic_bool hang;
static sem_t hanging, release, left;

static struct addrinfo *new_info(int family, int host)
{
	struct addrinfo *ai = calloc(1, sizeof(*ai) + sizeof(struct sockaddr_in6));
	struct sockaddr_in *in;
	struct sockaddr_in6 *in6;

	assert_non_null(ai);
	ai->ai_family = family;
	ai->ai_addr = (struct sockaddr *)(void *)(ai + 1);
	ai->ai_addr->sa_family = (sa_family_t)family;
	if (family == AF_INET) {
		in = (struct sockaddr_in *)(void *)(ai + 1);
		in->sin_addr.s_addr = htonl(0x0a000000u + (unsigned)host);
		ai->ai_addrlen = sizeof(*in);
	} else {
		in6 = (struct sockaddr_in6 *)(void *)(ai + 1);
		in6->sin6_addr.s6_addr[15] = (uint8_t)host;
		ai->ai_addrlen = sizeof(*in6);
	}
	return ai;
}

static int fake_lookup(const char *host, const char *port, const struct addrinfo *hints,
		       struct addrinfo **out)
{
	struct addrinfo **tail = out;

	(void)hints;
	atomic_fetch_add(&lookups, 1);
	if (strcmp(host, "app.test") != 0 || strcmp(port, "8080") != 0)
		return EAI_FAIL;
	if (atomic_load(&hang)) {
		(void)sem_post(&hanging);
		(void)sem_wait(&release);
	}
	if (atomic_load(&error) != 0)
		return atomic_load(&error);
	if (atomic_load(&with_ipv6)) {
		*tail = new_info(AF_INET6, 1);
		tail = &(*tail)->ai_next;
	}
	for (int i = 0; i < atomic_load(&host_count); i++) {
		*tail = new_info(AF_INET, atomic_load(&first_host) + i);
		tail = &(*tail)->ai_next;
	}
	return 0;
}

static void fake_release(struct addrinfo *list)
{
	struct addrinfo *next;

	for (; list != NULL; list = next) {
		next = list->ai_next;
		free(list);
	}
	if (atomic_load(&hang))
		(void)sem_post(&left);
}

static const struct resolver_calls calls = {.lookup = fake_lookup, .release = fake_release};
static const struct config_global global = {.resolver = CONFIG_RESOLVER_SYSTEM};
static const struct resolver_settings settings = {&global, &calls};

static struct config_server server_config;
static struct config_backend backend_config;
static struct config config;
static struct backend **backends;
static struct updates_by_hand hand;
static struct ev_loop *loop;
static struct resolver *resolver;

static int open_all(void)
{
	backends = backends_by_hand(&config);
	loop = ev_loop_new(EVFLAG_AUTO);
	if (backends == NULL || loop == NULL)
		return -1;
	updates_by_hand_init(&hand, backends, 1);
	return 0;
}

static int setup_server(enum addr_kind kind)
{
	(void)snprintf(server_config.name, sizeof(server_config.name), "a");
	server_config.addr.kind = kind;
	server_config.addr.port = 8080;
	server_config.place.file = "test.ini";
	(void)snprintf(server_config.addr.host, sizeof(server_config.addr.host), "app.test");
	(void)snprintf(backend_config.name, sizeof(backend_config.name), "app");
	backend_config.servers = &server_config;
	backend_config.server_count = 1;
	backend_config.resolve_interval_ns = 20 * NS_PER_MS;
	backend_config.hold_nx_ns = 30 * NS_PER_SEC;
	config.backends = &backend_config;
	config.backend_count = 1;
	atomic_store(&error, 0);
	atomic_store(&first_host, 1);
	atomic_store(&host_count, 1);
	atomic_store(&with_ipv6, false);
	atomic_store(&lookups, 0);
	atomic_store(&hang, false);
	return open_all();
}

static int setup(void **state)
{
	(void)state;
	return setup_server(ADDR_NAME);
}

static int setup_unix(void **state)
{
	(void)state;
	return setup_server(ADDR_UNIX);
}

static int teardown(void **state)
{
	(void)state;
	server_updates_free(&hand.updates);
	backends_by_hand_free(backends);
	ev_loop_destroy(loop);
	return 0;
}

static void start(void)
{
	int err;

	resolver = resolver_new(loop, &hand.updates, &settings, &err);
	assert_non_null(resolver);
}

static struct server *server(void)
{
	return backends[0]->servers[0];
}

/* N of the server's IPv4 address 10.0.0.N; 0 = none, -1 = an IPv6 address. */
static int host_now(void)
{
	const struct addr *a = server_addr(server());

	if (a == NULL)
		return 0;
	return a->sa.sa_family == AF_INET ? (int)(ntohl(a->in.sin_addr.s_addr) & 0xff) : -1;
}

static void run_until_lookups(int count)
{
	double until = ev_time() + WAIT_S;

	while (atomic_load(&lookups) < count && ev_time() < until)
		(void)ev_run(loop, EVRUN_ONCE);
	assert_true(atomic_load(&lookups) >= count);
}

static void run_until_host(int host)
{
	double until = ev_time() + WAIT_S;

	while (host_now() != host && ev_time() < until)
		(void)ev_run(loop, EVRUN_ONCE);
	assert_int_equal(host_now(), host);
}

static void name_gives_the_server_its_address(void **state)
{
	(void)state;
	assert_false(server_usable(server()));
	start();
	run_until_host(1);
	assert_true(server_usable(server()));
	resolver_free(resolver);
}

static void ipv4_comes_first_and_ipv6_alone_will_do(void **state)
{
	(void)state;
	atomic_store(&with_ipv6, true);
	start();
	run_until_host(1);
	atomic_store(&host_count, 0);
	run_until_host(-1);
	resolver_free(resolver);
}

static void address_stays_while_the_name_has_it(void **state)
{
	(void)state;
	start();
	run_until_host(1);
	/* Two at first, as a lookup may come in between. */
	atomic_store(&host_count, 2);
	atomic_store(&first_host, 0); /* 10.0.0.0, 10.0.0.1: another order of the same */
	run_until_lookups(atomic_load(&lookups) + 3);
	assert_int_equal(host_now(), 1);
	atomic_store(&first_host, 7);
	run_until_host(7);
	resolver_free(resolver);
}

static void failure_leaves_the_server_as_it_was_and_is_tried_again(void **state)
{
	(void)state;
	atomic_store(&error, EAI_AGAIN);
	start();
	run_until_lookups(3);
	assert_false(server_usable(server()));
	atomic_store(&error, 0);
	run_until_host(1);
	atomic_store(&error, EAI_NONAME);
	run_until_lookups(atomic_load(&lookups) + 3);
	assert_int_equal(host_now(), 1);
	assert_true(server_usable(server()));
	resolver_free(resolver);
}

static uint64_t published[2];
static unsigned published_count;

static void keep_figure(void *to, const struct figure *row, uint64_t value)
{
	(void)to;
	assert_string_equal(row->name, published_count == 0 ? "lookups" : "lookups_failed");
	published[published_count++] = value;
}

static void publish(void *from)
{
	published_count = 0;
	resolver_publish(from, keep_figure, NULL);
	assert_int_equal(published_count, 2);
}

static void failures_are_counted_among_the_lookups(void **state)
{
	(void)state;
	publish(NULL);
	assert_int_equal(published[0] + published[1], 0);
	atomic_store(&error, EAI_AGAIN);
	start();
	run_until_lookups(3);
	atomic_store(&error, 0);
	run_until_host(1);
	publish(resolver);
	assert_true(published[1] >= 2);
	assert_true(published[0] > published[1]);
	resolver_free(resolver);
}

static void hanging_lookup_does_not_delay_the_end(void **state)
{
	double before;

	(void)state;
	atomic_store(&hang, true);
	start();
	assert_int_equal(sem_wait(&hanging), 0);
	before = ev_time();
	resolver_free(resolver);
	assert_true(ev_time() - before < WAIT_S / 2);
	/* The thread comes back long after its resolver has gone, and cleans up behind itself. */
	(void)sem_post(&release);
	assert_int_equal(sem_wait(&left), 0);
	assert_int_equal(host_now(), 0);
}

static void servers_without_names_need_no_thread(void **state)
{
	(void)state;
	start();
	(void)ev_run(loop, 0); /* comes back at once: no watcher */
	resolver_free(resolver);
	assert_int_equal(atomic_load(&lookups), 0);
}

static void waits_grow_to_the_interval(void **state)
{
	(void)state;
	assert_int_equal(resolver_wait_ns(0, 30 * NS_PER_SEC), 30 * NS_PER_SEC);
	assert_int_equal(resolver_wait_ns(0, 0), 0);
	assert_int_equal(resolver_wait_ns(1, 30 * NS_PER_SEC), NS_PER_SEC);
	assert_int_equal(resolver_wait_ns(2, 30 * NS_PER_SEC), 2 * NS_PER_SEC);
	assert_int_equal(resolver_wait_ns(5, 30 * NS_PER_SEC), 16 * NS_PER_SEC);
	assert_int_equal(resolver_wait_ns(6, 30 * NS_PER_SEC), 30 * NS_PER_SEC);
	assert_int_equal(resolver_wait_ns(UINT32_MAX, 30 * NS_PER_SEC), 30 * NS_PER_SEC);
	assert_int_equal(resolver_wait_ns(9, 0), 60 * NS_PER_SEC);
	assert_int_equal(resolver_wait_ns(1, NS_PER_MS), NS_PER_MS);
}

#define RESOLVER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RESOLVER_TEST(name_gives_the_server_its_address),
		RESOLVER_TEST(ipv4_comes_first_and_ipv6_alone_will_do),
		RESOLVER_TEST(address_stays_while_the_name_has_it),
		RESOLVER_TEST(failure_leaves_the_server_as_it_was_and_is_tried_again),
		RESOLVER_TEST(failures_are_counted_among_the_lookups),
		RESOLVER_TEST(hanging_lookup_does_not_delay_the_end),
		cmocka_unit_test_setup_teardown(servers_without_names_need_no_thread, setup_unix, teardown),
		cmocka_unit_test(waits_grow_to_the_interval),
	};

	(void)sem_init(&hanging, 0, 0);
	(void)sem_init(&release, 0, 0);
	(void)sem_init(&left, 0, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

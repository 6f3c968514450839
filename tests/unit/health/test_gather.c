/* SPDX-License-Identifier: MIT
 *
 * test_gather.c - many changes of servers are one roster, and so is one step of many slow starts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "weir/balance/backend.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "health/gather.h"

#define SERVERS 100

static struct config_server server_configs[SERVERS];
static struct config_backend backend_config;
static struct config config;
static struct engine engine;
static struct ev_loop *loop;
static struct gather gather;
static struct backend *b;
static int published;

static void count_published(void *arg)
{
	assert_ptr_equal(arg, &published);
	published++;
}

static int setup(void **state)
{
	(void)state;
	memset(server_configs, 0, sizeof(server_configs));
	memset(&backend_config, 0, sizeof(backend_config));
	for (size_t i = 0; i < SERVERS; i++) {
		(void)snprintf(server_configs[i].name, sizeof(server_configs[i].name), "s%zu", i);
		check(addr_parse("127.0.0.1:9", &server_configs[i].addr, NULL, NULL) == 0);
		server_configs[i].weight = 100;
	}
	(void)snprintf(backend_config.name, sizeof(backend_config.name), "app");
	backend_config.servers = server_configs;
	backend_config.server_count = SERVERS;
	backend_config.balance.algorithm = CONFIG_BALANCE_SOURCE;
	backend_config.balance.hash = CONFIG_HASH_CONSISTENT;
	config.backends = &backend_config;
	config.backend_count = 1;
	engine.config = &config;
	published = 0;
	loop = ev_loop_new(EVFLAG_AUTO);
	return loop != NULL ? 0 : -1;
}

static void start(void)
{
	b = engine.backends = backends_new(&config);
	assert_non_null(b);
	memset(&gather, 0, sizeof(gather));
	assert_int_equal(gather_init(&gather, loop, &engine), 0);
	gather.published = count_published;
	gather.arg = &published;
}

static int teardown(void **state)
{
	(void)state;
	gather_free(&gather);
	backends_free(b, 1);
	ev_loop_destroy(loop);
	return 0;
}

static void set_health(size_t i, bool healthy)
{
	gather_begin(&gather, b);
	assert_int_equal(server_set_health(&b->servers[i], healthy, "", clock_mono_ns()), 0);
	gather_look_at(&gather, &b->servers[i]);
}

static void changes_of_one_turn_are_one_roster(void **state)
{
	uint64_t number;

	(void)state;
	start();
	number = b->roster->number;
	for (size_t i = 0; i < SERVERS - 1; i++)
		set_health(i, false);
	assert_int_equal(b->roster->number, number);
	assert_int_equal(published, 0);
	assert_false(server_usable(&b->servers[0])); /* at once */
	assert_int_equal(ev_run(loop, 0), 0); /* comes back: nothing is waited for */
	assert_int_equal(b->roster->number, number + 1);
	assert_int_equal(b->roster->count, 1);
	assert_int_equal(published, 1);
	/* Outside of gathering a change is in force at once again. */
	assert_int_equal(server_set_weight(&b->servers[SERVERS - 1], 7, "by test", clock_mono_ns()), 0);
	assert_int_equal(b->roster->number, number + 2);
}

static void what_is_gathered_can_be_had_at_once(void **state)
{
	uint64_t number;

	(void)state;
	start();
	number = b->roster->number;
	set_health(0, false);
	assert_int_equal(server_set_weight(&b->servers[1], 7, "by test", clock_mono_ns()), 0);
	assert_int_equal(b->roster->number, number);
	assert_int_equal(backend_flush(b), 0);
	assert_int_equal(b->roster->number, number + 1);
	assert_int_equal(ev_run(loop, 0), 0);
	assert_int_equal(b->roster->number, number + 1); /* nothing is owed */
	assert_int_equal(published, 1);
}

static void end_publishes_what_is_gathered(void **state)
{
	(void)state;
	start();
	set_health(0, false);
	gather_free(&gather);
	assert_int_equal(b->roster->count, SERVERS - 1);
	assert_int_equal(published, 0); /* who asks is ending as well */
}

static void steps_of_all_slow_starts_are_one_roster(void **state)
{
	uint64_t number;

	(void)state;
	for (size_t i = 0; i < SERVERS / 2; i++)
		server_configs[i].slowstart_ns = NS_PER_SEC;
	start();
	for (size_t i = 0; i < SERVERS / 2; i++)
		set_health(i, false);
	(void)ev_run(loop, EVRUN_NOWAIT);
	number = b->roster->number;
	for (size_t i = 0; i < SERVERS / 2; i++)
		set_health(i, true);
	(void)ev_run(loop, EVRUN_NOWAIT);
	assert_int_equal(b->roster->number, number + 1);
	assert_int_equal(atomic_load(&b->servers[0].eweight), 100);
	assert_int_equal(ev_run(loop, 0), 0); /* until all of them are over */
	assert_int_equal(atomic_load(&b->servers[0].eweight), 1600);
	assert_int_equal(atomic_load(&b->servers[SERVERS / 2 - 1].eweight), 1600);
	/* A machine that stalls between two of them may split their ends. */
	assert_in_range(b->roster->number, number + 2, number + 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(changes_of_one_turn_are_one_roster, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_gathered_can_be_had_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(end_publishes_what_is_gathered, setup, teardown),
		cmocka_unit_test_setup_teardown(steps_of_all_slow_starts_are_one_roster, setup, teardown),
	};

	log_set_level(LOG_LEVEL_ALERT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * test_updates_loop.c - changes of servers on a real loop: one turn of it is one roster, slow starts end by
 * themselves, and nothing is waited for then.
 */
#include <ev.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../balance/live_by_hand.h"
#include "control/updates_loop.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/log.h"

#define SERVERS 3

static struct config_server server_configs[SERVERS];
static struct config_backend backend_config;
static struct config config;
static struct engine engine;
static struct ev_loop *loop;
static struct updates_loop updates;

static int setup(void **state)
{
	(void)state;
	memset(server_configs, 0, sizeof(server_configs));
	for (size_t i = 0; i < SERVERS; i++) {
		(void)snprintf(server_configs[i].name, sizeof(server_configs[i].name), "s%zu", i);
		check(addr_parse("127.0.0.1:9", &server_configs[i].addr, NULL, NULL) == 0);
		server_configs[i].weight = 100;
		server_configs[i].slowstart_ns = NS_PER_SEC;
	}
	(void)snprintf(backend_config.name, sizeof(backend_config.name), "app");
	backend_config.servers = server_configs;
	backend_config.server_count = SERVERS;
	backend_config.balance.algorithm = CONFIG_BALANCE_ROUNDROBIN;
	config.backends = &backend_config;
	config.backend_count = 1;
	engine.config = &config;
	engine.backends = backends_by_hand(&config);
	engine.backend_count = 1;
	loop = ev_loop_new(EVFLAG_AUTO);
	if (engine.backends == NULL || loop == NULL)
		return -1;
	memset(&updates, 0, sizeof(updates));
	updates_loop_init(&updates, loop, &engine);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	updates_loop_free(&updates);
	updates_loop_free(&updates); /* harmless */
	backends_by_hand_free(engine.backends);
	ev_loop_destroy(loop);
	return 0;
}

static void set_health(bool healthy)
{
	for (size_t i = 0; i < SERVERS; i++)
		server_updates_set_health(&updates.updates, engine.backends[0]->servers[i], healthy, "");
}

static void changes_are_in_force_when_the_turn_ends(void **state)
{
	const uint64_t number = backend_roster(engine.backends[0])->number;

	(void)state;
	set_health(false);
	assert_int_equal(backend_roster(engine.backends[0])->number, number);
	assert_int_equal(ev_run(loop, 0), 0); /* comes back: nothing is waited for */
	assert_int_equal(backend_roster(engine.backends[0])->number, number + 1);
	assert_int_equal(backend_roster(engine.backends[0])->count, 0);
}

static void slow_starts_move_on_by_themselves(void **state)
{
	const struct server *s = engine.backends[0]->servers[0];

	(void)state;
	set_health(false);
	(void)ev_run(loop, EVRUN_NOWAIT);
	set_health(true);
	(void)ev_run(loop, EVRUN_NOWAIT);
	assert_true(atomic_load(&s->eweight) < 1600);
	assert_int_equal(ev_run(loop, 0), 0); /* until all of them are over */
	assert_int_equal(atomic_load(&s->eweight), 1600);
}

static void the_end_publishes_and_leaves_no_watcher(void **state)
{
	(void)state;
	set_health(false);
	(void)ev_run(loop, EVRUN_NOWAIT);
	set_health(true); /* a slow start: both watchers are active */
	updates_loop_free(&updates);
	assert_int_equal(backend_roster(engine.backends[0])->count, SERVERS);
	assert_int_equal(ev_run(loop, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(changes_are_in_force_when_the_turn_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(slow_starts_move_on_by_themselves, setup, teardown),
		cmocka_unit_test_setup_teardown(the_end_publishes_and_leaves_no_watcher, setup, teardown),
	};

	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

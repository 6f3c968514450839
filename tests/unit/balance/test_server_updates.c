/* SPDX-License-Identifier: MIT
 *
 * test_server_updates.c - many changes of servers are one roster, what finds no memory comes later, and who
 * wants to know is told.
 *
 * Linked with --wrap=calloc, so that a roster can find no memory. Without a loop: see updates_by_hand.h.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../base/log_take.h"
#include "live_by_hand.h"
#include "updates_by_hand.h"
#include "weir/base/check.h"

#define SERVERS 100

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

static bool no_memory;

void *__wrap_calloc(size_t count, size_t size)
{
	return no_memory ? NULL : __real_calloc(count, size);
}

static struct config_server server_configs[SERVERS];
static struct config_backend backend_config;
static struct config config;
static struct backend *b;
static struct updates_by_hand hand;
static struct server_updates *const u = &hand.updates;
static struct server_observer observer;
static struct log_ring *ring;
static int in_force;             /* how often it was told so */
static const struct server *set; /* the last whose state was set; NULL = none */

static void nobody_sleeps(void *arg)
{
	(void)arg;
}

static void on_in_force(void *arg)
{
	assert_ptr_equal(arg, &observer);
	in_force++;
}

static void on_admin_set(void *arg, struct server *s)
{
	assert_ptr_equal(arg, &observer);
	set = s;
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
	in_force = 0;
	set = NULL;
	ring = log_ring_new(nobody_sleeps, NULL);
	return ring != NULL ? 0 : -1;
}

static void start(void)
{
	b = backend_by_hand(&config);
	assert_non_null(b);
	updates_by_hand_init(&hand, &b, 1);
	observer = (struct server_observer){
		.admin_set = on_admin_set,
		.in_force = on_in_force,
		.arg = &observer,
	};
	server_updates_observe(u, &observer);
}

static int teardown(void **state)
{
	(void)state;
	no_memory = false;
	log_use_ring(NULL);
	log_ring_free(ring);
	server_updates_unobserve(&observer);
	server_updates_free(u);
	backend_by_hand_free(b);
	return 0;
}

static void set_health(size_t i, bool healthy)
{
	server_updates_set_health(u, b->servers[i], healthy, "");
}

static void end_turn(void)
{
	updates_by_hand_turn(&hand, clock_mono_ns());
}

/* How many lines of the log have `text`. */
static int count_lines(const char *text)
{
	char line[LOG_RECORD_MAX];
	enum log_level level;
	int64_t wall_ns;
	int count = 0;

	while (log_take(ring, &level, &wall_ns, line, sizeof(line)) > 0)
		count += strstr(line, text) != NULL;
	return count;
}

/* ---- gathering ---- */

static void changes_of_one_turn_are_one_roster(void **state)
{
	uint64_t number;

	(void)state;
	start();
	assert_true(updates_by_hand_idle(&hand));
	number = backend_roster(b)->number;
	for (size_t i = 0; i < SERVERS - 1; i++)
		set_health(i, false);
	assert_int_equal(backend_roster(b)->number, number);
	assert_int_equal(in_force, 0);
	assert_false(server_usable(b->servers[0])); /* at once */
	end_turn();
	assert_int_equal(backend_roster(b)->number, number + 1);
	assert_int_equal(backend_roster(b)->count, 1);
	assert_int_equal(in_force, 1);
	assert_true(updates_by_hand_idle(&hand));
}

static void addresses_and_health_share_the_roster(void **state)
{
	struct addr_spec other;
	uint64_t number;

	(void)state;
	check(addr_parse("127.0.0.1:10", &other, NULL, NULL) == 0);
	start();
	number = backend_roster(b)->number;
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(server_updates_set_addr(u, b->servers[i], &other.addr), 0);
	set_health(10, false);
	assert_true(addr_equal(server_addr(b->servers[9]), &other.addr)); /* at once */
	assert_int_equal(backend_roster(b)->number, number);
	end_turn();
	assert_int_equal(backend_roster(b)->number, number + 1);
}

static void end_publishes_what_is_gathered(void **state)
{
	(void)state;
	start();
	set_health(0, false);
	server_updates_unobserve(&observer);
	server_updates_free(u);
	assert_int_equal(backend_roster(b)->count, SERVERS - 1);
	assert_int_equal(in_force, 0); /* who asks is ending as well */
}

/* ---- the administrator ---- */

static void what_the_administrator_wants_is_in_force_at_once(void **state)
{
	uint64_t number;

	(void)state;
	start();
	number = backend_roster(b)->number;
	assert_int_equal(server_updates_set_weight(u, b->servers[1], 7, "by test"), 0);
	assert_int_equal(backend_roster(b)->number, ++number);
	assert_int_equal(in_force, 0);
	end_turn(); /* observers are told then */
	assert_int_equal(in_force, 1);
	assert_int_equal(backend_roster(b)->number, number);
	assert_true(updates_by_hand_idle(&hand));
	in_force = 0;
	/* Together with what was gathered, which is not owed any more then. */
	set_health(0, false);
	assert_int_equal(server_updates_set_weight(u, b->servers[1], 8, "by test"), 0);
	assert_int_equal(backend_roster(b)->number, ++number);
	assert_int_equal(backend_roster(b)->count, SERVERS - 1);
	assert_int_equal(in_force, 0);
	end_turn();
	assert_int_equal(backend_roster(b)->number, number);
	assert_int_equal(in_force, 1); /* at the end of the turn, all the same */
	assert_int_equal(server_updates_set_maxconn(u, b->servers[1], 3, "by test"), 0);
	assert_int_equal(atomic_load(&b->servers[1]->limit), 3);
}

static void a_state_that_is_set_is_told(void **state)
{
	(void)state;
	start();
	assert_int_equal(server_updates_set_admin(u, b->servers[2], SERVER_ADMIN_DRAIN, "by test"), 0);
	assert_ptr_equal(set, b->servers[2]);
	assert_int_equal(backend_roster(b)->count, SERVERS - 1);
	assert_int_equal(server_updates_set_admin(u, b->servers[3], SERVER_ADMIN_READY, "by test"), 0);
	assert_ptr_equal(set, b->servers[3]); /* as it was before */
	set = NULL;
	assert_int_equal(server_updates_set_weight(u, b->servers[3], 1, "by test"), 0);
	set_health(4, false);
	assert_null(set);
}

/* ---- no memory ---- */

static void without_memory_nothing_is_changed_for_the_administrator(void **state)
{
	const struct server *s;

	(void)state;
	start();
	s = b->servers[0];
	no_memory = true;
	assert_int_equal(server_updates_set_admin(u, b->servers[0], SERVER_ADMIN_MAINT, "by test"), -ENOMEM);
	assert_int_equal(server_updates_set_weight(u, b->servers[0], 7, "by test"), -ENOMEM);
	assert_null(set);
	assert_true(server_usable(s));
	assert_int_equal(s->weight, 100);
	assert_true(updates_by_hand_idle(&hand)); /* nothing is owed */
}

static void what_finds_no_memory_is_tried_again_after_a_second(void **state)
{
	const int64_t began_ns = clock_mono_ns();
	uint64_t number;

	(void)state;
	start();
	number = backend_roster(b)->number;
	log_use_ring(ring);
	no_memory = true;
	set_health(0, false);
	end_turn();
	assert_int_equal(backend_roster(b)->number, number);
	assert_int_equal(in_force, 0);
	assert_false(hand.end_due);
	assert_in_range(hand.due_ns, began_ns + NS_PER_SEC, clock_mono_ns() + NS_PER_SEC);
	assert_int_equal(count_lines("app: no memory to apply changes to its servers; will retry in 1 s"), 1);
	/* It is changed, and the administrator is told so. */
	assert_int_equal(server_updates_set_admin(u, b->servers[1], SERVER_ADMIN_MAINT, "by test"), -EAGAIN);
	assert_ptr_equal(set, b->servers[1]);
	assert_false(server_usable(b->servers[1]));
	updates_by_hand_turn(&hand, hand.due_ns);
	assert_int_equal(backend_roster(b)->number, number);
	assert_int_not_equal(hand.due_ns, CLOCK_NEVER); /* as often as it takes */
	no_memory = false;
	updates_by_hand_turn(&hand, hand.due_ns);
	assert_int_equal(backend_roster(b)->number, number + 1);
	assert_int_equal(backend_roster(b)->count, SERVERS - 2);
	assert_int_equal(in_force, 1);
	assert_true(updates_by_hand_idle(&hand));
}

static void lines_about_memory_are_limited(void **state)
{
	(void)state;
	start();
	log_use_ring(ring);
	no_memory = true;
	for (int i = 0; i < 100; i++) {
		set_health(0, i % 2 == 1);
		end_turn();
	}
	assert_in_range(count_lines("no memory"), 1, 3); /* one a second */
}

/* ---- slow starts ---- */

static void steps_of_all_slow_starts_are_one_roster(void **state)
{
	uint64_t number;

	(void)state;
	for (size_t i = 0; i < SERVERS / 2; i++)
		server_configs[i].slowstart_ns = 2 * NS_PER_SEC;
	start();
	for (size_t i = 0; i < SERVERS / 2; i++)
		set_health(i, false);
	end_turn();
	number = backend_roster(b)->number;
	for (size_t i = 0; i < SERVERS / 2; i++)
		set_health(i, true);
	end_turn();
	assert_int_equal(backend_roster(b)->number, ++number);
	assert_int_equal(atomic_load(&b->servers[0]->eweight), 100);
	/* Half of it a second after the last has begun, and all of it two seconds after that. */
	updates_by_hand_turn(&hand, b->servers[SERVERS / 2 - 1]->slow_since_ns + NS_PER_SEC);
	assert_int_equal(backend_roster(b)->number, ++number);
	assert_int_equal(atomic_load(&b->servers[SERVERS / 2 - 1]->eweight), 900); /* rounded */
	updates_by_hand_turn(&hand, b->servers[SERVERS / 2 - 1]->slow_since_ns + 2 * NS_PER_SEC);
	assert_int_equal(backend_roster(b)->number, ++number);
	assert_int_equal(atomic_load(&b->servers[0]->eweight), 1600);
	assert_int_equal(atomic_load(&b->servers[SERVERS / 2 - 1]->eweight), 1600);
	assert_true(updates_by_hand_idle(&hand));
}

static void leaving_maintenance_begins_a_slow_start(void **state)
{
	struct server *s;

	(void)state;
	server_configs[0].slowstart_ns = NS_PER_SEC;
	start();
	s = b->servers[0];
	assert_int_equal(server_updates_set_admin(u, s, SERVER_ADMIN_MAINT, "by test"), 0);
	assert_int_equal(server_updates_set_admin(u, s, SERVER_ADMIN_READY, "by test"), 0);
	assert_true(atomic_load(&s->eweight) < 1600);
	updates_by_hand_turn(&hand, hand.due_ns);
	assert_int_equal(atomic_load(&s->eweight), 1600);
	assert_true(updates_by_hand_idle(&hand));
}

#define UPDATES_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		UPDATES_TEST(changes_of_one_turn_are_one_roster),
		UPDATES_TEST(addresses_and_health_share_the_roster),
		UPDATES_TEST(end_publishes_what_is_gathered),
		UPDATES_TEST(what_the_administrator_wants_is_in_force_at_once),
		UPDATES_TEST(a_state_that_is_set_is_told),
		UPDATES_TEST(without_memory_nothing_is_changed_for_the_administrator),
		UPDATES_TEST(what_finds_no_memory_is_tried_again_after_a_second),
		UPDATES_TEST(lines_about_memory_are_limited),
		UPDATES_TEST(steps_of_all_slow_starts_are_one_roster),
		UPDATES_TEST(leaving_maintenance_begins_a_slow_start),
	};

	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

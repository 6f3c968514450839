/* SPDX-License-Identifier: MIT
 *
 * test_agent.c - what an agent says, and what an administrator sets: which of them counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "weir/balance/run_time.h"
#include "weir/base/check.h"
#include "config_of_servers.h"
#include "live_by_hand.h"
#include "updates_by_hand.h"

static const struct mark me = {.wall_ns = 1, .by = 1000};

static struct config_of_servers c;
static struct backend *b;
static struct server *s;
static struct updates_by_hand hand;
static struct server_updates *const u = &hand.updates;

static struct told {
	struct server_observer observer;
	unsigned admin, down;
} told;

static void on_admin(void *arg, struct server *of)
{
	(void)of;
	((struct told *)arg)->admin++;
}

static void on_down(void *arg, struct server *of)
{
	assert_int_equal(of->state, SERVER_DOWN);
	((struct told *)arg)->down++;
}

static int setup(void **state)
{
	(void)state;
	config_of_servers_init(&c, (unsigned[]){100, 1}, 2);
	c.servers[0].maxconn = 50;
	b = backend_by_hand(&c.config);
	assert_non_null(b);
	s = b->servers[0];
	updates_by_hand_init(&hand, &b, 1);
	told = (struct told){.observer = {.admin_set = on_admin, .agent_down = on_down, .arg = &told}};
	server_updates_observe(u, &told.observer);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	server_updates_unobserve(&told.observer);
	server_updates_free(u);
	backend_by_hand_free(b);
	return 0;
}

static void say(struct server_agent what)
{
	server_updates_set_agent(u, s, &what, "agent: so");
	updates_by_hand_turn(&hand, clock_mono_ns());
}

static void set_admin(enum server_admin admin)
{
	assert_int_equal(server_updates_set_admin(u, s, admin, "by test"), 0);
	run_time_mark(s, SERVER_MARK_STATE, &me);
}

/* The state of each pair: the administrator's in rows, the agent's in columns. */
static void the_state_is_that_of_the_administrator_or_else_of_the_agent(void **state)
{
	static const enum server_state expected[3][3] = {
		[SERVER_ADMIN_READY] = {SERVER_UP, SERVER_DRAIN, SERVER_MAINT},
		[SERVER_ADMIN_DRAIN] = {SERVER_DRAIN, SERVER_DRAIN, SERVER_DRAIN},
		[SERVER_ADMIN_MAINT] = {SERVER_MAINT, SERVER_MAINT, SERVER_MAINT},
	};

	(void)state;
	for (int first = 0; first < 2; first++) {
		for (int admin = 0; admin < 3; admin++) {
			for (int agent = 0; agent < 3; agent++) {
				if (first == 0)
					set_admin((enum server_admin)admin);
				say((struct server_agent){.admin = (enum server_admin)agent});
				if (first == 1)
					set_admin((enum server_admin)admin);
				assert_int_equal(s->state, expected[admin][agent]);
				assert_int_equal(s->drains, admin != 0 || agent != 0);
				assert_int_equal(server_is_out_by_agent(s), admin == 0 && agent != 0);
			}
		}
	}
}

static void a_weight_that_is_set_counts_until_it_is_given_back(void **state)
{
	(void)state;
	say((struct server_agent){.has_percent = true, .percent = 50});
	assert_int_equal(server_weight_now(s), 50);
	assert_int_equal(s->eweight, 50 * SERVER_WEIGHT_SCALE);
	assert_int_equal(server_updates_set_weight(u, s, 30, "by test"), 0);
	assert_int_equal(s->eweight, 30 * SERVER_WEIGHT_SCALE);
	say((struct server_agent){.has_percent = true, .percent = 0});
	assert_int_equal(s->eweight, 30 * SERVER_WEIGHT_SCALE);
	assert_int_equal(server_updates_set_weight(u, s, 100, "by test"), 0);
	assert_int_equal(s->eweight, 0);
	say((struct server_agent){.has_percent = true, .percent = SERVER_PERCENT_MAX});
	assert_int_equal(s->eweight, SERVER_WEIGHT_MAX * SERVER_WEIGHT_SCALE);
	say((struct server_agent){.admin = SERVER_ADMIN_READY});
	assert_int_equal(s->eweight, 100 * SERVER_WEIGHT_SCALE);
}

static void a_limit_that_is_set_counts_until_it_is_given_back(void **state)
{
	(void)state;
	say((struct server_agent){.has_maxconn = true, .maxconn = 7});
	assert_int_equal(s->limit, 7);
	assert_int_equal(server_updates_set_maxconn(u, s, 20, "by test"), 0);
	assert_int_equal(s->limit, 20);
	say((struct server_agent){.has_maxconn = true, .maxconn = 0});
	assert_int_equal(s->limit, 20);
	assert_int_equal(server_updates_set_maxconn(u, s, 50, "by test"), 0);
	assert_int_equal(s->limit, 0);
	say((struct server_agent){.admin = SERVER_ADMIN_READY});
	assert_int_equal(s->limit, 50);
}

/* `h`: of the health checks, `a`: of the agent. */
static void health_and_agent_must_both_agree(void **state)
{
	(void)state;
	for (int h = 0; h < 2; h++) {
		for (int a = 0; a < 2; a++) {
			server_updates_set_health(u, s, h == 1, "by test");
			say((struct server_agent){.down = a == 0});
			assert_int_equal(s->state, h == 1 && a == 1 ? SERVER_UP : SERVER_DOWN);
		}
	}
	assert_int_equal(told.down, 2);
	assert_int_equal(told.admin, 0);
}

static void maintenance_does_not_forget_that_it_is_down(void **state)
{
	(void)state;
	say((struct server_agent){.down = true});
	set_admin(SERVER_ADMIN_MAINT);
	assert_int_equal(s->state, SERVER_MAINT);
	set_admin(SERVER_ADMIN_READY);
	assert_int_equal(s->state, SERVER_DOWN);
	/* As in HAProxy, health that is set brings it up, until the agent says so once more. */
	assert_int_equal(server_updates_force_health(u, s, SERVER_HEALTH_UP, "by test"), 0);
	assert_int_equal(s->state, SERVER_UP);
	say((struct server_agent){.down = true});
	assert_int_equal(s->state, SERVER_DOWN);
	run_time_say_agent(u, s, true, "by test");
	assert_int_equal(s->state, SERVER_UP);
	run_time_say_agent(u, s, false, "by test");
	assert_int_equal(s->state, SERVER_DOWN);
}

static void observers_hear_of_states_by_the_agent(void **state)
{
	(void)state;
	say((struct server_agent){.admin = SERVER_ADMIN_DRAIN});
	assert_int_equal(told.admin, 1);
	say((struct server_agent){.admin = SERVER_ADMIN_DRAIN, .has_percent = true, .percent = 5});
	assert_int_equal(told.admin, 1);
	say((struct server_agent){.admin = SERVER_ADMIN_MAINT});
	assert_int_equal(told.admin, 2);
	assert_int_equal(history_get(&s->history, history_size(&s->history) - 1)->to, 100); /* the weight */
	assert_string_equal(history_get(&s->history, 0)->cause, "agent: so");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_state_is_that_of_the_administrator_or_else_of_the_agent,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_weight_that_is_set_counts_until_it_is_given_back, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_limit_that_is_set_counts_until_it_is_given_back, setup,
						teardown),
		cmocka_unit_test_setup_teardown(health_and_agent_must_both_agree, setup, teardown),
		cmocka_unit_test_setup_teardown(maintenance_does_not_forget_that_it_is_down, setup, teardown),
		cmocka_unit_test_setup_teardown(observers_hear_of_states_by_the_agent, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

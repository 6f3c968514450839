/* SPDX-License-Identifier: MIT
 *
 * test_outage.c - servers without a health check: who leaves, who is offered as a trial, and who comes back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "config_of_servers.h"
#include "live_by_hand.h"
#include "updates_by_hand.h"
#include "weir/balance/outage.h"
#include "weir/base/check.h"

#define DOWN_NS (10 * NS_PER_SEC)

static struct config_of_servers c;
static struct backend *b;
static struct updates_by_hand hand;
static struct server_updates *const u = &hand.updates;
static struct outages o;
static int64_t now_ns;

static int begin(unsigned limit)
{
	config_of_servers_init(&c, (unsigned[]){1, 1, 1}, 3);
	c.servers[1].check = limit != 0;
	c.backend.observe.limit = limit;
	c.backend.observe.what = CONFIG_OBSERVE_CONNECT;
	c.backend.observe.down_ns = DOWN_NS;
	b = backend_by_hand(&c.config);
	assert_non_null(b);
	updates_by_hand_init(&hand, &b, 1);
	outages_init(&o, u);
	now_ns = 1000 * NS_PER_SEC;
	return 0;
}

static int setup(void **state)
{
	(void)state;
	return begin(0);
}

/* The second server is also health-checked. */
static int setup_limit(void **state)
{
	(void)state;
	return begin(3);
}

static int teardown(void **state)
{
	(void)state;
	outages_free(&o);
	server_updates_free(u);
	backend_by_hand_free(b);
	return 0;
}

static int64_t turn(void)
{
	const int64_t next_ns = outages_settle(&o, now_ns);

	updates_by_hand_turn(&hand, clock_mono_ns());
	return next_ns;
}

static enum server_state state_of(size_t i)
{
	return (enum server_state)atomic_load(&b->servers[i]->state);
}

static void set_failing(size_t i, int times)
{
	atomic_store(&b->servers[i]->failing, times);
}

/* It leaves, and the time passes until it is offered. */
static void take_out(size_t i)
{
	set_failing(i, 1);
	assert_int_equal(turn(), now_ns + DOWN_NS);
	assert_int_equal(state_of(i), SERVER_DOWN);
	now_ns += DOWN_NS;
	(void)turn();
}

static void one_that_fails_leaves_and_is_offered_once_when_its_time_is_over(void **state)
{
	(void)state;
	assert_int_equal(turn(), CLOCK_NEVER);
	set_failing(1, 1);
	assert_int_equal(turn(), now_ns + DOWN_NS);
	assert_int_equal(state_of(1), SERVER_DOWN);
	assert_false(outage_has_trial(b));
	now_ns += DOWN_NS - 1;
	assert_int_equal(turn(), now_ns + 1);
	assert_false(outage_has_trial(b));
	now_ns++;
	assert_int_equal(turn(), CLOCK_NEVER);
	assert_true(outage_has_trial(b));
	assert_ptr_equal(outage_take_trial(b), b->servers[1]);
	assert_null(outage_take_trial(b));
	assert_int_equal(turn(), CLOCK_NEVER); /* it goes on */
	assert_false(outage_has_trial(b));
}

static void a_trial_that_fails_waits_anew_and_one_that_passes_brings_it_back(void **state)
{
	struct server *s;

	(void)state;
	take_out(0);
	s = outage_take_trial(b);
	outage_end_trial(s, SERVER_TRIAL_FAILED);
	assert_int_equal(turn(), now_ns + DOWN_NS);
	assert_int_equal(state_of(0), SERVER_DOWN);
	now_ns += DOWN_NS;
	(void)turn();
	outage_end_trial(outage_take_trial(b), SERVER_TRIAL_GIVEN_UP);
	assert_int_equal(turn(), CLOCK_NEVER);
	assert_true(outage_has_trial(b)); /* at once */
	outage_end_trial(outage_take_trial(b), SERVER_TRIAL_PASSED);
	assert_int_equal(turn(), CLOCK_NEVER);
	assert_int_equal(state_of(0), SERVER_UP);
	assert_int_equal(atomic_load(&s->failing), 0);
	assert_false(outage_has_trial(b));
}

static void the_last_one_stays_and_the_others_return_without_it(void **state)
{
	(void)state;
	take_out(0);
	take_out(1);
	set_failing(2, 100);
	(void)turn();
	assert_int_equal(state_of(2), SERVER_UP);
	assert_int_equal(server_updates_set_admin(u, b->servers[2], SERVER_ADMIN_MAINT, "by test"), 0);
	(void)turn();
	assert_int_equal(state_of(0), SERVER_UP); /* one of them is enough */
	assert_int_equal(state_of(1), SERVER_DOWN);
	/* Two are up again: the one that goes on failing leaves. */
	set_failing(2, 3);
	assert_int_equal(server_updates_set_admin(u, b->servers[2], SERVER_ADMIN_READY, "by test"), 0);
	(void)turn();
	assert_int_equal(state_of(2), SERVER_DOWN);
}

static void a_limit_is_what_the_line_says_and_checked_servers_are_left_alone(void **state)
{
	(void)state;
	set_failing(0, 2);
	assert_int_equal(turn(), CLOCK_NEVER);
	set_failing(0, 3);
	assert_int_equal(turn(), now_ns + DOWN_NS);
	assert_int_equal(state_of(0), SERVER_DOWN);
	set_failing(1, 100);
	(void)turn();
	assert_int_equal(state_of(1), SERVER_UP);
}

static void one_that_is_taken_out_of_service_gets_no_trial(void **state)
{
	struct server *s = b->servers[0];

	(void)state;
	take_out(0);
	assert_int_equal(server_updates_set_admin(u, s, SERVER_ADMIN_DRAIN, "by test"), 0);
	assert_int_equal(turn(), CLOCK_NEVER);
	assert_false(outage_has_trial(b));
	assert_int_equal(server_updates_set_admin(u, s, SERVER_ADMIN_READY, "by test"), 0);
	(void)turn();
	assert_true(outage_has_trial(b));
	/* Maintenance ends it. */
	assert_int_equal(server_updates_set_admin(u, s, SERVER_ADMIN_MAINT, "by test"), 0);
	assert_false(outage_has_trial(b));
	assert_int_equal(server_updates_set_admin(u, s, SERVER_ADMIN_READY, "by test"), 0);
	assert_int_equal(state_of(0), SERVER_UP);
}

static void one_place_serves_several_servers_in_turn(void **state)
{
	struct server *first;

	(void)state;
	set_failing(0, 1);
	set_failing(1, 1);
	(void)turn();
	assert_int_equal(state_of(0) == SERVER_DOWN && state_of(1) == SERVER_DOWN, 1);
	now_ns += DOWN_NS;
	(void)turn();
	first = outage_take_trial(b);
	assert_ptr_equal(first, b->servers[0]);
	(void)turn();
	assert_ptr_equal(outage_take_trial(b), b->servers[1]);
	outage_end_trial(first, SERVER_TRIAL_PASSED);
	outage_end_trial(b->servers[1], SERVER_TRIAL_PASSED);
	(void)turn();
	assert_int_equal(state_of(0), SERVER_UP);
	assert_int_equal(state_of(1), SERVER_UP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(one_that_fails_leaves_and_is_offered_once_when_its_time_is_over,
					    setup, teardown),
	    cmocka_unit_test_setup_teardown(a_trial_that_fails_waits_anew_and_one_that_passes_brings_it_back,
					    setup, teardown),
	    cmocka_unit_test_setup_teardown(the_last_one_stays_and_the_others_return_without_it, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(a_limit_is_what_the_line_says_and_checked_servers_are_left_alone,
					    setup_limit, teardown),
	    cmocka_unit_test_setup_teardown(one_that_is_taken_out_of_service_gets_no_trial, setup, teardown),
	    cmocka_unit_test_setup_teardown(one_place_serves_several_servers_in_turn, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * test_server.c - what a server becomes and what is told of it: states, history, log, slow start.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../base/log_take.h"
#include "config_of_servers.h"
#include "live_by_hand.h"
#include "balance/server_change.h"
#include "weir/balance/backend.h"
#include "weir/balance/change_log.h"
#include "weir/base/clock.h"

#define AT(s) ((s) * NS_PER_SEC)

struct fixture {
	struct config_of_servers c;
	struct backend *b;
	struct server *a; /* the first */
	struct log_ring *log;
};

static void nobody_sleeps(void *arg)
{
	(void)arg;
}

static void init(struct fixture *f, size_t count)
{
	config_of_servers_init(&f->c, (unsigned[]){1, 1, 1}, count);
	(void)snprintf(f->c.backend.name, sizeof(f->c.backend.name), "web");
	f->log = log_ring_new(nobody_sleeps, NULL);
	assert_non_null(f->log);
	log_use_ring(f->log);
}

static void start(struct fixture *f)
{
	f->b = backend_by_hand(&f->c.config);
	assert_non_null(f->b);
	f->a = f->b->servers[0];
}

static void finish(struct fixture *f)
{
	backend_by_hand_free(f->b);
	log_use_ring(NULL);
	log_ring_free(f->log);
}

static void expect_line(struct fixture *f, enum log_level level, const char *text)
{
	char line[LOG_RECORD_MAX];
	enum log_level got = LOG_LEVEL_DEBUG;
	int64_t wall_ns;

	assert_true(log_take(f->log, &got, &wall_ns, line, sizeof(line)) > 0);
	assert_string_equal(line, text);
	assert_int_equal(got, level);
}

static void expect_no_line(struct fixture *f)
{
	char line[LOG_RECORD_MAX];
	enum log_level level;
	int64_t wall_ns;

	assert_int_equal(log_take(f->log, &level, &wall_ns, line, sizeof(line)), 0);
}

/* ---- the state ---- */

static void worst_of_the_three_is_the_state(void **state)
{
	static const struct {
		enum server_admin admin;
		bool addr;
		bool healthy;
		enum server_state state;
	} table[] = {
		{SERVER_ADMIN_READY, true, true, SERVER_UP},
		{SERVER_ADMIN_READY, true, false, SERVER_DOWN},
		{SERVER_ADMIN_READY, false, true, SERVER_UNRESOLVED},
		{SERVER_ADMIN_READY, false, false, SERVER_UNRESOLVED},
		{SERVER_ADMIN_DRAIN, true, true, SERVER_DRAIN},
		{SERVER_ADMIN_DRAIN, true, false, SERVER_DOWN},
		{SERVER_ADMIN_DRAIN, false, true, SERVER_UNRESOLVED},
		{SERVER_ADMIN_DRAIN, false, false, SERVER_UNRESOLVED},
		{SERVER_ADMIN_MAINT, true, true, SERVER_MAINT},
		{SERVER_ADMIN_MAINT, true, false, SERVER_MAINT},
		{SERVER_ADMIN_MAINT, false, true, SERVER_MAINT},
		{SERVER_ADMIN_MAINT, false, false, SERVER_MAINT},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct fixture f;

		init(&f, 1);
		if (!table[i].addr)
			config_of_servers_unresolve(&f.c, 0);
		start(&f);
		assert_int_equal(server_set_health(f.a, table[i].healthy, "", AT(1)), 0);
		assert_int_equal(server_set_admin(f.a, table[i].admin, "", AT(2)), 0);
		assert_int_equal(atomic_load(&f.a->state), table[i].state);
		assert_int_equal(server_usable(f.a), table[i].state == SERVER_UP);
		assert_int_equal(atomic_load(&f.a->in_roster), table[i].state == SERVER_UP);
		finish(&f);
	}
}

static void disabled_server_begins_in_maintenance(void **state)
{
	struct fixture f;

	(void)state;
	init(&f, 2);
	f.c.servers[0].disabled = true;
	start(&f);
	assert_int_equal(atomic_load(&f.a->state), SERVER_MAINT);
	assert_int_equal(backend_roster(f.b)->count, 1);
	assert_int_equal(server_set_admin(f.a, SERVER_ADMIN_READY, "admin", AT(1)), 0);
	assert_true(server_usable(f.a));
	assert_int_equal(backend_roster(f.b)->count, 2);
	finish(&f);
}

static void changes_are_told_with_their_cause(void **state)
{
	struct fixture f;

	(void)state;
	init(&f, 3);
	start(&f);
	expect_no_line(&f);
	for (int i = 0; i < 5; i++)
		assert_true(server_enter(f.a));
	assert_int_equal(server_set_health(f.a, false, "connection refused", AT(1)), 0);
	expect_line(&f, LOG_LEVEL_WARNING,
		    "server web/a is DOWN: connection refused; 2 of 3 servers left, "
		    "5 sessions active, 0 queued");
	assert_int_equal(server_set_health(f.a, true, "", AT(2)), 0);
	expect_line(&f, LOG_LEVEL_NOTICE,
		    "server web/a is UP; 3 of 3 servers up, 5 sessions active, 0 queued");
	assert_int_equal(server_set_admin(f.a, SERVER_ADMIN_DRAIN, "by the administrator", AT(3)), 0);
	expect_line(&f, LOG_LEVEL_NOTICE,
		    "server web/a is DRAIN: by the administrator; 2 of 3 servers left, "
		    "5 sessions active, 0 queued");
	for (int i = 0; i < 5; i++)
		server_leave(f.a);
	expect_no_line(&f);
	finish(&f);
}

static void end_of_the_last_server_is_an_alert(void **state)
{
	struct fixture f;

	(void)state;
	init(&f, 2);
	start(&f);
	assert_int_equal(server_set_health(f.a, false, "x", AT(1)), 0);
	expect_line(&f, LOG_LEVEL_WARNING,
		    "server web/a is DOWN: x; 1 of 2 servers left, 0 sessions active, 0 queued");
	assert_true(f.b->changed_ns != AT(1)); /* it still has one */
	assert_int_equal(server_set_weight(f.b->servers[1], 0, "by test", AT(2)), 0);
	assert_true(f.b->changed_ns == AT(2));
	expect_line(&f, LOG_LEVEL_NOTICE, "server web/b: weight 0, was 1: by test");
	expect_line(&f, LOG_LEVEL_ALERT,
		    "backend web has no server left; no client is served until one is up");
	/* It had none before: no second alert. */
	assert_int_equal(server_set_health(f.b->servers[1], false, "y", AT(3)), 0);
	expect_line(&f, LOG_LEVEL_WARNING,
		    "server web/b is DOWN: y; 0 of 2 servers left, 0 sessions active, 0 queued");
	expect_no_line(&f);
	assert_true(f.b->changed_ns == AT(2));
	assert_int_equal(server_set_health(f.a, true, "", AT(4)), 0);
	assert_true(f.b->changed_ns == AT(4));
	finish(&f);
}

static void alert_says_that_panic_uses_what_there_is(void **state)
{
	struct fixture f;

	(void)state;
	init(&f, 1);
	f.c.backend.panic = true;
	start(&f);
	assert_int_equal(server_set_health(f.a, false, "x", AT(1)), 0);
	expect_line(&f, LOG_LEVEL_WARNING,
		    "server web/a is DOWN: x; 0 of 1 servers left, 0 sessions active, 0 queued");
	expect_line(&f, LOG_LEVEL_ALERT,
		    "backend web has no server left; 'panic' keeps 1 of its 1 servers in use");
	finish(&f);
}

static void held_changes_are_told_at_once_and_the_alert_with_the_roster(void **state)
{
	struct fixture f;

	(void)state;
	init(&f, 2);
	start(&f);
	backend_hold(f.b);
	backend_hold(f.b); /* harmless */
	assert_int_equal(server_set_health(f.a, false, "x", AT(1)), 0);
	expect_line(&f, LOG_LEVEL_WARNING,
		    "server web/a is DOWN: x; 1 of 2 servers left, 0 sessions active, 0 queued");
	assert_int_equal(server_set_health(f.b->servers[1], false, "y", AT(1)), 0);
	expect_line(&f, LOG_LEVEL_WARNING,
		    "server web/b is DOWN: y; 0 of 2 servers left, 0 sessions active, 0 queued");
	expect_no_line(&f);
	assert_int_equal(backend_roster(f.b)->count, 2);
	assert_int_equal(backend_release(f.b), 0);
	assert_int_equal(backend_roster(f.b)->count, 0);
	expect_line(&f, LOG_LEVEL_ALERT,
		    "backend web has no server left; no client is served until one is up");
	/* One that goes while another comes leaves nobody without a server. */
	assert_int_equal(server_set_health(f.a, true, "", AT(2)), 0);
	backend_hold(f.b);
	assert_int_equal(server_set_health(f.a, false, "", AT(3)), 0);
	assert_int_equal(server_set_health(f.b->servers[1], true, "", AT(3)), 0);
	assert_int_equal(backend_release(f.b), 0);
	for (int i = 0; i < 3; i++) {
		char line[LOG_RECORD_MAX];
		enum log_level level;
		int64_t wall_ns;

		assert_true(log_take(f.log, &level, &wall_ns, line, sizeof(line)) > 0);
		assert_int_not_equal(level, LOG_LEVEL_ALERT);
	}
	expect_no_line(&f);
	finish(&f);
}

static void what_changes_nothing_leaves_no_trace(void **state)
{
	struct fixture f;
	const struct roster *r;

	(void)state;
	init(&f, 2);
	start(&f);
	r = backend_roster(f.b);
	assert_int_equal(server_set_health(f.a, true, "again", AT(1)), 0);
	assert_int_equal(server_set_admin(f.a, SERVER_ADMIN_READY, "again", AT(1)), 0);
	assert_int_equal(server_set_weight(f.a, 1, "by test", AT(1)), 0);
	assert_int_equal(server_set_maxconn(f.a, 0, "by test", AT(2)), 0);
	assert_int_equal(server_set_addr(f.a, &f.c.servers[0].addr.addr), 0);
	assert_ptr_equal(backend_roster(f.b), r);
	assert_int_equal(f.a->changed_ns, 0);
	assert_int_equal(history_size(&f.a->history), 0);
	expect_no_line(&f);
	assert_false(atomic_load(&f.b->limited));
	finish(&f);
}

/* "Who changed what": that a server takes less than it did is as good a reason for an outage as its state. */
static void weights_and_limits_are_history_too(void **state)
{
	const struct history_change *h;
	struct fixture f;
	const struct roster *r;

	(void)state;
	init(&f, 2);
	start(&f);
	r = backend_roster(f.b);
	assert_int_equal(server_set_weight(f.a, 2, "by uid 7", AT(2)), 0);
	assert_ptr_not_equal(backend_roster(f.b), r);
	expect_line(&f, LOG_LEVEL_NOTICE, "server web/a: weight 2, was 1: by uid 7");
	assert_int_equal(server_set_maxconn(f.a, 3, "by uid 8", AT(3)), 0);
	expect_line(&f, LOG_LEVEL_NOTICE, "server web/a: maxconn 3, was 0: by uid 8");
	expect_no_line(&f);
	assert_int_equal(f.a->changed_ns, 0); /* no other state */
	assert_int_equal(history_size(&f.a->history), 2);
	h = history_get(&f.a->history, 0);
	assert_int_equal(h->what, CHANGE_WEIGHT);
	assert_int_equal(h->from, 1);
	assert_int_equal(h->to, 2);
	assert_int_equal(h->at_ns, AT(2));
	assert_string_equal(h->cause, "by uid 7");
	h = history_get(&f.a->history, 1);
	assert_int_equal(h->what, CHANGE_MAXCONN);
	assert_int_equal(h->to, 3);
	assert_int_equal(h->at_ns, AT(3));
	finish(&f);
}

/* ---- history and time ---- */

static void last_changes_are_kept_in_order(void **state)
{
	struct fixture f;
	char cause[HISTORY_CAUSE_MAX * 2];

	(void)state;
	init(&f, 2);
	start(&f);
	for (int i = 0; i < 40; i++) {
		(void)snprintf(cause, sizeof(cause), "cause %d", i);
		assert_int_equal(server_set_health(f.a, i % 2 == 1, cause, AT(i + 1)), 0);
	}
	assert_int_equal(history_size(&f.a->history), HISTORY_MAX);
	assert_int_equal(f.a->history.count, 40);
	for (size_t i = 0; i < HISTORY_MAX; i++) {
		const struct history_change *h = history_get(&f.a->history, i);
		const unsigned n = 8 + (unsigned)i;

		(void)snprintf(cause, sizeof(cause), "cause %u", n);
		assert_string_equal(h->cause, cause);
		assert_int_equal(h->at_ns, AT(n + 1));
		assert_int_equal(h->what, CHANGE_STATE);
		assert_true(h->wall_ns > 1600000000 * NS_PER_SEC);
		assert_int_equal(h->from, n % 2 == 0 ? SERVER_UP : SERVER_DOWN);
		assert_int_equal(h->to, n % 2 == 0 ? SERVER_DOWN : SERVER_UP);
	}
	assert_int_equal(f.a->changed_ns, AT(40));
	finish(&f);
}

static void cause_is_cut_and_printable(void **state)
{
	struct fixture f;
	char cause[HISTORY_CAUSE_MAX * 2];

	(void)state;
	init(&f, 2);
	start(&f);
	memset(cause, 'x', sizeof(cause));
	memcpy(cause, "a\nb\x7f\xff\"", 6);
	cause[sizeof(cause) - 1] = '\0';
	assert_int_equal(server_set_health(f.a, false, cause, AT(1)), 0);
	assert_int_equal(strlen(history_get(&f.a->history, 0)->cause), HISTORY_CAUSE_MAX - 1);
	assert_memory_equal(history_get(&f.a->history, 0)->cause, "a?b??\"x", 7);
	finish(&f);
}

static void time_out_of_service_is_added_up(void **state)
{
	struct fixture f;

	(void)state;
	init(&f, 2);
	start(&f);
	assert_int_equal(server_set_health(f.a, false, "", AT(10)), 0);
	assert_int_equal(f.a->down_ns, 0);
	assert_int_equal(server_set_admin(f.a, SERVER_ADMIN_MAINT, "", AT(14)), 0);
	assert_int_equal(f.a->down_ns, AT(4));
	assert_int_equal(server_set_admin(f.a, SERVER_ADMIN_READY, "", AT(20)), 0);
	assert_int_equal(server_set_health(f.a, true, "", AT(21)), 0);
	assert_int_equal(f.a->down_ns, AT(11));
	/* Draining is not down. */
	assert_int_equal(server_set_admin(f.a, SERVER_ADMIN_DRAIN, "", AT(101)), 0);
	assert_int_equal(server_set_admin(f.a, SERVER_ADMIN_READY, "", AT(110)), 0);
	assert_int_equal(f.a->down_ns, AT(11));
	assert_int_equal(f.a->changed_ns, AT(110));
	finish(&f);
}

/* ---- slow start ---- */

/* Weight 3, maxconn 7, slowstart 40 s: a step takes 2 s. From the formulas of HAProxy by hand (python):
 * w = (16 * t + 40) // 40, eweight = 3 * w, maxconn = max(1, 7 * (100 * t // 40) // 100). */
static void slow_start_goes_by_the_formula(void **state)
{
	static const struct {
		int t;
		unsigned eweight;
		unsigned limit;
		unsigned throttle;
	} table[] = {
		{0, 3, 1, 0},
		{1, 3, 1, 2},
		{2, 3, 1, 5},
		{3, 6, 1, 7},
		{4, 6, 1, 10},
		{5, 9, 1, 12},
		{6, 9, 1, 15},
		{10, 15, 1, 25},
		{14, 18, 2, 35},
		{20, 27, 3, 50},
		{29, 36, 5, 72},
		{30, 39, 5, 75},
		{37, 45, 6, 92},
		{38, 48, 6, 95},
		{39, 48, 6, 97},
		{40, 48, 7, 100},
	};
	struct fixture f;

	(void)state;
	init(&f, 2);
	f.c.servers[0].weight = 3;
	f.c.servers[0].maxconn = 7;
	f.c.servers[0].slowstart_ns = AT(40);
	start(&f);
	/* Never at the start of the process. */
	assert_int_equal(atomic_load(&f.a->eweight), 48);
	assert_int_equal(atomic_load(&f.a->limit), 7);
	assert_int_equal(server_slowstart_step(f.a, AT(1)), INT64_MAX);
	assert_int_equal(server_set_health(f.a, false, "", AT(50)), 0);
	assert_int_equal(server_throttle(f.a, AT(50)), 100);
	assert_int_equal(server_set_health(f.a, true, "", AT(100)), 0);
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		const int64_t now = AT(100 + table[i].t);
		const bool over = table[i].t >= 40;

		assert_int_equal(server_slowstart_step(f.a, now), over ? INT64_MAX : now + AT(2));
		assert_int_equal(atomic_load(&f.a->eweight), table[i].eweight);
		assert_int_equal(atomic_load(&f.a->limit), table[i].limit);
		assert_int_equal(server_throttle(f.a, now), table[i].throttle);
		assert_int_equal(backend_roster(f.b)->by_place[0].weight, table[i].eweight);
	}
	assert_int_equal(f.a->slow_since_ns, 0);
	finish(&f);
}

static void steps_are_a_twentieth_and_at_least_a_second(void **state)
{
	static const struct {
		int64_t slowstart_ns;
		int64_t step_ns;
	} table[] = {
		{1, AT(1)},	   {AT(1), AT(1)},	{AT(19), AT(1)},
		{AT(20), AT(1)},   {AT(100), AT(5)},	{AT(30), 3 * NS_PER_SEC / 2},
		{AT(2) + 1, AT(1)},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct fixture f;

		init(&f, 2);
		f.c.servers[0].slowstart_ns = table[i].slowstart_ns;
		start(&f);
		assert_int_equal(server_set_health(f.a, false, "", AT(1)), 0);
		assert_int_equal(server_set_health(f.a, true, "", AT(10)), 0);
		assert_int_equal(server_slowstart_step(f.a, AT(10)), AT(10) + table[i].step_ns);
		finish(&f);
	}
}

/* Where the weight decides what belongs to whom it does not grow; the limit does everywhere. */
static void weight_grows_only_where_it_moves_nobody(void **state)
{
	static const struct {
		enum config_balance algorithm;
		enum config_hash hash;
		bool grows;
	} table[] = {
		{CONFIG_BALANCE_ROUNDROBIN, CONFIG_HASH_MODULO, true},
		{CONFIG_BALANCE_LEASTCONN, CONFIG_HASH_MODULO, true},
		{CONFIG_BALANCE_RANDOM, CONFIG_HASH_MODULO, true},
		{CONFIG_BALANCE_FIRST, CONFIG_HASH_MODULO, false},
		{CONFIG_BALANCE_SOURCE, CONFIG_HASH_MODULO, false},
		{CONFIG_BALANCE_SOURCE, CONFIG_HASH_CONSISTENT, true},
		{CONFIG_BALANCE_MAGLEV, CONFIG_HASH_MODULO, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct fixture f;

		init(&f, 2);
		f.c.backend.balance.algorithm = table[i].algorithm;
		f.c.backend.balance.hash = table[i].hash;
		f.c.servers[0].slowstart_ns = AT(10);
		f.c.servers[0].maxconn = 100;
		start(&f);
		assert_int_equal(server_set_admin(f.a, SERVER_ADMIN_MAINT, "", AT(1)), 0);
		assert_int_equal(server_set_admin(f.a, SERVER_ADMIN_READY, "", AT(2)), 0);
		assert_int_equal(atomic_load(&f.a->eweight), table[i].grows ? 1 : 16);
		assert_int_equal(atomic_load(&f.a->limit), 1);
		(void)server_slowstart_step(f.a, AT(7));
		assert_int_equal(atomic_load(&f.a->eweight), table[i].grows ? 9 : 16);
		assert_int_equal(atomic_load(&f.a->limit), 50);
		finish(&f);
	}
}

static void slow_start_begins_when_a_server_was_down(void **state)
{
	struct fixture f;

	(void)state;
	init(&f, 2);
	f.c.servers[0].slowstart_ns = AT(10);
	f.c.servers[1].slowstart_ns = AT(10);
	config_of_servers_unresolve(&f.c, 1);
	start(&f);
	/* A name that gets its first address has not failed. */
	assert_int_equal(server_set_addr(f.b->servers[1], &f.c.servers[0].addr.addr), 0);
	assert_int_equal(f.b->servers[1]->slow_since_ns, 0);
	/* Nor has one that was drained. */
	assert_int_equal(server_set_admin(f.a, SERVER_ADMIN_DRAIN, "", AT(1)), 0);
	assert_int_equal(server_set_admin(f.a, SERVER_ADMIN_READY, "", AT(2)), 0);
	assert_int_equal(atomic_load(&f.a->eweight), 16);
	/* It comes back while it is drained: the time runs. */
	assert_int_equal(server_set_admin(f.a, SERVER_ADMIN_DRAIN, "", AT(3)), 0);
	assert_int_equal(server_set_health(f.a, false, "", AT(4)), 0);
	assert_int_equal(server_set_health(f.a, true, "", AT(5)), 0);
	assert_int_equal(server_set_admin(f.a, SERVER_ADMIN_READY, "", AT(10)), 0);
	assert_int_equal(atomic_load(&f.a->eweight), 9);
	/* Down again ends it, and the next one begins from the start. */
	assert_int_equal(server_set_health(f.a, false, "", AT(11)), 0);
	assert_int_equal(server_slowstart_step(f.a, AT(12)), INT64_MAX);
	assert_int_equal(server_set_health(f.a, true, "", AT(13)), 0);
	assert_int_equal(atomic_load(&f.a->eweight), 1);
	finish(&f);
}

static void weight_and_limit_may_be_set_during_a_slow_start(void **state)
{
	struct fixture f;

	(void)state;
	init(&f, 2);
	f.c.servers[0].slowstart_ns = AT(10);
	start(&f);
	assert_int_equal(server_set_health(f.a, false, "", AT(1)), 0);
	assert_int_equal(server_set_health(f.a, true, "", AT(10)), 0);
	assert_int_equal(server_set_weight(f.a, 100, "by test", AT(15)), 0);
	assert_int_equal(atomic_load(&f.a->eweight), 900);
	assert_int_equal(server_set_maxconn(f.a, 10, "by test", AT(15)), 0);
	assert_int_equal(atomic_load(&f.a->limit), 5);
	assert_int_equal(server_slowstart_step(f.a, AT(20)), INT64_MAX);
	assert_int_equal(atomic_load(&f.a->eweight), 1600);
	assert_int_equal(atomic_load(&f.a->limit), 10);
	assert_int_equal(server_set_weight(f.a, 0, "by test", AT(21)), 0);
	assert_int_equal(atomic_load(&f.a->eweight), 0);
	assert_int_equal(backend_roster(f.b)->count, 1);
	assert_false(atomic_load(&f.a->in_roster));
	finish(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(worst_of_the_three_is_the_state),
		cmocka_unit_test(disabled_server_begins_in_maintenance),
		cmocka_unit_test(changes_are_told_with_their_cause),
		cmocka_unit_test(end_of_the_last_server_is_an_alert),
		cmocka_unit_test(alert_says_that_panic_uses_what_there_is),
		cmocka_unit_test(held_changes_are_told_at_once_and_the_alert_with_the_roster),
		cmocka_unit_test(what_changes_nothing_leaves_no_trace),
		cmocka_unit_test(weights_and_limits_are_history_too),
		cmocka_unit_test(last_changes_are_kept_in_order),
		cmocka_unit_test(cause_is_cut_and_printable),
		cmocka_unit_test(time_out_of_service_is_added_up),
		cmocka_unit_test(slow_start_goes_by_the_formula),
		cmocka_unit_test(steps_are_a_twentieth_and_at_least_a_second),
		cmocka_unit_test(weight_grows_only_where_it_moves_nobody),
		cmocka_unit_test(slow_start_begins_when_a_server_was_down),
		cmocka_unit_test(weight_and_limit_may_be_set_during_a_slow_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

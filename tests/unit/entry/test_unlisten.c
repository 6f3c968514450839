/* SPDX-License-Identifier: MIT
 *
 * test_unlisten.c - a frontend leaves its addresses while no server is up, and takes them again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "entry_rig.h"
#include "entry_fail.h"
#include "weir/balance/server_updates.h"
#include "weir/entry/unlisten.h"

#define DEAF_NS (900 * NS_PER_MS)

static struct entry_rig r;
static struct entries *entries;
static struct frontend *fe;
static struct endpoint *ep;
static struct addr at;
static struct server_updates updates;
static unsigned raised, lowered;

static void nothing(void *arg)
{
	(void)arg;
}

static void nothing_at(void *arg, int64_t at_ns)
{
	(void)arg;
	(void)at_ns;
}

static int raise_right(void *arg)
{
	(void)arg;
	raised++;
	return 0;
}

static void lower_right(void *arg)
{
	(void)arg;
	lowered++;
}

static const struct unlisten_rights rights = {.raise = raise_right, .lower = lower_right};

static int64_t look(void)
{
	return entries_unlisten(entries, &rights, r.now_ns);
}

static void set_option(enum config_unlisten unlisten)
{
	struct config_frontend config = *fe->config;
	const struct entry_wish wish = {.config = &config, .backend = r.engine.backends[0]};
	struct entry_change c;

	config.unlisten = unlisten;
	assert_int_equal(entries_prepare_change(entries, fe, &wish, &c), 0);
	entries_commit_change(entries, &c);
}

static void set_up(bool up)
{
	server_updates_set_health(&updates, r.engine.backends[0]->servers[0], up, "a test");
	server_updates_publish(&updates);
}

static int setup(void **state)
{
	const struct server_updates_loop loop = {nothing, nothing_at, NULL};

	(void)state;
	rig_open(&r);
	entries = &r.engine.entries;
	fe = first_frontend(&r.engine);
	ep = first_endpoint(&r.engine);
	at = ep->addr;
	raised = lowered = 0;
	server_updates_init(&updates, r.engine.backends, r.engine.backend_count, &loop);
	set_option(CONFIG_UNLISTEN_NO_SERVER);
	(void)rig_settle(&r); /* the settings before it are gone */
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fail_nothing();
	server_updates_free(&updates);
	rig_close(&r);
	return 0;
}

static bool is_refused(void)
{
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const bool refused = connect(fd, &at.sa, at.len) != 0 && errno == ECONNREFUSED;

	close(fd);
	return refused;
}

/* 0: deaf, 1: workers leave it, 2: without a socket. */
static void go_away(int stage)
{
	set_up(false);
	assert_true(look() == CLOCK_NEVER);
	assert_true(fe->changed_ns == r.now_ns);
	fe->changed_ns = 0;
	assert_true(look() == CLOCK_NEVER); /* harmless */
	assert_true(fe->changed_ns == 0);
	assert_int_equal(ep->stage, ENDPOINT_DEAF);
	if (stage == 0)
		return;
	r.now_ns += DEAF_NS;
	(void)rig_control(&r);
	assert_int_equal(ep->stage, ENDPOINT_LEAVING);
	if (stage == 1)
		return;
	assert_true(rig_settle(&r) == CLOCK_NEVER);
	assert_int_equal(ep->stage, ENDPOINT_AWAY);
	assert_int_equal(ep->fd, -1);
}

static void assert_hears(void)
{
	const int fd = rig_client(&at);

	assert_true(rig_reaches(&r, 1));
	assert_int_equal(ep->stage, ENDPOINT_OPEN);
	assert_false(ep->away);
	assert_int_equal(atomic_load(&ep->listeners), RIG_WORKERS);
	close(fd);
	assert_true(rig_empties(&r));
	(void)rig_settle(&r);
	assert_int_equal(retire_count(&r.engine.live.retire), 0);
}

/* ---- the tests ---- */

static void frontend_leaves_while_no_server_is_up_and_comes_back(void **state)
{
	(void)state;
	assert_true(look() == CLOCK_NEVER);
	assert_int_equal(ep->stage, ENDPOINT_OPEN);
	for (int stage = 0; stage < 3; stage++) {
		go_away(stage);
		if (stage == 2)
			assert_true(is_refused());
		set_up(true);
		assert_true(look() == CLOCK_NEVER);
		assert_int_equal(ep->stage, ENDPOINT_OPEN);
		(void)rig_settle(&r);
		assert_hears();
	}
	assert_int_equal(raised, 3);
	assert_int_equal(lowered, 3);
	assert_int_equal(entries->endpoint_count, 1);
	assert_int_equal(r.engine.live.endpoints.count, 1);
}

static void option_decides(void **state)
{
	(void)state;
	set_option(CONFIG_UNLISTEN_NO);
	set_up(false);
	(void)look();
	assert_int_equal(ep->stage, ENDPOINT_OPEN);
	set_option(CONFIG_UNLISTEN_NO_SERVER);
	go_away(2);
	set_option(CONFIG_UNLISTEN_NO);
	(void)look();
	assert_int_equal(ep->stage, ENDPOINT_OPEN);
	set_up(true);
	(void)rig_settle(&r);
	assert_hears();
	assert_true(fe->changed_ns != 0);
}

static void inherited_socket_is_not_left(void **state)
{
	(void)state;
	ep->inherited = true;
	set_up(false);
	assert_true(look() == CLOCK_NEVER);
	assert_int_equal(ep->stage, ENDPOINT_OPEN);
	assert_false(fe->is_away);
	ep->inherited = false;
}

static void address_that_another_has_is_tried_again(void **state)
{
	struct addr theirs = at;
	int fd;

	(void)state;
	go_away(2);
	fd = rig_listen_at(&theirs);
	set_up(true);
	for (int i = 0; i < 3; i++) {
		assert_true(look() == r.now_ns + NS_PER_SEC);
		assert_int_equal(ep->stage, ENDPOINT_AWAY);
		assert_int_equal(ep->fd, -1);
	}
	close(fd);
	assert_true(look() == CLOCK_NEVER);
	(void)rig_settle(&r);
	assert_hears();
}

static void each_call_that_fails_leaves_it_away(void **state)
{
	const int next = dup(0);
	long n = 0;

	(void)state;
	close(next);
	go_away(2);
	set_up(true);
	for (;; n++) {
		const int64_t again_ns = (fail_call(n), look());

		fail_nothing();
		if (!call_has_failed())
			break;
		if (again_ns == CLOCK_NEVER) { /* a call that need not succeed */
			set_up(false);
			(void)look();
			r.now_ns += DEAF_NS;
			(void)rig_settle(&r);
			set_up(true);
			continue;
		}
		assert_int_equal(ep->stage, ENDPOINT_AWAY);
		assert_int_equal(ep->fd, -1);
		assert_true(is_refused());
	}
	assert_true(n > 3);
	(void)rig_settle(&r);
	assert_hears();
}

static void endpoint_that_is_away_may_leave_for_good(void **state)
{
	go_away((int)(intptr_t)*state);
	entries_remove_frontend(entries, fe, r.now_ns);
	assert_false(ep->away);
	r.now_ns += DEAF_NS;
	(void)rig_settle(&r);
	assert_int_equal(entries->endpoint_count, 0);
	assert_int_equal(r.engine.live.endpoints.count, 0);
	assert_int_equal(retire_count(&r.engine.live.retire), 0);
	assert_true(is_refused());
}

static void endpoint_that_is_away_does_not_hold_up_a_stop(void **state)
{
	go_away((int)(intptr_t)*state);
	engine_drain(&r.engine, r.now_ns);
	assert_true(look() == CLOCK_NEVER);
	r.now_ns += DEAF_NS;
	for (int i = 0; i < RIG_SETTLED; i++) {
		for (unsigned w = 0; w < RIG_WORKERS; w++)
			if (!r.workers[w]->finished)
				rig_turn(&r, w);
		(void)rig_control(&r);
	}
	assert_true(r.workers[0]->finished);
	assert_true(r.workers[1]->finished);
	assert_int_equal(entries->endpoint_count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define STAGE_TEST(name, stage)                                                                              \
	{#name "_" #stage, name, setup, teardown, (void *)(intptr_t)(stage)}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(frontend_leaves_while_no_server_is_up_and_comes_back),
		TEST(option_decides),
		TEST(inherited_socket_is_not_left),
		TEST(address_that_another_has_is_tried_again),
		TEST(each_call_that_fails_leaves_it_away),
		STAGE_TEST(endpoint_that_is_away_may_leave_for_good, 0),
		STAGE_TEST(endpoint_that_is_away_may_leave_for_good, 1),
		STAGE_TEST(endpoint_that_is_away_may_leave_for_good, 2),
		STAGE_TEST(endpoint_that_is_away_does_not_hold_up_a_stop, 0),
		STAGE_TEST(endpoint_that_is_away_does_not_hold_up_a_stop, 1),
		STAGE_TEST(endpoint_that_is_away_does_not_hold_up_a_stop, 2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

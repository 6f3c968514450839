/* SPDX-License-Identifier: MIT
 *
 * test_admin_add.c - servers added, moved, forced and deleted by commands: what they do, and what they refuse
 * in whose words. On real backends, without a socket and without workers.
 *
 * Linked with --wrap of the allocator, so that each allocation can fail in turn.
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

#include "../balance/live_by_hand.h"
#include "../balance/updates_by_hand.h"
#include "../base/alloc_fail.h"
#include "weir/admin/admin_answers.h"
#include "weir/admin/admin_commands.h"
#include "weir/balance/run_time.h"
#include "weir/balance/tombstone.h"

static struct config_server server_configs[] = {
	{.name = "a", .weight = 1, .addr.kind = ADDR_IP},
	{.name = "d", .weight = 1, .addr.kind = ADDR_IP, .check = true},
};
static struct config_backend backend_config = {.name = "web", .servers = server_configs, .server_count = 2};
static struct config config = {.backends = &backend_config, .backend_count = 1};
static struct engine engine;
static struct backend *web;
static struct updates_by_hand hand;
static unsigned told;    /* how often others were told that a server has changed */
static int refuses;      /* what another observer says to a server that is about to come */
static int prepared;     /* servers for which it has taken something */
static struct admin_peer peer = {.uid = 7, .level = CONFIG_ADMIN_ADMIN};
static struct admin_context context = {
	.engine = &engine, .state = DAEMON_READY, .updates = &hand.updates};

void engine_kill_sessions(struct engine *e, struct server *s)
{
	(void)e;
	(void)s;
}

const struct counters *engine_counters(const struct engine *e, unsigned worker)
{
	(void)e;
	(void)worker;
	return NULL; /* nobody asks for them here */
}

static void on_changed(void *arg, struct server *s)
{
	(void)arg;
	(void)s;
	told++;
}

static int on_prepare(void *arg, const struct backend *b, const struct config_server *c)
{
	(void)arg;
	(void)b;
	(void)c;
	prepared += refuses == 0;
	return refuses;
}

static void on_settle(void *arg, const struct backend *b, const struct config_server *c)
{
	(void)arg;
	(void)b;
	(void)c;
	prepared--;
}

static struct server_observer observer = {
	.server_changed = on_changed, .prepare_add = on_prepare, .settle_add = on_settle};

static int setup(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(addr_parse("127.0.0.1:80", &server_configs[i].addr, NULL, NULL), 0);
	engine.config = &config;
	engine.backends = backends_by_hand(&config);
	if (engine.backends == NULL)
		return -1;
	engine.backend_count = 1;
	web = engine.backends[0];
	updates_by_hand_init(&hand, engine.backends, 1);
	server_updates_observe(&hand.updates, &observer);
	told = 0;
	refuses = 0;
	prepared = 0;
	peer.ours = false;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	server_updates_unobserve(&observer);
	server_updates_free(&hand.updates);
	retire_end(&web->live->retire);
	backends_by_hand_free(engine.backends);
	return 0;
}

static struct server *named(const char *name)
{
	for (size_t i = 0; i < web->server_count; i++)
		if (strcmp(web->servers[i]->config->name, name) == 0)
			return web->servers[i];
	return NULL;
}

static enum admin_verdict run(const char *command, struct text *out, struct admin_question *q)
{
	text_init(out);
	return admin_command(&context, &peer, command, out, q);
}

/* The command's whole answer is `answer`; "" = done. */
static void assert_answer(const char *command, const char *answer)
{
	struct admin_question q;
	struct text out;

	assert_int_equal(run(command, &out, &q), ADMIN_ANSWERED);
	assert_false(out.failed);
	if (strcmp(out.bytes != NULL ? out.bytes : "", answer) != 0)
		fail_msg("%s: '%s', not '%s'", command, out.bytes != NULL ? out.bytes : "", answer);
	text_free(&out);
}

static void end_turn(void)
{
	updates_by_hand_turn(&hand, clock_mono_ns());
	retire_go_on(&web->live->retire);
}

static void added_server_waits_in_maintenance_and_unchecked(void **state)
{
	struct server *s;

	(void)state;
	assert_answer("add server web/x 127.0.0.1:81 weight 7 check addr 127.0.0.9",
		      "New server registered.\n");
	s = named("x");
	assert_non_null(s);
	assert_int_equal(prepared, 0);
	assert_int_equal(s->admin, SERVER_ADMIN_MAINT);
	assert_int_equal(s->weight, 7);
	assert_true(s->added && s->checks_off);
	assert_non_null(s->check_addr);
	assert_int_equal(s->marks[SERVER_MARK_ADDED].by, 7);
	assert_answer("enable health web/x", "");
	assert_false(s->checks_off);
	assert_answer("enable server web/x", "");
	assert_int_equal(atomic_load(&s->state), SERVER_UP);
	assert_answer("del server web/x", "Only servers in maintenance mode can be deleted.\n");
	assert_answer("disable server web/x", "");
	atomic_store(&s->sessions, 1);
	assert_answer("del server web/x", "Server still has connections attached to it, cannot remove it.\n");
	atomic_store(&s->sessions, 0);
	assert_answer("del server web/x", "Server deleted.\n");
	assert_null(named("x"));
	assert_true(list_empty(&web->tombstones));
	end_turn();
}

static void server_of_the_file_leaves_a_tombstone(void **state)
{
	(void)state;
	assert_answer("disable server web/a", "");
	assert_answer("del server web/a", "Server deleted.\n");
	assert_false(list_empty(&web->tombstones));
	end_turn();
}

static void additions_are_refused_in_haproxys_words(void **state)
{
	(void)state;
	assert_answer("add server", "Require 'backend/server'.\n");
	assert_answer("add server web", "Require 'backend/server'.\n");
	assert_answer("add server nobody/x 127.0.0.1:1", "No such backend.\n");
	assert_answer("add server web/x", "'server' expects <name> and <addr>[:<port>] as arguments.\n");
	assert_answer("add server web/a 127.0.0.1:1",
		      "Already exists a server with the same name in backend.\n");
	assert_answer("add server web/x 127.0.0.1:1 nonsense", "unknown keyword 'nonsense'.\n");
	assert_answer("del server web/x", "No such server.\n");
	refuses = -ENOMEM;
	assert_answer("add server web/x 127.0.0.1:1", "out of memory.\n");
	refuses = -EPERM;
	assert_answer("add server web/x 127.0.0.1:1",
		      "error: cannot add server 'web/x': Operation not permitted; the log says why\n");
	assert_int_equal(web->server_count, 2);
	assert_int_equal(prepared, 0);
}

static void our_verbs_get_our_words(void **state)
{
	(void)state;
	peer.ours = true;
	assert_answer("add server web/a 127.0.0.1:1",
		      "error: backend 'web' has a server of this name already; 'del server web/a' deletes "
		      "it\n");
	assert_answer("del server web/a",
		      "error: server 'web/a' is not in maintenance; first: disable server web/a\n");
	assert_answer("set server web/a addr x", "error: 'x' is not an IP address\n");
	assert_answer("add server web/ 127.0.0.1:1", "error: the server has no name; write BACKEND/SERVER\n");
	assert_answer("add server web/x 127.0.0.1:1 weight=3", "New server registered.\n");
	assert_int_equal(named("x")->weight, 3);
}

static void server_moves_and_comes_back(void **state)
{
	const struct server *a = named("a");

	(void)state;
	assert_answer("set server web/a addr 127.0.0.2",
		      "IP changed from '127.0.0.1' to '127.0.0.2' by 'stats socket command'\n");
	assert_int_equal(addr_port(server_addr(a)), 80);
	assert_true(mark_is_set(&a->marks[SERVER_MARK_ADDR]));
	assert_answer("set server web/a addr 127.0.0.2 port 81",
		      "no need to change the addr, port changed from '80' to '81' by 'stats socket "
		      "command'\n");
	assert_answer("set server web/a addr 127.0.0.1 port 80",
		      "IP changed from '127.0.0.2' to '127.0.0.1', port changed from '81' to '80' by 'stats "
		      "socket command'\n");
	assert_false(mark_is_set(&a->marks[SERVER_MARK_ADDR]));
	assert_answer("set server web/a addr", "set server <b>/<s> addr requires an address and optionally a "
					       "port.\n");
	assert_answer("set server web/a addr 127.0.0.9 port x",
		      "problem converting port 'x' to an int by 'stats socket command'\n");
	assert_answer("set server web/a addr 127.0.0.9 port 65536",
		      "provided port is invalid by 'stats socket command'\n");
	assert_null(a->moved);
	end_turn();
}

static void checks_are_sent_elsewhere(void **state)
{
	const struct server *d = named("d");

	(void)state;
	assert_answer("set server web/d check-addr 127.0.0.9 port 8008", "");
	assert_non_null(d->check_addr);
	assert_int_equal(d->check_port, 8008);
	assert_answer("set server web/d check-port 0", "");
	assert_int_equal(d->check_port, 0);
	assert_answer("set server web/d check-port 65536", "provided port is invalid\n");
	assert_answer("set server web/d check-addr x", "invalid addr 'x'\n");
	assert_int_equal(told, 3);
	assert_answer("disable health web/d", "");
	assert_answer("set server web/d check-port 1", "health checks are not enabled on this server\n");
	assert_answer("set server web/a check-port 1", "health checks are not enabled on this server\n");
	assert_answer("enable health web/a",
		      "Health check was not configured on this server, cannot enable.\n");
}

static void health_is_set(void **state)
{
	struct server *a = named("a");

	(void)state;
	assert_answer("set server web/a health down", "");
	assert_int_equal(atomic_load(&a->state), SERVER_DOWN);
	assert_true(mark_is_set(&a->marks[SERVER_MARK_HEALTH]));
	assert_answer("set server web/a health stopping", "");
	assert_int_equal(atomic_load(&a->state), SERVER_NOLB);
	assert_answer("set server web/a health up", "");
	assert_int_equal(atomic_load(&a->state), SERVER_UP);
	assert_false(mark_is_set(&a->marks[SERVER_MARK_HEALTH]));
	assert_answer("set server web/a health x",
		      "'set server <srv> health' expects 'up', 'stopping', or 'down'.\n");
	end_turn();
}

static void wait_is_passed_on(void **state)
{
	struct admin_question q;
	struct text out;

	(void)state;
	assert_int_equal(run("wait 5s srv-removable web/a", &out, &q), ADMIN_WAIT);
	assert_int_equal(q.wait_ms, 5000);
	assert_string_equal(q.server, "web/a");
	text_free(&out);
	assert_int_equal(run("wait 5", &out, &q), ADMIN_WAIT);
	assert_string_equal(q.server, "");
	text_free(&out);
	assert_answer("wait", "Expects a duration in milliseconds.\n");
	assert_answer("wait 0", "Invalid duration.\n");
	assert_answer("wait x", "Invalid duration.\n");
	assert_answer("wait 5 srv-removable", "Missing server name (<backend>/<server>).\n");
	assert_answer("wait 5 srv-removable web", "Require 'backend/server'.\n");
}

/* Whichever allocation fails, the command says so, and everything is as before. */
static void each_allocation_may_fail(void **state)
{
	static const char *const commands[] = {
		"add server web/x 127.0.0.1:81 weight 7 check addr 127.0.0.9",
		"set server web/a addr 127.0.0.2 port 81",
		"set server web/d check-addr 127.0.0.9",
		"del server web/d",
	};
	struct admin_question q;
	struct text out;

	(void)state;
	assert_answer("disable server web/d", "");
	end_turn();
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		bool failed = true;

		for (long number = 0; failed; number++) {
			const size_t servers = web->server_count;

			text_init(&out);
			text_printf(&out, "room for the answer");
			out.len = 0;
			fail_allocations_from(number);
			(void)admin_command(&context, &peer, commands[i], &out, &q);
			fail_allocations_from(-1);
			failed = out.len > 0 && (strstr(out.bytes, "memory") != NULL ||
						 strstr(out.bytes, "not in effect") != NULL);
			if (failed && strstr(out.bytes, "not in effect") == NULL)
				assert_int_equal(web->server_count, servers);
			text_free(&out);
			end_turn();
			assert_int_equal(prepared, 0);
		}
	}
	assert_non_null(named("x"));
	assert_null(named("d"));
}

#define ADD_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ADD_TEST(added_server_waits_in_maintenance_and_unchecked),
		ADD_TEST(server_of_the_file_leaves_a_tombstone),
		ADD_TEST(additions_are_refused_in_haproxys_words),
		ADD_TEST(our_verbs_get_our_words),
		ADD_TEST(server_moves_and_comes_back),
		ADD_TEST(checks_are_sent_elsewhere),
		ADD_TEST(health_is_set),
		ADD_TEST(wait_is_passed_on),
		ADD_TEST(each_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

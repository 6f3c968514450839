/* SPDX-License-Identifier: MIT
 *
 * test_admin_change.c - the commands that change servers: what they do, and what they refuse. On real
 * backends, without a socket and without workers.
 *
 * Linked with --wrap=calloc, so that a change can find no memory.
 */
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
#include "weir/admin/admin_answers.h"
#include "weir/admin/admin_commands.h"

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

static bool no_memory;

void *__wrap_calloc(size_t count, size_t size)
{
	return no_memory ? NULL : __real_calloc(count, size);
}

static struct config_server server_configs[] = {
	{.name = "a", .weight = 1, .addr.kind = ADDR_IP},
	{.name = "b", .weight = 10, .addr.kind = ADDR_IP, .disabled = true},
};
static struct config_backend backend_config = {.name = "web", .servers = server_configs, .server_count = 2};
static struct config config = {.backends = &backend_config, .backend_count = 1};
static struct engine engine;
static struct server *a, *b;
static struct updates_by_hand hand;
static struct server *told; /* whom the checks were told of last */

static void on_admin_set(void *arg, struct server *s)
{
	(void)arg;
	told = s;
}

static struct server_observer some_checks = {.admin_set = on_admin_set};
static struct admin_context context = {
	.engine = &engine, .state = DAEMON_READY, .updates = &hand.updates};

static struct admin_peer peer = {.uid = 7, .level = CONFIG_ADMIN_ADMIN, .ours = true};

/* Stands for the workers' part. */
static struct server *closed;

void engine_kill_sessions(struct engine *e, struct server *s)
{
	assert_ptr_equal(e, &engine);
	closed = s;
}

const struct counters *engine_counters(const struct engine *e, unsigned worker)
{
	(void)e;
	(void)worker;
	return NULL; /* nobody asks for them here */
}

static void give_address(struct config_server *s, uint16_t port)
{
	s->addr.addr.len = sizeof(s->addr.addr.in);
	s->addr.addr.in.sin_family = AF_INET;
	s->addr.addr.in.sin_port = htons(port);
	s->addr.addr.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}

static int setup(void **state)
{
	(void)state;
	give_address(&server_configs[0], 80);
	give_address(&server_configs[1], 81);
	engine.config = &config;
	engine.backends = backends_by_hand(&config);
	if (engine.backends == NULL)
		return -1;
	engine.backend_count = 1;
	updates_by_hand_init(&hand, engine.backends, 1);
	server_updates_observe(&hand.updates, &some_checks);
	a = engine.backends[0]->servers[0];
	b = engine.backends[0]->servers[1];
	told = NULL;
	closed = NULL;
	peer.ours = true;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	no_memory = false;
	server_updates_unobserve(&some_checks);
	server_updates_free(&hand.updates);
	backends_by_hand_free(engine.backends);
	return 0;
}

/* The command's whole answer is `answer`; "" = done. */
static void assert_answer(const char *command, const char *answer)
{
	struct admin_question q;
	struct text out;

	text_init(&out);
	assert_int_equal(admin_command(&context, &peer, command, &out, &q), ADMIN_ANSWERED);
	assert_false(out.failed);
	if (strcmp(out.bytes != NULL ? out.bytes : "", answer) != 0)
		fail_msg("%s: '%s', not '%s'", command, out.bytes != NULL ? out.bytes : "", answer);
	text_free(&out);
}

static const char *last_cause(const struct server *s)
{
	return history_get(&s->history, history_size(&s->history) - 1)->cause;
}

static int state_of(const struct server *s)
{
	return atomic_load(&s->state);
}

static void a_state_is_set_and_the_checks_are_told(void **state)
{
	(void)state;
	assert_answer("set server web/a state drain", "");
	assert_int_equal(state_of(a), SERVER_DRAIN);
	assert_ptr_equal(told, a);
	assert_answer("set server web/a state maint", "");
	assert_int_equal(state_of(a), SERVER_MAINT);
	assert_answer("set server web/a state ready", "");
	assert_int_equal(state_of(a), SERVER_UP);
	told = NULL;
	assert_answer("set server web/a state up", "error: the state must be ready, drain or maint\n");
	assert_null(told);
	assert_int_equal(state_of(a), SERVER_UP);
}

static void enable_ends_maintenance_and_drain(void **state)
{
	(void)state;
	assert_int_equal(state_of(b), SERVER_MAINT); /* as configured */
	assert_answer("enable server web/b", "");
	assert_int_equal(state_of(b), SERVER_UP);
	assert_answer("disable server web/b", "");
	assert_int_equal(state_of(b), SERVER_MAINT);
	assert_ptr_equal(told, b);
	assert_answer("set server web/b state drain", "");
	assert_answer("enable server web/b", "");
	assert_int_equal(state_of(b), SERVER_UP);
	assert_answer("enable server web/b", "");
	assert_int_equal(state_of(b), SERVER_UP);
}

static void a_weight_is_a_number_or_a_share_of_the_configured(void **state)
{
	(void)state;
	assert_answer("get weight web/b", "10 (initial 10)\n");
	assert_answer("set weight web/b 256", "");
	assert_int_equal(b->weight, 256);
	assert_string_equal(last_cause(b), "by uid 7 over the admin socket");
	assert_answer("set server web/b weight 0", "");
	assert_int_equal(b->weight, 0);
	assert_answer("get weight web/b", "0 (initial 10)\n");
	assert_answer("set weight web/b 25%", "");
	assert_int_equal(b->weight, 2); /* rounded down */
	assert_answer("set weight web/b 300%", "");
	assert_int_equal(b->weight, 30);
	assert_answer("set weight web/b 9999%", "");
	assert_int_equal(b->weight, 256);
	assert_answer("set weight web/b 5%", "");
	assert_int_equal(b->weight, 0); /* as in HAProxy */
	assert_answer("set weight web/b 99999999999%", "");
	assert_int_equal(b->weight, 256);
	assert_answer("set weight web/a 100%", "");
	assert_int_equal(a->weight, 1);
	assert_answer("set weight web/a 0%", "");
	assert_int_equal(a->weight, 0);
	assert_int_equal(atomic_load(&a->eweight), 0);
}

static void a_peer_that_nobody_knows_has_no_uid(void **state)
{
	static const struct admin_peer nobody = {.uid = (uid_t)-1, .level = CONFIG_ADMIN_ADMIN};
	struct admin_question q;
	struct text out;

	(void)state;
	text_init(&out);
	assert_int_equal(admin_command(&context, &nobody, "set weight web/b 1", &out, &q), ADMIN_ANSWERED);
	assert_string_equal(last_cause(b), "over the admin socket");
	text_free(&out);
}

static void bad_weights_are_refused(void **state)
{
	static const char *const bad[] = {"257", "-1", "x", "1x", "%", "5%%", "1.5",
					  "99999999999999999999"};
	char command[64];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		(void)snprintf(command, sizeof(command), "set weight web/b %s", bad[i]);
		assert_answer(command, "error: a weight is a number from 0 to 256, or a percentage of the "
				       "configured one, such as 50%\n");
		assert_int_equal(b->weight, 10);
	}
}

static void maxconn_is_set_and_0_is_none(void **state)
{
	(void)state;
	assert_answer("set maxconn server web/a 4", "");
	assert_int_equal(atomic_load(&a->limit), 4);
	assert_string_equal(last_cause(a), "by uid 7 over the admin socket");
	assert_answer("set maxconn server web/a 0", "");
	assert_int_equal(atomic_load(&a->limit), 0);
	assert_answer("set maxconn server web/a -1",
		      "error: maxconn must be a number of connections, 0 for no limit\n");
	assert_answer("set maxconn server web/a 99999999999",
		      "error: maxconn must be a number of connections, 0 for no limit\n");
}

static void sessions_are_ended_by_the_workers(void **state)
{
	(void)state;
	assert_answer("shutdown sessions server web/b", "");
	assert_ptr_equal(closed, b);
}

static void without_memory_it_is_said_what_became_of_a_change(void **state)
{
	(void)state;
	no_memory = true;
	assert_answer("set weight web/b 7", "error: nothing was changed: Cannot allocate memory\n");
	assert_answer("disable server web/a", "error: nothing was changed: Cannot allocate memory\n");
	assert_int_equal(b->weight, 10);
	assert_int_equal(state_of(a), SERVER_UP);
	assert_null(told);
	server_updates_set_health(&hand.updates, a, false, ""); /* gathers */
	assert_answer("disable server web/a",
		      "error: changed, but not in effect yet: Cannot allocate memory\n");
	assert_int_equal(state_of(a), SERVER_MAINT);
	assert_ptr_equal(told, a);
	no_memory = false;
	assert_answer("set weight web/a 7", ""); /* and all before it */
	assert_int_equal(backend_roster(engine.backends[0])->count, 0);
}

static void a_name_that_is_none_is_told_with_those_that_are(void **state)
{
	(void)state;
	assert_answer("disable server web/c", "error: no server 'c' in backend 'web'; available: a, b\n");
	assert_answer("disable server app/a", "error: no backend 'app'; available: web\n");
	assert_answer("disable server web", "error: 'web' is not a server; write BACKEND/SERVER\n");
	assert_answer("disable server web/", "error: no server '' in backend 'web'; available: a, b\n");
	assert_answer("disable server web/a/b", "error: no server 'a/b' in backend 'web'; available: a, b\n");
	assert_answer("get weight web/\033", "error: no server '\\x1b' in backend 'web'; available: a, b\n");
	assert_answer("set server web/a nonsense 1.2.3.4",
		      "error: 'set server' sets addr, check-addr, check-port, health, state or weight; for "
		      "maxconn: set maxconn server web/a N\n");
	assert_answer("set weight web/a", "error: usage: 'set weight BACKEND/SERVER N|N%'\n");
	assert_answer("set weight web/a 1 json", "error: usage: 'set weight BACKEND/SERVER N|N%'\n");
}

/* Text by text those of HAProxy 2.6; "" is that it was done. */
static void haproxys_tools_get_its_answers(void **state)
{
	static const char weight_first[] = "Empty weight string empty or preceded by garbage\n";
	static const char usage[] = "usage: set server <backend>/<server> addr | agent | agent-addr | "
				    "agent-port | agent-send | check-addr | check-port | fqdn | health | ssl "
				    "| state | weight\n";
	static const char states[] = "'set server <srv> state' expects 'ready', 'drain' and 'maint'.\n";
	static const struct {
		const char *command, *answer;
	} rows[] = {
		{"set server", "Require 'backend/server'.\n"},
		{"set server web", "Require 'backend/server'.\n"},
		{"set server web/", "Require 'backend/server'.\n"},
		{"set server web/a", usage},
		{"set server web/a bogus x", usage},
		{"set server x/a state ready", "No such backend.\n"},
		{"set server web/x state ready", "No such server.\n"},
		{"set server web/a state", states},
		{"set server web/a state foo", states},
		{"set server web/a state ready extra", ""},
		{"set server web/a weight", "Require <weight> or <weight%>.\n"},
		{"set server web/a weight x", weight_first},
		{"set server web/a weight 5 7", ""},
		{"set weight", "Require 'backend/server'.\n"},
		{"set weight web/a", "Require <weight> or <weight%>.\n"},
		{"set weight web/a %", weight_first},
		{"set weight web/a 257", "Absolute weight can only be between 0 and 256 inclusive.\n"},
		{"set weight web/a -1", "Absolute weight can only be between 0 and 256 inclusive.\n"},
		{"set weight web/a 300x", "Absolute weight can only be between 0 and 256 inclusive.\n"},
		{"set weight web/a 5x", "Trailing garbage in weight string\n"},
		{"set weight web/a 5%%", "Trailing garbage in weight string\n"},
		{"set weight web/a -5%", "Relative weight must be positive.\n"},
		{"set maxconn server", "Require 'backend/server'.\n"},
		{"set maxconn server web/a", "Require <maxconn>.\n"},
		{"set maxconn server web/a x", "maxconn string empty or preceded by garbage\n"},
		{"set maxconn server web/a 5x", "Trailing garbage in maxconn string\n"},
		{"set maxconn server web/a 5 7", ""},
		{"set maxconn server web/a -1", ""},
		{"enable server", "Require 'backend/server'.\n"},
		{"enable server web/x", "No such server.\n"},
		{"disable server x/x", "No such backend.\n"},
		{"shutdown sessions server web/x", "No such server.\n"},
		{"shutdown sessions server web/a", ""},
	};

	(void)state;
	peer.ours = false;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_answer(rows[i].command, rows[i].answer);
	assert_int_equal(a->weight, 5);
	assert_int_equal(atomic_load(&a->limit), 0);
	/* What they may not do is no matter of arguments. */
	peer.level = CONFIG_ADMIN_OPERATOR;
	assert_answer("set weight web/a 1", "Permission denied\n");
	assert_answer("set weight", "Permission denied\n");
	peer.level = CONFIG_ADMIN_ADMIN;
}

static void a_change_is_marked_and_a_change_back_is_not(void **state)
{
	(void)state;
	assert_answer("set weight web/a 5", "");
	assert_true(mark_is_set(&a->marks[SERVER_MARK_WEIGHT]));
	assert_int_equal(a->marks[SERVER_MARK_WEIGHT].by, 7);
	assert_false(mark_is_set(&a->marks[SERVER_MARK_STATE]));
	assert_answer("set weight web/a 100%", "");
	assert_false(mark_is_set(&a->marks[SERVER_MARK_WEIGHT]));
	assert_answer("disable server web/a", "");
	assert_true(mark_is_set(&a->marks[SERVER_MARK_STATE]));
	assert_answer("enable server web/a", "");
	assert_false(mark_is_set(&a->marks[SERVER_MARK_STATE]));
	assert_answer("enable server web/b", ""); /* the file disables it */
	assert_true(mark_is_set(&b->marks[SERVER_MARK_STATE]));
	assert_answer("set maxconn server web/a 4", "");
	assert_true(mark_is_set(&a->marks[SERVER_MARK_MAXCONN]));
	peer.ours = false;
	assert_answer("set weight web/a x", "Empty weight string empty or preceded by garbage\n");
	assert_false(mark_is_set(&a->marks[SERVER_MARK_WEIGHT]));
}

#define CHANGE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHANGE_TEST(a_state_is_set_and_the_checks_are_told),
		CHANGE_TEST(enable_ends_maintenance_and_drain),
		CHANGE_TEST(a_weight_is_a_number_or_a_share_of_the_configured),
		CHANGE_TEST(a_peer_that_nobody_knows_has_no_uid),
		CHANGE_TEST(bad_weights_are_refused),
		CHANGE_TEST(maxconn_is_set_and_0_is_none),
		CHANGE_TEST(sessions_are_ended_by_the_workers),
		CHANGE_TEST(without_memory_it_is_said_what_became_of_a_change),
		CHANGE_TEST(a_name_that_is_none_is_told_with_those_that_are),
		CHANGE_TEST(haproxys_tools_get_its_answers),
		CHANGE_TEST(a_change_is_marked_and_a_change_back_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * test_admin_config.c - `config diff`, for each thing that can be changed at run time. On real backends,
 * without a socket and without workers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../balance/updates_by_hand.h"
#include "../engine/objects_by_hand.h"
#include "weir/admin/admin_answers.h"
#include "weir/balance/run_time.h"

/* 2026-11-23T16:05:00Z */
#define WALL_S 1795449900
#define AT_0   ", by uid 0 at 2026-11-23T16:05:00Z\n"

static struct config_server servers[] = {
	{.name = "a", .weight = 3, .maxconn = 9, .addr.kind = ADDR_IP},
	{.name = "b", .weight = 1, .addr.kind = ADDR_IP, .check_port = 99, .disabled = true},
};
static struct config_backend backends[] = {{.name = "app", .servers = servers, .server_count = 2}};
static struct config_frontend frontend = {.name = "web", .listen = true};
static struct config config = {
	.backends = backends, .backend_count = 1, .frontends = &frontend, .frontend_count = 1};
static struct engine engine;
static struct updates_by_hand hand;
static struct admin_context context = {
	.engine = &engine, .state = DAEMON_READY, .updates = &hand.updates};
static const struct mark root = {.wall_ns = WALL_S * NS_PER_SEC, .by = 0};

static void set_address(struct addr *a, uint16_t port)
{
	*a = (struct addr){.len = sizeof(a->in)};
	a->in.sin_family = AF_INET;
	a->in.sin_port = htons(port);
	a->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}

static int setup(void **state)
{
	(void)state;
	set_address(&servers[0].addr.addr, 80);
	set_address(&servers[1].addr.addr, 81);
	objects_by_hand(&engine, &config);
	updates_by_hand_init(&hand, engine.backends, config.backend_count);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	server_updates_free(&hand.updates);
	retire_end(&engine.live.retire);
	objects_by_hand_free(&engine);
	return 0;
}

static struct server *server_at(size_t i)
{
	return engine.backends[0]->servers[i];
}

/* The caller frees it. */
static struct text ask(const char *command, enum config_admin_level level)
{
	const struct admin_peer peer = {.uid = 7, .level = level, .ours = true};
	struct admin_question q;
	struct text out;

	text_init(&out);
	assert_int_equal(admin_command(&context, &peer, command, &out, &q), ADMIN_ANSWERED);
	assert_false(out.failed);
	return out;
}

static void assert_answer(const char *command, const char *answer)
{
	struct text out = ask(command, CONFIG_ADMIN_OPERATOR);

	assert_string_equal(out.len > 0 ? out.bytes : "", answer);
	text_free(&out);
}

static void nothing_differs_at_the_start(void **state)
{
	(void)state;
	assert_answer("config diff", "");
	assert_answer("config diff json", "[]\n");
}

static void changes_of_state_and_share_are_listed(void **state)
{
	struct server *a = server_at(0), *b = server_at(1);

	(void)state;
	assert_int_equal(server_updates_set_admin(&hand.updates, a, SERVER_ADMIN_DRAIN, "test"), 0);
	run_time_mark(a, SERVER_MARK_STATE, &root);
	assert_int_equal(server_updates_set_weight(&hand.updates, a, 7, "test"), 0);
	run_time_mark(a, SERVER_MARK_WEIGHT, &root);
	assert_int_equal(server_updates_set_maxconn(&hand.updates, a, 0, "test"), 0);
	run_time_mark(a, SERVER_MARK_MAXCONN, &root);
	assert_int_equal(server_updates_set_admin(&hand.updates, b, SERVER_ADMIN_READY, "test"), 0);
	run_time_mark(b, SERVER_MARK_STATE, &root);
	assert_answer("config diff", "backend app: server a: state drain instead of ready" AT_0
				     "backend app: server a: weight 7 instead of 3" AT_0
				     "backend app: server a: maxconn 0 instead of 9" AT_0
				     "backend app: server b: state ready instead of maint" AT_0);
	assert_int_equal(server_updates_set_weight(&hand.updates, a, 3, "test"), 0);
	run_time_mark(a, SERVER_MARK_WEIGHT, &root);
	assert_int_equal(server_updates_set_admin(&hand.updates, a, SERVER_ADMIN_READY, "test"), 0);
	run_time_mark(a, SERVER_MARK_STATE, &root);
	assert_answer("config diff", "backend app: server a: maxconn 0 instead of 9" AT_0
				     "backend app: server b: state ready instead of maint" AT_0);
}

static void addresses_and_checks_are_listed(void **state)
{
	const struct mark unknown = {.wall_ns = root.wall_ns, .by = MARK_UNKNOWN};
	struct addr other;

	(void)state;
	set_address(&other, 90);
	assert_int_equal(run_time_set_addr(&hand.updates, server_at(0), &other, &unknown), 0);
	assert_int_equal(run_time_set_check_addr(&hand.updates, server_at(0), &other, &root), 0);
	run_time_set_check_port(&hand.updates, server_at(0), 7, &root);
	run_time_set_check_port(&hand.updates, server_at(1), 8, &root);
	run_time_set_checks(&hand.updates, server_at(1), false, &root);
	run_time_set_agent(&hand.updates, server_at(1), false, &root);
	run_time_mark(server_at(1), SERVER_MARK_HEALTH, &root);
	assert_answer("config diff",
		      "backend app: server a: address 127.0.0.1:90 instead of 127.0.0.1:80, by an unknown "
		      "user at 2026-11-23T16:05:00Z\n"
		      "backend app: server a: check-addr 127.0.0.1" AT_0
		      "backend app: server a: check-port 7" AT_0
		      "backend app: server b: check-port 8 instead of 99" AT_0
		      "backend app: server b: health up" AT_0
		      "backend app: server b: checks disabled instead of enabled" AT_0
		      "backend app: server b: agent disabled instead of enabled" AT_0);
}

static void servers_that_came_and_went_are_listed(void **state)
{
	struct config_server config_of_c = {.name = "c", .weight = 1, .addr.kind = ADDR_IP};
	struct server *c;

	(void)state;
	set_address(&config_of_c.addr.addr, 82);
	assert_int_equal(
		run_time_add_server(&hand.updates, engine.backends[0], &config_of_c, &root, &c), 0);
	assert_int_equal(run_time_delete_server(&hand.updates, server_at(1), &root), 0);
	updates_by_hand_turn(&hand, 1);
	assert_answer("config diff",
		      "backend app: server c: added" AT_0 "backend app: server b: deleted" AT_0);
	assert_answer("config diff json",
		      "[\n"
		      "  {\"kind\":\"server\",\"backend\":\"app\",\"name\":\"c\",\"what\":\"added\","
		      "\"now\":null,\"file\":null,\"by_uid\":0,\"since\":\"2026-11-23T16:05:00Z\"},\n"
		      "  {\"kind\":\"server\",\"backend\":\"app\",\"name\":\"b\",\"what\":\"deleted\","
		      "\"now\":null,\"file\":null,\"by_uid\":0,\"since\":\"2026-11-23T16:05:00Z\"}\n"
		      "]\n");
}

static void changes_of_frontends_and_the_process_are_listed(void **state)
{
	struct frontend *fe = frontend_by_hand(&engine, 0);

	(void)state;
	engine.maxconn_set = 50;
	engine.marks[ENGINE_MARK_MAXCONN] = root;
	atomic_store(&engine.settings.rate_limit, 7);
	engine.marks[ENGINE_MARK_RATE_LIMIT] = root;
	fe->admin = FRONTEND_ADMIN_DISABLED;
	fe->marks[FRONTEND_MARK_STATE] = root;
	fe->set_limit = 5;
	fe->marks[FRONTEND_MARK_MAXCONN] = root;
	assert_answer("config diff", "global: maxconn 50 instead of auto" AT_0 "global: rate-limit 7" AT_0
				     "frontend web: state disabled instead of enabled" AT_0
				     "frontend web: maxconn 5 instead of auto" AT_0);
	fe->admin = FRONTEND_ADMIN_SHUT;
	mark_clear(&fe->marks[FRONTEND_MARK_MAXCONN]);
	mark_clear(&engine.marks[ENGINE_MARK_MAXCONN]);
	mark_clear(&engine.marks[ENGINE_MARK_RATE_LIMIT]);
	assert_answer("config diff", "frontend web: state shut-down instead of enabled" AT_0);
	assert_answer("config diff json",
		      "[\n"
		      "  {\"kind\":\"frontend\",\"name\":\"web\",\"what\":\"state\",\"now\":\"shut-down\","
		      "\"file\":\"enabled\",\"by_uid\":0,\"since\":\"2026-11-23T16:05:00Z\"}\n"
		      "]\n");
}

static void only_an_operator_sees_them(void **state)
{
	struct text out = ask("config diff", CONFIG_ADMIN_USER);

	(void)state;
	assert_non_null(strstr(out.bytes, "may not use 'config diff'"));
	text_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_differs_at_the_start, setup, teardown),
		cmocka_unit_test_setup_teardown(changes_of_state_and_share_are_listed, setup, teardown),
		cmocka_unit_test_setup_teardown(addresses_and_checks_are_listed, setup, teardown),
		cmocka_unit_test_setup_teardown(servers_that_came_and_went_are_listed, setup, teardown),
		cmocka_unit_test_setup_teardown(changes_of_frontends_and_the_process_are_listed, setup,
						teardown),
		cmocka_unit_test_setup_teardown(only_an_operator_sees_them, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

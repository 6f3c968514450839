/* SPDX-License-Identifier: MIT
 *
 * test_admin_servers.c - servers as other programs want them: HAProxy's state file, the history, the
 * checksum. On real backends, without a socket and without workers.
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
#include "weir/admin/admin_commands.h"
#include "weir/balance/change_log.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"

static struct config_server web_servers[] = {
	{.name = "a", .weight = 3, .addr.kind = ADDR_IP},
	{.name = "n", .weight = 1, .addr = {.kind = ADDR_NAME, .port = 8080, .host = "db.example"},
	 .check_port = 99},
};
static struct config_server app_servers[] = {{.name = "u", .weight = 1, .addr.kind = ADDR_UNIX}};
static struct config_backend backend_configs[] = {
	{.name = "web", .servers = web_servers, .server_count = 2,
	 .balance = {.algorithm = CONFIG_BALANCE_SOURCE, .hash = CONFIG_HASH_CONSISTENT}},
	{.name = "app", .servers = app_servers, .server_count = 1},
};
static struct config_frontend frontend_config = {.name = "web", .listen = true, .backend = 0};
static struct config config = {.backends = backend_configs, .backend_count = 2,
			       .frontends = &frontend_config, .frontend_count = 1};
static struct engine engine;
static struct probe_view check;
static const struct admin_peer peer = {.uid = 7, .level = CONFIG_ADMIN_ADMIN, .ours = true};

static void set_checked(bool checked)
{
	for (size_t b = 0; b < config.backend_count; b++)
		for (size_t i = 0; i < engine.backends[b]->server_count; i++)
			engine.backends[b]->servers[i]->probe = checked ? &check : NULL;
}

static struct updates_by_hand hand;
static struct admin_context context = {
	.engine = &engine, .state = DAEMON_READY, .updates = &hand.updates};

static int setup(void **state)
{
	struct addr *ip = &web_servers[0].addr.addr;
	struct addr *path = &app_servers[0].addr.addr;

	(void)state;
	ip->len = sizeof(ip->in);
	ip->in.sin_family = AF_INET;
	ip->in.sin_port = htons(80);
	ip->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	path->len = sizeof(path->un);
	path->un.sun_family = AF_UNIX;
	(void)snprintf(path->un.sun_path, sizeof(path->un.sun_path), "/run/u");
	objects_by_hand(&engine, &config);
	context.started_ns = clock_mono_ns() - 5 * NS_PER_SEC - NS_PER_SEC / 2;
	updates_by_hand_init(&hand, engine.backends, config.backend_count);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	server_updates_free(&hand.updates);
	objects_by_hand_free(&engine);
	return 0;
}

/* Freed by the caller. */
static char *ask(const char *command)
{
	struct admin_question q;
	struct text out;

	text_init(&out);
	assert_int_equal(admin_command(&context, &peer, command, &out, &q), ADMIN_ANSWERED);
	assert_false(out.failed);
	text_add(&out, "", 0);
	return out.bytes != NULL ? out.bytes : strdup("");
}

static void assert_answer(const char *command, const char *answer)
{
	char *out = ask(command);

	assert_string_equal(out, answer);
	free(out);
}

static void assert_has(const char *command, const char *part)
{
	char *out = ask(command);

	if (strstr(out, part) == NULL)
		fail_msg("no '%s' in:\n%s", part, out);
	free(out);
}

#define STATE_HEADER                                                                                      \
	"1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight "            \
	"srv_iweight srv_time_since_last_change srv_check_status srv_check_result srv_check_health "       \
	"srv_check_state srv_agent_state bk_f_forced_id srv_f_forced_id srv_fqdn srv_port srvrecord "       \
	"srv_use_ssl srv_check_port srv_check_addr srv_agent_addr srv_agent_port\n"

static void states_are_in_haproxys_format(void **state)
{
	(void)state;
	assert_answer("show servers state",
		      STATE_HEADER "1 web 1 a 127.0.0.1 2 0 3 3 5 1 0 0 0 0 0 0 - 80 - 0 0 - - 0\n"
				   "1 web 2 n - 0 32 1 1 5 1 0 0 0 0 0 0 db.example 8080 - 0 99 - - 0\n"
				   "3 app 1 u - 2 0 1 1 5 1 0 0 0 0 0 0 - 0 - 0 0 - - 0\n");
	assert_answer("show servers state app",
		      STATE_HEADER "3 app 1 u - 2 0 1 1 5 1 0 0 0 0 0 0 - 0 - 0 0 - - 0\n");
	assert_answer("show servers state none", "error: no backend 'none'; available: web, app\n");
	assert_answer("show servers state none json", "error: no backend 'none'; available: web, app\n");
}

static void what_the_administrator_and_the_checks_did_is_in_the_state(void **state)
{
	(void)state;
	assert_answer("set server app/u state drain", "");
	engine.backends[1]->servers[0]->changed_ns = clock_mono_ns();
	assert_has("show servers state app", "\n3 app 1 u - 2 8 1 1 0 1 ");
	assert_answer("set server app/u state maint", "");
	assert_has("show servers state app", "\n3 app 1 u - 0 1 1 1 0 1 ");
	assert_answer("set weight web/a 7", "");
	set_checked(true);
	check = (struct probe_view){.code = PROBE_L4CON, .rise = 2, .fall = 3, .health = 2, .duration_ms = 4};
	assert_has("show servers state web", "\n1 web 1 a 127.0.0.1 2 0 7 3 5 8 2 2 6 0 ");
	check = (struct probe_view){.code = PROBE_L7OK, .rise = 2, .fall = 3, .health = 4, .running = true};
	assert_has("show servers state web", "\n1 web 1 a 127.0.0.1 2 0 7 3 5 15 3 4 7 0 ");
	assert_has("show servers state app", " 0 1 1 1 0 15 3 0 15 0 "); /* its checks pause */
}

/* The numbers of INI, HANA, L4OK, L4CON, L7RSP, L7OK and L7STS were read from HAProxy 2.6 at work, those of
 * UNK, SOCKERR, L4TOUT and L7TOUT are the ones between them in its check-t.h. */
static void results_of_checks_have_haproxys_numbers(void **state)
{
	static const struct {
		enum probe_code code;
		const char *cells;
	} rows[] = {
		{PROBE_UNK, " 0 0 1 6 "},	 {PROBE_INI, " 1 0 1 6 "},	  {PROBE_HANA, " 4 2 1 6 "},
		{PROBE_SOCKERR, " 5 0 1 6 "}, {PROBE_L4OK, " 6 3 1 6 "},   {PROBE_L4TOUT, " 7 2 1 6 "},
		{PROBE_L4CON, " 8 2 1 6 "},	 {PROBE_L7TOUT, " 12 2 1 6 "}, {PROBE_L7RSP, " 13 2 1 6 "},
		{PROBE_L7OK, " 15 3 1 6 "},	 {PROBE_L7STS, " 17 2 1 6 "},
	};

	(void)state;
	set_checked(true);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		/* No check need have ended before: clients saw the server fail. */
		check = (struct probe_view){.code = rows[i].code, .health = 1, .duration_ms = -1};
		assert_has("show servers state app", rows[i].cells);
	}
}

static void states_as_json_say_more(void **state)
{
	char checksum[64];

	(void)state;
	assert_has("show servers state web json",
		   "[\n  {\"be_id\":1,\"be_name\":\"web\",\"srv_id\":1,\"srv_name\":\"a\",");
	assert_has("show servers state json", "\"srv_fqdn\":\"db.example\",\"srv_port\":8080,");
	assert_has("show servers state json",
		   "\"state\":\"DOWN (unresolved)\",\"sessions\":0,\"maxconn\":0,");
	(void)snprintf(checksum, sizeof(checksum), "\"checksum\":\"%016llx\"}\n]\n",
		       (unsigned long long)backend_roster(engine.backends[1])->checksum);
	assert_has("show servers state json", checksum);
}

static void backends_are_listed(void **state)
{
	(void)state;
	assert_answer("show backend", "# name\nweb\napp\n");
	assert_answer("show backend json", "[\n  {\"name\":\"web\"},\n  {\"name\":\"app\"}\n]\n");
}

static void a_hash_is_told_with_its_checksum(void **state)
{
	char line[128];

	(void)state;
	(void)snprintf(line, sizeof(line),
		       "web algorithm=source hash=consistent key=name servers=%zu checksum=%016llx\n",
		       backend_roster(engine.backends[0])->count,
		       (unsigned long long)backend_roster(engine.backends[0])->checksum);
	assert_answer("show hash web", line);
	assert_has("show hash", "\napp algorithm=roundrobin key=name servers=1 checksum=");
	assert_has("show hash json",
		   "[\n  {\"backend\":\"web\",\"algorithm\":\"source\",\"hash\":\"consistent\",");
	assert_answer("show hash x", "error: no backend 'x'; available: web, app\n");
}

static void history_is_told_oldest_first_with_its_causes(void **state)
{
	struct server *a = engine.backends[0]->servers[0];
	struct history_change change = {.wall_ns = 1784548800 * NS_PER_SEC + 7 * NS_PER_MS,
					.from = SERVER_UP,
					.to = SERVER_MAINT,
					.cause = "by uid 7 over the admin socket"};

	(void)state;
	assert_answer("show servers history", "");
	assert_answer("show servers history json", "[]\n");
	change.at_ns = clock_mono_ns() - 3 * NS_PER_SEC;
	history_add(&a->history, &change);
	change.wall_ns += 61 * NS_PER_SEC;
	change.at_ns = clock_mono_ns();
	change.from = SERVER_MAINT;
	change.to = SERVER_DOWN;
	(void)snprintf(change.cause, sizeof(change.cause), "check: connection refused \"x\"");
	history_add(&a->history, &change);
	assert_answer("show servers history web/a",
		      "2026-07-20T12:00:00.007Z web/a \"UP\" -> \"MAINT\": by uid 7 over the admin socket\n"
		      "2026-07-20T12:01:01.007Z web/a \"MAINT\" -> \"DOWN\": check: connection refused "
		      "\"x\"\n");
	assert_has("show servers history web", "web/a \"UP\" -> \"MAINT\"");
	assert_answer("show servers history app", "");
	assert_answer("show servers history web/a json",
		      "[\n  {\"backend\":\"web\",\"server\":\"a\",\"time\":\"2026-07-20T12:00:00.007Z\","
		      "\"age_s\":3,\"what\":\"state\","
		      "\"from\":\"UP\",\"to\":\"MAINT\",\"cause\":\"by uid 7 over the admin socket\"},"
		      "\n  {\"backend\":\"web\",\"server\":\"a\",\"time\":\"2026-07-20T12:01:01.007Z\","
		      "\"age_s\":0,\"what\":\"state\","
		      "\"from\":\"MAINT\",\"to\":\"DOWN\","
		      "\"cause\":\"check: connection refused \\\"x\\\"\"}\n]\n");
	change.wall_ns += 400 * NS_PER_MS;
	change.what = CHANGE_WEIGHT;
	change.from = 100;
	change.to = 0;
	(void)snprintf(change.cause, sizeof(change.cause), "over the admin socket");
	history_add(&engine.backends[1]->servers[0]->history, &change);
	change.what = CHANGE_MAXCONN;
	change.to = 4000000000;
	history_add(&engine.backends[1]->servers[0]->history, &change);
	assert_answer("show servers history app",
		      "2026-07-20T12:01:01.407Z app/u weight 100 -> 0: over the admin socket\n"
		      "2026-07-20T12:01:01.407Z app/u maxconn 100 -> 4000000000: over the admin socket\n");
	assert_has("show servers history app json",
		   "\"age_s\":0,\"what\":\"weight\",\"from\":100,\"to\":0,"
		   "\"cause\":\"over the admin socket\"}");
	assert_answer("show servers history web/z",
		      "error: no server 'z' in backend 'web'; available: a, n\n");
}

#define SERVERS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVERS_TEST(states_are_in_haproxys_format),
		SERVERS_TEST(what_the_administrator_and_the_checks_did_is_in_the_state),
		SERVERS_TEST(results_of_checks_have_haproxys_numbers),
		SERVERS_TEST(states_as_json_say_more),
		SERVERS_TEST(backends_are_listed),
		SERVERS_TEST(a_hash_is_told_with_its_checksum),
		SERVERS_TEST(history_is_told_oldest_first_with_its_causes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

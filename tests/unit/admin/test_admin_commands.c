/* SPDX-License-Identifier: MIT
 *
 * test_admin_commands.c - answers of the admin protocol, without a socket and without workers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/clock.h"
#include "weir/admin/admin.h"
#include "weir/admin/admin_answers.h"
#include "weir/config/admin_levels.tbl.h"
#include "weir/admin/admin_commands.h"
#include "balance/server_change.h"
#include "../engine/objects_by_hand.h"

/* One worker that counts what the tests want; the engine itself is not linked. */
static struct counters counters;

void engine_kill_sessions(struct engine *e, struct server *s)
{
	(void)e;
	(void)s;
}

const struct counters *engine_counters(const struct engine *e, unsigned worker)
{
	assert_true(worker < e->worker_count);
	return &counters;
}

static struct config_server server_config = {.name = "a", .addr.kind = ADDR_NAME};
static struct config_backend backend_config = {.name = "app", .servers = &server_config, .server_count = 1};
static struct config_bind bind_config = {.name = "x"};
static struct config_frontend frontend_config = {.name = "web", .binds = &bind_config, .bind_count = 1};
static struct config config = {
	.frontends = &frontend_config,
	.frontend_count = 1,
	.backends = &backend_config,
	.backend_count = 1,
};

static struct engine engine;
static struct server *server;
static struct addr address;
static struct admin_context context;
static struct admin_peer peer = {.uid = 7, .level = CONFIG_ADMIN_ADMIN, .ours = true};
static struct admin_question question;

static void fill_address(void)
{
	memset(&address, 0, sizeof(address));
	address.len = sizeof(address.in);
	address.in.sin_family = AF_INET;
	address.in.sin_port = htons(8080);
	address.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}

static void publish(void *from, figure_report *report, void *to)
{
	static const struct figure dropped = {"log_dropped", FIGURE_TOTAL, "log lines lost"};

	(void)from;
	report(to, &dropped, 9);
}

static const struct figure_source figures = {publish, NULL};

static void make_objects(void)
{
	objects_by_hand(&engine, &config);
	server = engine.backends[0]->servers[0];
	atomic_store(&server->sessions, 3);
	atomic_store(&server->total, 7);
	atomic_store(&frontend_by_hand(&engine, 0)->sessions, 5);
}

/* After a change of the configuration. */
static void make_objects_again(void)
{
	objects_by_hand_free(&engine);
	make_objects();
}

static int setup(void **state)
{
	(void)state;
	fill_address();
	bind_config.addr.kind = ADDR_IP;
	bind_config.addr.addr = address;
	make_objects();
	engine.worker_count = 2;
	engine.limits.maxconn = 1000;
	atomic_store(&engine.settings.maxconn, 1000);
	pipe_pool_init(&engine.pipes, 250, 65536, UINT64_MAX);
	buf_pool_init(&engine.bufs, 1 << 20);
	context.engine = &engine;
	context.figures = &figures;
	context.figure_count = 1;
	context.driver = "epoll";
	context.state = DAEMON_READY;
	peer.level = CONFIG_ADMIN_ADMIN;
	peer.ours = true;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pipe_pool_free(&engine.pipes);
	buf_pool_free(&engine.bufs);
	objects_by_hand_free(&engine);
	return 0;
}

/* Runs `command` and looks for a whole line in its answer. */
static void assert_line(const char *command, const char *line)
{
	struct text out;
	char around[256];

	text_init(&out);
	text_add(&out, "\n", 1);
	assert_int_equal(admin_command(&context, &peer, command, &out, &question), ADMIN_ANSWERED);
	assert_false(out.failed);
	(void)snprintf(around, sizeof(around), "\n%s\n", line);
	if (strstr(out.bytes, around) == NULL)
		fail_msg("no line '%s' in:%s", line, out.bytes);
	text_free(&out);
}

/* A line more where auto could not have what it prefers; the name of the driver stays one word. */
static void info_says_why_the_driver_is_not_the_best(void **state)
{
	(void)state;
	context.driver_reason = "kernel.io_uring_disabled is 2";
	assert_line("show info", "driver: epoll\ndriver_reason: io_uring: kernel.io_uring_disabled is 2");
	context.driver_reason = "";
	assert_line("show info", "driver: epoll\nsessions: 0");
	context.driver_reason = NULL;
}

static void info_says_what_is_in_effect_in_place_of_the_files(void **state)
{
	(void)state;
	assert_line("show info", "config: files");
	context.config_note = "confirmed text, weir.ini was not confirmed";
	assert_line("show info", "config: confirmed text, weir.ini was not confirmed");
	context.config_note = "";
	assert_line("show info", "config: files");
	context.config_note = NULL;
}

static void info_sums_the_workers(void **state)
{
	(void)state;
	counter_set(&counters.accepted, 21);
	assert_line("show info", "accepted: 42");
	assert_line("show info", "workers: 2");
	assert_line("show info", "maxconn: 1000");
	assert_line("show info", "driver: epoll");
	assert_line("show info", "state: ready");
	assert_line("show info", "log_dropped: 9");
	assert_line("show info", "DroppedLogs: 9");
	assert_line("show info", "version: " WEIR_VERSION);
}

static void bind_without_a_name_has_a_number(void **state)
{
	(void)state;
	bind_config.name[0] = '\0';
	make_objects_again();
	assert_line("show info", "listen.web.1: 127.0.0.1:8080");
	bind_config.name[0] = 'x';
	make_objects_again();
	assert_line("show info", "listen.web.x: 127.0.0.1:8080");
}

static void info_lists_frontends_servers_and_listeners(void **state)
{
	(void)state;
	assert_line("show info", "frontend.web.sessions: 5");
	assert_line("show info", "listen.web.x: 127.0.0.1:8080");
	assert_line("show info", "server.app/a: unresolved sessions=3 total=7 failures=0 address=-");
	assert_int_equal(server_set_addr(server, &address), 0);
	atomic_store(&server->state, SERVER_UP);
	atomic_store(&server->state, SERVER_DRAIN);
	assert_line("show info", "server.app/a: drain sessions=3 total=7 failures=0 address=127.0.0.1:8080");
	atomic_store(&server->state, SERVER_UP);
	assert_line("show info", "server.app/a: up sessions=3 total=7 failures=0 address=127.0.0.1:8080");
}

static void pools_are_shown(void **state)
{
	(void)state;
	counter_set(&counters.pipes_in_use, 4);
	assert_line("show pools", "pipes_made: 0");
	assert_line("show pools", "pipes_max: 250");
	assert_line("show pools", "pipes_in_use: 8");
	assert_line("show pools", "bufs_in_use_bytes: 0");
	assert_line("show pools", "bufs_resting_pool_bytes: 0");
}

static void white_space_is_free(void **state)
{
	(void)state;
	assert_line("  show \t info \r", "workers: 2");
	assert_line("help", "show pools [json]                                   pipes and buffers");
}

static void unknown_command_is_named_and_escaped(void **state)
{
	static char longest[ADMIN_REQUEST_MAX + 2];

	(void)state;
	assert_line("shwo info", "error: unknown command 'shwo info'; did you mean 'show info'?");
	assert_line("show infos", "error: unknown command 'show infos'; did you mean 'show info'?");
	assert_line("quti", "error: unknown command 'quti'; did you mean 'quit'?");
	assert_line("show", "error: unknown command 'show'; try help");
	assert_line("show info 3", "error: usage: 'show info [typed|json]'");
	assert_line("show info json json", "error: usage: 'show info [typed|json]'");
	assert_line("show stat 1 2", "error: usage: 'show stat [PROXY TYPE SID] [typed|json]'");
	assert_line("show stat 1 2 x", "error: usage: 'show stat [PROXY TYPE SID] [typed|json]'");
	assert_line("set timeout cli", "error: usage: 'set timeout cli TIME'");
	assert_line("set timeout cli 0", "error: usage: 'set timeout cli TIME'");
	assert_line("show stat nobody -1 -1", "error: no frontend or backend 'nobody'");
	assert_line("help me", "show version                                        the version");
	assert_line("a\033[2Jb", "error: unknown command 'a\\x1b[2Jb'; try help");
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_line(longest, "error: the command is longer than 16384 bytes; try help");
}

static enum admin_verdict ask(const char *command, struct text *out)
{
	return admin_command(&context, &peer, command, out, &question);
}

static void sessions_are_asked_of_the_workers(void **state)
{
	struct text out;

	(void)state;
	text_init(&out);
	assert_int_equal(ask("show sess", &out), ADMIN_ASK_SESSIONS);
	assert_false(question.json);
	assert_int_equal(ask("show  sess json", &out), ADMIN_ASK_SESSIONS);
	assert_true(question.json);
	assert_int_equal(ask("show stat 2 -1 7 json", &out), ADMIN_ASK_TALLIES);
	assert_true(question.json);
	assert_int_equal(question.iid, 2);
	assert_int_equal(question.types, -1);
	assert_int_equal(question.sid, 7);
	assert_int_equal(ask("show stat app 4 -1", &out), ADMIN_ASK_TALLIES);
	assert_int_equal(question.iid, 2);
	assert_int_equal(ask("show stat web -1 -1", &out), ADMIN_ASK_TALLIES);
	assert_int_equal(question.iid, 1);
	assert_int_equal(ask("set timeout cli 99", &out), ADMIN_TIMEOUT);
	assert_int_equal(question.timeout_ns, 99 * NS_PER_SEC);
	assert_int_equal(out.len, 0);
	text_free(&out);
}

static void a_level_allows_what_is_below_it(void **state)
{
	static const struct {
		enum config_admin_level level;
		const char *command;
		const char *line;
	} rows[] = {
		{CONFIG_ADMIN_USER, "show info", "state: ready"},
		{CONFIG_ADMIN_USER, "show pools",
		 "error: uid 7 may not use 'show pools' on this socket (level 'user'); write level=operator "
		 "on the 'admin-socket' line in [global], or connect as root"},
		{CONFIG_ADMIN_OPERATOR, "show pools", "pipes_max: 250"},
		{CONFIG_ADMIN_USER, "get weight app/a", "0 (initial 0)"},
		{CONFIG_ADMIN_USER, "show backend", "# name\napp"},
		{CONFIG_ADMIN_OPERATOR, "set weight app/a 1",
		 "error: uid 7 may not use 'set weight' on this socket (level 'operator'); write level=admin "
		 "on the 'admin-socket' line in [global], or connect as root"},
		{CONFIG_ADMIN_OPERATOR, "disable server",
		 "error: uid 7 may not use 'disable server' on this socket (level 'operator'); write "
		 "level=admin on the 'admin-socket' line in [global], or connect as root"},
	};
	struct text out;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		peer.level = rows[i].level;
		assert_line(rows[i].command, rows[i].line);
	}
	text_init(&out);
	peer.level = CONFIG_ADMIN_OPERATOR;
	assert_int_equal(admin_command(&context, &peer, "help", &out, &question), ADMIN_ANSWERED);
	peer.level = CONFIG_ADMIN_ADMIN;
	assert_non_null(strstr(out.bytes, "show servers state"));
	assert_null(strstr(out.bytes, "set server"));
	text_free(&out);
}

/* A mistake in the first words is seen whatever follows them. */
/* The commands that `help` lists at a level, one per line. */
static char *help_at(enum config_admin_level level)
{
	struct text out;

	text_init(&out);
	peer.level = level;
	assert_int_equal(admin_command(&context, &peer, "help", &out, &question), ADMIN_ANSWERED);
	peer.level = CONFIG_ADMIN_ADMIN;
	assert_false(out.failed);
	return out.bytes;
}

static bool begins_with_one_of(const char *line, const char *const *words)
{
	for (; *words != NULL; words++)
		if (strncmp(line, *words, strlen(*words)) == 0)
			return true;
	return false;
}

/* What the table says of levels is what the commands want: each that a level adds begins so. */
static void a_level_may_do_what_its_row_says(void **state)
{
	static const char *const user[] = {"show info",	  "show stat", "show backend", "show version",
					   "get weight",  "prompt",    "set timeout",  "quit",
					   "help",	  "A; B",      "set severity", NULL};
	static const char *const shows[] = {"show ", "get ", "config diff", "plan", "explain", "why", NULL};
	char *below = strdup("");

	(void)state;
	assert_string_equal(ADMIN_USER_MAY,
			    "'show info', 'show stat', 'show backend', 'show version' and 'get weight'");
	assert_string_equal(ADMIN_OPERATOR_MAY, "every command that only shows something");
	for (int level = CONFIG_ADMIN_USER; level <= CONFIG_ADMIN_ADMIN; level++) {
		char *help = help_at((enum config_admin_level)level);
		unsigned added = 0;

		for (char *line = help; *line != '\0'; line += strcspn(line, "\n") + 1) {
			char one[160];

			(void)snprintf(one, sizeof(one), "%.*s\n", (int)strcspn(line, "\n"), line);
			if (strstr(below, one) != NULL)
				continue;
			added++;
			if (level == CONFIG_ADMIN_USER)
				assert_true(begins_with_one_of(line, user));
			else
				assert_int_equal(begins_with_one_of(line, shows),
						 level == CONFIG_ADMIN_OPERATOR);
		}
		assert_true(added > 3);
		free(below);
		below = help;
	}
	free(below);
}

static void a_misspelt_command_with_words_behind_it_is_found(void **state)
{
	(void)state;
	assert_line("dissable server app/a",
		    "error: unknown command 'dissable server app/a'; did you mean 'disable server'?");
	assert_line("set servre app/a state maint",
		    "error: unknown command 'set servre app/a state maint'; did you mean 'set server'?");
	assert_line("set server app/a state",
		    "error: usage: 'set server BACKEND/SERVER state ready|drain|maint' or "
		    "'set server BACKEND/SERVER weight N|N%' or "
		    "'set server BACKEND/SERVER addr IP [port PORT]' or "
		    "'set server BACKEND/SERVER check-addr IP [port PORT]' or "
		    "'set server BACKEND/SERVER check-port PORT' or "
		    "'set server BACKEND/SERVER health up|stopping|down'");
}

/* Text by text those of HAProxy 2.6. */
static void haproxys_tools_get_its_refusals(void **state)
{
	static const struct {
		const char *command, *answer;
	} rows[] = {
		{"get weight", "Require 'backend/server'.\n"},
		{"get weight app", "Require 'backend/server'.\n"},
		{"get weight app/", "Require 'backend/server'.\n"},
		{"get weight x/a", "No such backend.\n"},
		{"get weight app/x", "No such server.\n"},
		{"get weight app/a b c", "0 (initial 0)\n"},
		{"get weight #2/#1", "0 (initial 0)\n"},
		{"get weight #3/#1", "No such backend.\n"},
		{"get weight #2/#x", "No such server.\n"},
		{"show servers state nope", "Can't find backend.\n"},
		{"show backend foo", "# name\napp\n"},
		{"show stat nope -1 -1", "No such proxy.\n"},
		{"show stat 0 -1 -1", "No such proxy.\n"},
		{"show errors nope", "No such proxy.\n"},
		{"set timeout", "'set timeout' only supports 'cli'.\n"},
		{"set timeout foo 5", "'set timeout' only supports 'cli'.\n"},
		{"set timeout cli", "Expects an integer value.\n"},
		{"set timeout cli x", "Invalid timeout value.\n"},
		{"set timeout cli 0", "Invalid timeout value.\n"},
		{"set timeout cli -5", "Invalid timeout value.\n"},
		{"set timeout cli 5x", "Invalid timeout value.\n"},
		{"set timeout cli 99999999999999999999", "Invalid timeout value.\n"},
		{"show version", WEIR_VERSION "\n"},
		/* Of commands that HAProxy does not have. */
		{"show hash nope", "error: no backend 'nope'; available: app\n"},
		{"reload now", "error: usage: 'reload [wait] [confirm=TIME [hold]]'\n"},
	};
	struct text out;

	(void)state;
	peer.ours = false;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		text_init(&out);
		assert_int_equal(admin_command(&context, &peer, rows[i].command, &out, &question),
				 ADMIN_ANSWERED);
		assert_string_equal(out.bytes, rows[i].answer);
		text_free(&out);
	}
	peer.ours = true;
}

static void haproxys_tools_need_not_count_their_words(void **state)
{
	static const char *const times[] = {"5", "5s", "500ms", "100d", "2m", "1h", "99000us"};
	struct text out;
	char command[64];

	(void)state;
	peer.ours = false;
	text_init(&out);
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		(void)snprintf(command, sizeof(command), "set timeout cli %s more", times[i]);
		assert_int_equal(ask(command, &out), ADMIN_TIMEOUT);
		assert_in_range(question.timeout_ns, NS_PER_MS, 3600 * NS_PER_SEC);
	}
	assert_int_equal(ask("show stat 1 2", &out), ADMIN_ASK_TALLIES);
	assert_int_equal(question.iid, -1);
	assert_int_equal(ask("show stat 1 2 x", &out), ADMIN_ASK_TALLIES);
	assert_int_equal(question.iid, 1);
	assert_int_equal(question.sid, 0);
	assert_int_equal(out.len, 0);
	text_free(&out);
	peer.ours = true;
}

static void haproxys_tools_are_told_what_their_level_forbids(void **state)
{
	struct text out;

	(void)state;
	text_init(&out);
	peer.ours = false;
	peer.level = CONFIG_ADMIN_USER;
	assert_int_equal(ask("show sess", &out), ADMIN_ANSWERED);
	assert_string_equal(out.bytes, "Permission denied\n");
	text_free(&out);
	assert_int_equal(ask("show errors app", &out), ADMIN_ANSWERED);
	assert_string_equal(out.bytes, "Permission denied\n");
	text_free(&out);
	peer.level = CONFIG_ADMIN_OPERATOR;
	assert_int_equal(ask("show errors app", &out), ADMIN_ANSWERED);
	assert_ptr_equal(strstr(out.bytes, "Total events captured on ["), out.bytes);
	assert_string_equal(out.bytes + strlen(out.bytes) - 6, "] : 0\n");
	text_free(&out);
	peer.level = CONFIG_ADMIN_ADMIN;
	peer.ours = true;
}

static void a_list_for_haproxys_tools_has_its_form(void **state)
{
	static const char tail[] =
		"  help [COMMAND]                          : this list, or the forms of a command\n"
		"  prompt                                  : keep the connection open, or no longer; \"> \" "
		"follows each answer\n"
		"  quit                                    : close a connection with a prompt\n";
	static const struct {
		const char *command, *head, *line;
	} rows[] = {
		{"bogus", "Unknown command. Please enter one of the following commands only:\n",
		 "  show backend [json]                     : the names of all backends\n"},
		{"shwo version", "Unknown command, but maybe one of the following ones is a better match:\n",
		 "  show version                            : the version\n"},
		{"show bogus", "Unknown command, but maybe one of the following ones is a better match:\n",
		 "  show hash [BACKEND] [json]              : algorithm and checksum; equal checksums, equal "
		 "choices\n"},
		{"help", "The following commands are valid at this level:\n",
		 "  get weight BACKEND/SERVER               : its current and its configured weight\n"},
		{"help get", "The following commands are valid at this level:\n",
		 "  get weight BACKEND/SERVER               : its current and its configured weight\n"},
	};
	struct text out;

	(void)state;
	peer.ours = false;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		text_init(&out);
		assert_int_equal(ask(rows[i].command, &out), ADMIN_ANSWERED);
		assert_ptr_equal(strstr(out.bytes, rows[i].head), out.bytes);
		assert_non_null(strstr(out.bytes, rows[i].line));
		assert_string_equal(out.bytes + out.len - strlen(tail), tail);
		text_free(&out);
	}
	/* What this peer may not do is not listed. */
	peer.level = CONFIG_ADMIN_USER;
	assert_int_equal(ask("help", &out), ADMIN_ANSWERED);
	assert_null(strstr(out.bytes, "show hash"));
	text_free(&out);
	peer.level = CONFIG_ADMIN_ADMIN;
	peer.ours = true;
}

static void info_has_the_names_of_haproxy_too(void **state)
{
	(void)state;
	counter_set(&counters.pipes_in_use, 4);
	assert_line("show info", "Name: weir");
	assert_line("show info", "Version: " WEIR_VERSION);
	assert_line("show info", "Nbthread: 2");
	assert_line("show info", "Maxconn: 1000");
	assert_line("show info", "PipesUsed: 8");
	assert_line("show info", "Stopping: 0");
	context.started_ns = clock_mono_ns() - (93784 * NS_PER_SEC + NS_PER_SEC / 2);
	assert_line("show info", "Uptime: 1d 2h03m04s");
	assert_line("show info", "Uptime_sec: 93784");
}

static void lines_become_an_object(void **state)
{
	(void)state;
	assert_line("show info json", "  \"workers\":2,");
	assert_line("show info json", "  \"state\":\"ready\",");
	assert_line("show info json", "  \"version\":\"" WEIR_VERSION "\",");
	assert_line("show pools json", "  \"pipes_max\":250,");
}

static void algorithms_have_the_words_of_balance(void **state)
{
	static const char *const words[] = {
		[CONFIG_BALANCE_ROUNDROBIN] = "roundrobin", [CONFIG_BALANCE_LEASTCONN] = "leastconn",
		[CONFIG_BALANCE_RANDOM] = "random",	    [CONFIG_BALANCE_FIRST] = "first",
		[CONFIG_BALANCE_SOURCE] = "source",	    [CONFIG_BALANCE_MAGLEV] = "maglev",
	};
	char buf[OPTION_WORD_MAX];
	const char *word;

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		backend_config.balance.algorithm = (enum config_balance)i;
		make_objects_again();
		assert_string_equal(admin_algorithm(engine.backends[0], buf), words[i]);
	}
	word = option_choice_word(IN_BALANCE, "hash", CONFIG_HASH_CONSISTENT, buf);
	assert_string_equal(word, "consistent");
	word = option_choice_word(IN_BALANCE, "hash-key", CONFIG_HASH_KEY_ADDRESS, buf);
	assert_string_equal(word, "address");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(info_sums_the_workers),
		cmocka_unit_test(info_says_why_the_driver_is_not_the_best),
		cmocka_unit_test(info_says_what_is_in_effect_in_place_of_the_files),
		cmocka_unit_test(bind_without_a_name_has_a_number),
		cmocka_unit_test(info_lists_frontends_servers_and_listeners),
		cmocka_unit_test(pools_are_shown),
		cmocka_unit_test(white_space_is_free),
		cmocka_unit_test(unknown_command_is_named_and_escaped),
		cmocka_unit_test(a_level_allows_what_is_below_it),
		cmocka_unit_test(a_level_may_do_what_its_row_says),
		cmocka_unit_test(a_misspelt_command_with_words_behind_it_is_found),
		cmocka_unit_test(haproxys_tools_get_its_refusals),
		cmocka_unit_test(haproxys_tools_need_not_count_their_words),
		cmocka_unit_test(haproxys_tools_are_told_what_their_level_forbids),
		cmocka_unit_test(a_list_for_haproxys_tools_has_its_form),
		cmocka_unit_test(sessions_are_asked_of_the_workers),
		cmocka_unit_test(info_has_the_names_of_haproxy_too),
		cmocka_unit_test(lines_become_an_object),
		cmocka_unit_test(algorithms_have_the_words_of_balance),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

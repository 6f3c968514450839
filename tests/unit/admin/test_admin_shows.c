/* SPDX-License-Identifier: MIT
 *
 * test_admin_shows.c - which sessions a command is about, what is cleared, and the forms of `show info`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/admin/admin_answers.h"
#include "weir/base/clock.h"
#include "weir/stats/stat_base.h"
#include "../engine/objects_by_hand.h"

static struct counters counters[2];

void engine_kill_sessions(struct engine *e, struct server *s)
{
	(void)e;
	(void)s;
}

const struct counters *engine_counters(const struct engine *e, unsigned worker)
{
	assert_true(worker < e->worker_count);
	return &counters[worker];
}

static struct config_server server_config = {.name = "a", .addr.kind = ADDR_NAME};
static struct config_backend backend_config = {.name = "app", .servers = &server_config, .server_count = 1};
static struct config_frontend frontend_config = {.name = "web", .maxconn = 10};
static struct config config = {
	.frontends = &frontend_config, .frontend_count = 1, .backends = &backend_config, .backend_count = 1};
static struct worker workers[2];
static struct worker *worker_list[] = {&workers[0], &workers[1]};
static struct engine engine;
static struct stat_bases bases;
static struct chunks sums;
static struct admin_context context = {.engine = &engine, .bases = &bases, .driver = "epoll",
				       .state = DAEMON_READY};
static struct admin_peer peer = {.uid = 7, .level = CONFIG_ADMIN_ADMIN};
static struct admin_question question;
static struct text out;

static int setup(void **state)
{
	(void)state;
	memset(counters, 0, sizeof(counters));
	objects_by_hand(&engine, &config);
	for (unsigned i = 0; i < 2; i++) {
		tallies_by_hand(&engine, &workers[i]);
		mailbox_init(&workers[i].mailbox, &workers[i].loop);
		atomic_store(&workers[i].mailbox.awake, true); /* there is no loop to wake */
	}
	engine.workers = worker_list;
	engine.worker_count = 2;
	assert_int_equal(stat_bases_init(&bases, &engine.live.objects), 0);
	chunks_init(&sums, sizeof(struct tally_sum));
	assert_int_equal(slot_space_add_table(&engine.live.objects, &sums), 0);
	pipe_pool_init(&engine.pipes, 250, 65536, UINT64_MAX);
	buf_pool_init(&engine.bufs, 1 << 20);
	context.started_ns = clock_mono_ns();
	peer.ours = false;
	text_init(&out);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	text_free(&out);
	pipe_pool_free(&engine.pipes);
	buf_pool_free(&engine.bufs);
	slot_space_remove_table(&engine.live.objects, &sums);
	chunks_free(&sums);
	stat_bases_free(&bases);
	for (unsigned i = 0; i < 2; i++)
		tallies_by_hand_free(&engine, &workers[i]);
	objects_by_hand_free(&engine);
	return 0;
}

static enum admin_verdict ask(const char *command)
{
	text_free(&out);
	return admin_command(&context, &peer, command, &out, &question);
}

static void assert_refused(const char *command, const char *answer)
{
	assert_int_equal(ask(command), ADMIN_ANSWERED);
	assert_string_equal(out.bytes, answer);
}

static void sessions_are_chosen_by_id_and_age(void **state)
{
	static const struct {
		const char *command;
		uint64_t session;
		int64_t age_s;
		enum admin_shown shown;
	} rows[] = {
		{"show sess", 0, 0, SHOWN_LINES},
		{"show sess all", 0, 0, SHOWN_LARGE},
		{"show sess 0x100000005", UINT64_C(0x100000005), 0, SHOWN_LARGE},
		{"show sess 4294967301", UINT64_C(0x100000005), 0, SHOWN_LARGE},
		{"show sess 0.5", UINT64_C(0x100000005), 0, SHOWN_LARGE},
		{"show sess 63.4294967295", UINT64_C(0x40ffffffff), 0, SHOWN_LARGE},
		{"show sess older 7", 0, 7, SHOWN_LARGE},
		{"show sess all older 2m", 0, 120, SHOWN_LARGE},
		{"show sess older 1500ms", 0, 2, SHOWN_LARGE},
		{"show sess older 0", 0, 0, SHOWN_LARGE},
		{"show fd", 0, 0, SHOWN_FDS},
		{"show fd 12", 0, 0, SHOWN_FDS},
		{"shutdown session 1.7", UINT64_C(0x200000007), 0, SHOWN_NOT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(ask(rows[i].command), ADMIN_ASK_SESSIONS);
		assert_int_equal(question.filter.session, rows[i].session);
		assert_int_equal(question.filter.min_age_ns, rows[i].age_s * NS_PER_SEC);
		assert_int_equal(question.shown, rows[i].shown);
		assert_int_equal(question.filter.kill, rows[i].shown == SHOWN_NOT);
		assert_int_equal(question.fd, strcmp(rows[i].command, "show fd 12") == 0 ? 12 : -1);
		assert_int_equal(out.len, 0);
	}
	peer.ours = true;
	assert_int_equal(ask("show sess older 7"), ADMIN_ASK_SESSIONS);
	assert_int_equal(question.shown, SHOWN_LINES);
	assert_int_equal(ask("show sess 0.5"), ADMIN_ASK_SESSIONS);
	assert_int_equal(question.shown, SHOWN_DETAIL);
	assert_int_equal(ask("show sess older 7 json"), ADMIN_ASK_SESSIONS);
	assert_true(question.json);
}

static void what_is_no_session_is_refused(void **state)
{
	(void)state;
	assert_refused("show sess older", "Expects a minimum age (in seconds by default).\n");
	assert_refused("show sess older x", "Invalid age.\n");
	assert_refused("show sess older -5", "Invalid age.\n");
	assert_refused("show sess older 99999999999", "Invalid age.\n");
	assert_refused("show sess abc", "Unsupported option 'abc', try 'help' for more info.\n");
	assert_refused("shutdown session", "Session pointer expected (use 'show sess').\n");
	assert_refused("shutdown session x", "Session pointer expected (use 'show sess').\n");
	assert_refused("shutdown session -1", "Session pointer expected (use 'show sess').\n");
	assert_refused("shutdown session 0.x", "Session pointer expected (use 'show sess').\n");
	assert_refused("shutdown session 99999999999999999999",
		       "Session pointer expected (use 'show sess').\n");
	assert_refused("show activity 3", "Thread ID number must be between -1 and nbthread\n");
	peer.ours = true;
	assert_refused("shutdown session x",
		       "error: write the id of a session, 0x... or as in log lines (see 'show sess')\n");
	assert_refused("clear counters some", "error: usage: 'clear counters [all]'\n");
}

static void activity_has_a_value_per_worker(void **state)
{
	(void)state;
	counter_set(&counters[0].turns, 3);
	counter_set(&counters[1].turns, 40);
	assert_int_equal(ask("show activity"), ADMIN_ANSWERED);
	assert_non_null(strstr(out.bytes, "thread_id: 1 (1..2)\n"));
	assert_non_null(strstr(out.bytes, "\nloops: 43 [ 3 40 ]\n"));
	assert_int_equal(ask("show activity 0"), ADMIN_ANSWERED);
	assert_non_null(strstr(out.bytes, "\nloops: 43\n"));
	assert_int_equal(ask("show activity 2"), ADMIN_ANSWERED);
	assert_non_null(strstr(out.bytes, "\nloops: 40\n"));
	engine.worker_count = 1;
	assert_int_equal(ask("show activity"), ADMIN_ANSWERED);
	assert_non_null(strstr(out.bytes, "\nloops: 3\n"));
}

static void assert_begins(const char *begin)
{
	if (strncmp(out.bytes, begin, strlen(begin)) != 0)
		fail_msg("'%s' does not begin with '%s'", out.bytes, begin);
}

static void info_has_haproxys_forms(void **state)
{
	(void)state;
	assert_int_equal(ask("show info typed"), ADMIN_ANSWERED);
	assert_begins("0.Name.1:POS:str:weir\n1.Version.1:POS:str:");
	assert_non_null(strstr(out.bytes, "\n26.ConnRate.1:MRP:u32:0\n"));
	assert_non_null(strstr(out.bytes, "\n54.Unstoppable Jobs.1:MGP:u32:0\n"));
	assert_null(strstr(out.bytes, "TotalSplicedBytesOut"));
	assert_null(strstr(out.bytes, "driver"));
	assert_int_equal(ask("show info json"), ADMIN_ANSWERED);
	assert_begins("[{\"field\":{\"pos\":0,\"name\":\"Name\"},\"processNum\":1,\"tags\":{\"origin\":"
		      "\"Product\",\"nature\":\"Output\",\"scope\":\"Service\"},\"value\":{\"type\":"
		      "\"str\",\"value\":\"weir\"}},{");
	peer.ours = true;
	assert_int_equal(ask("show info json"), ADMIN_ANSWERED);
	assert_begins("{\n  \"Name\":\"weir\",\n");
}

/* The answer to `show stat` has this row. */
static void assert_row(const char *begin)
{
	text_free(&out);
	assert_int_equal(ask("show stat"), ADMIN_ASK_TALLIES);
	admin_show_stat(&context, &question, &sums, &out);
	if (strstr(out.bytes, begin) == NULL)
		fail_msg("no '%s' in:\n%s", begin, out.bytes);
}

static void clearing_is_for_haproxys_tools(void **state)
{
	struct frontend *fe = frontend_by_hand(&engine, 0);
	struct tally_sum *sum = chunks_at(&sums, fe->slot);

	(void)state;
	*sum = (struct tally_sum){.bytes_to_server = 100, .sessions = 1, .sessions_max = 9};
	atomic_store(&fe->total, 50);
	assert_row("\nweb,FRONTEND,,,1,9,10,50,100,0,");
	assert_int_equal(ask("clear counters"), ADMIN_ASK_TALLIES);
	assert_int_equal(question.sums, SUMS_CLEAR_MAXIMA);
	admin_clear_counters(&context, false, &sums);
	assert_int_equal(mailbox_signals(&workers[1].mailbox), MAIL_MAXIMA);
	sum->sessions_max = 0; /* as workers answer from now on */
	assert_row("\nweb,FRONTEND,,,1,1,10,50,100,0,");
	assert_int_equal(ask("clear counters all"), ADMIN_ASK_TALLIES);
	assert_int_equal(question.sums, SUMS_CLEAR_ALL);
	admin_clear_counters(&context, true, &sums);
	assert_int_equal(mailbox_signals(&workers[1].mailbox), MAIL_MAXIMA | MAIL_TIMES);
	assert_row("\nweb,FRONTEND,,,1,1,10,0,0,0,");
	sum->bytes_to_server = 130;
	sum->sessions_max = 2;
	atomic_store(&fe->total, 51);
	assert_row("\nweb,FRONTEND,,,1,2,10,1,30,0,");
	peer.ours = true;
	assert_row("\nweb,FRONTEND,,,1,9,10,51,130,0,");
	context.bases = NULL; /* nothing can be cleared, and nothing is */
	admin_clear_counters(&context, true, &sums);
	assert_row("\nweb,FRONTEND,,,1,2,10,51,130,0,");
	context.bases = &bases;
}

#define SHOW_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SHOW_TEST(sessions_are_chosen_by_id_and_age),
		SHOW_TEST(what_is_no_session_is_refused),
		SHOW_TEST(activity_has_a_value_per_worker),
		SHOW_TEST(info_has_haproxys_forms),
		SHOW_TEST(clearing_is_for_haproxys_tools),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * test_admin_why.c - `why` and `show errors`: why a server is as it is, and what failed last.
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

#include "../base/alloc_fail.h"
#include "weir/account/close_reason.h"
#include "weir/account/failure.h"
#include "why_rig.h"

static void a_server_is_down_for_a_reason(void **state)
{
	(void)state;
	server_updates_set_health(&hand.updates, server_at(0, 0), false, "Layer4 timeout");
	updates_by_hand_turn(&hand, clock_mono_ns());
	assert_has("why web/a", "backend: web: servers usable: 2 of 3, in use: 1, clients queued: 0\n"
				"web/a: DOWN for 0 s: Layer4 timeout\n");
	assert_has("why web/a", " UP -> DOWN: Layer4 timeout\n");
	assert_has("why web", "web/b: UP for 5 s, since the start\n");
	assert_has("why web json",
		   "{\"step\":\"web/a\",\"verdict\":\"down\",\"text\":\"DOWN for 0 s: Layer4");
}

static void an_administrator_is_reminded_of_the_way_back(void **state)
{
	(void)state;
	assert_int_equal(server_updates_set_admin(&hand.updates, server_at(0, 0), SERVER_ADMIN_MAINT,
						  "by uid 7"), 0);
	updates_by_hand_turn(&hand, clock_mono_ns());
	assert_has("why web/a", "MAINT for 0 s: by uid 7; 'enable server' brings it back\n");
}

static void a_backend_without_servers_serves_nobody(void **state)
{
	(void)state;
	server_updates_set_health(&hand.updates, server_at(1, 0), false, "check failed");
	updates_by_hand_turn(&hand, clock_mono_ns());
	assert_has("why app", "backend: no client is served until a server is usable\n");
}

static void load_and_failing_connects_are_named(void **state)
{
	(void)state;
	assert_true(server_enter(server_at(0, 1)));
	atomic_store(&server_at(0, 1)->failing, 3);
	assert_has("why web/b", "web/b: full: 1 of 1 sessions, clients queued: 0\n");
	assert_has("why web/b", "web/b: connects that failed in a row: 3\n");
	server_leave(server_at(0, 1));
}

static void an_unknown_name_is_refused(void **state)
{
	(void)state;
	assert_answer("why none", "error: no backend 'none'; available: web, app\n");
	assert_answer("why web/none", "error: no server 'none' in backend 'web'; available: a, b, spare\n");
}

/* ---- show errors ---- */

static struct worker worker;
static struct worker *workers[] = {&worker};

static void begin_failures(void)
{
	memset(&worker, 0, sizeof(worker));
	engine.workers = workers;
	engine.worker_count = 1;
}

static void end_failures(void)
{
	engine.workers = NULL;
	engine.worker_count = 0;
}

static void add_failure(enum failure_group group, int64_t at_ns, const char *backend, const char *server)
{
	struct failure f;

	memset(&f, 0, sizeof(f));
	f.at_ns = at_ns;
	f.err = ECONNREFUSED;
	f.phase = FAILURE_CONNECT;
	f.reason = CLOSE_CONNECT_REFUSED;
	(void)snprintf(f.frontend, sizeof(f.frontend), "in");
	(void)snprintf(f.backend, sizeof(f.backend), "%s", backend);
	(void)snprintf(f.server, sizeof(f.server), "%s", server);
	failure_add(&worker.failures[group], &f);
}

static unsigned count_lines(const char *command, const char *part)
{
	char *out = ask(command);
	unsigned lines = 0;

	for (const char *at = out; (at = strstr(at, part)) != NULL; at++)
		lines++;
	free(out);
	return lines;
}

static void failures_of_all_rings_are_in_order(void **state)
{
	char *out, *first, *second, *third;

	(void)state;
	begin_failures();
	assert_answer("show errors", "# failures since the start: 0; the last ones:\n");
	assert_answer("show errors json", "[]\n");
	add_failure(FAILURES_OF_SESSIONS, 1, "web", "a");
	add_failure(FAILURES_OF_SESSIONS, 3, "app", "u");
	add_failure(FAILURES_OF_OUTSIDERS, 2, "", "");
	out = ask("show errors");
	first = strstr(out, "server=a");
	second = strstr(out, "server=- ");
	third = strstr(out, "server=u");
	assert_true(first != NULL && second != NULL && third != NULL);
	assert_true(first < second);
	assert_true(second < third);
	assert_ptr_equal(strstr(out, "# failures since the start: 3;"), out);
	free(out);
	assert_int_equal(count_lines("show errors", "phase="), 3);
	assert_int_equal(count_lines("show errors in", "phase="), 3);
	assert_int_equal(count_lines("show errors app", "phase="), 1);
	assert_int_equal(count_lines("show errors json", "\"errno\":\"ECONNREFUSED\""), 3);
	assert_int_equal(count_lines("why web", "phase="), 1);
	assert_int_equal(count_lines("why web/b", "phase="), 0);
	assert_answer("show errors none", "error: no frontend or backend 'none'\n");
	end_failures();
}

static void an_answer_has_a_bound(void **state)
{
	(void)state;
	begin_failures();
	for (int64_t i = 0; i < 1000; i++)
		add_failure(FAILURES_OF_SESSIONS, i, "web", "a");
	assert_int_equal(count_lines("show errors", "phase="), FAILURES_KEPT);
	assert_int_equal(count_lines("show errors", "# failures since the start: 1000;"), 1);
	assert_int_equal(count_lines("why web/a", "phase="), 16);
	end_failures();
}

/* Each allocation in turn: an answer fails, or it is whole. */
static void assert_fails_without_memory(const char *command)
{
	struct admin_question q;
	struct text out;
	char *whole = ask(command);
	bool failed = true;
	long n;

	for (n = 0; failed; n++) {
		const long before = allocated;

		assert_true(n < 100);
		text_init(&out);
		fail_allocations_from(n);
		assert_int_equal(admin_command(&context, &peer, command, &out, &q), ADMIN_ANSWERED);
		until_failure = -1;
		failed = out.failed;
		if (!failed)
			assert_int_equal(out.len, strlen(whole));
		text_free(&out);
		assert_int_equal(allocated, before);
	}
	assert_true(n > 1);
	free(whole);
}

static void without_memory_an_answer_fails_whole(void **state)
{
	(void)state;
	begin_failures();
	add_failure(FAILURES_OF_SESSIONS, 1, "web", "a");
	server_updates_set_health(&hand.updates, server_at(0, 0), false, "Layer4 timeout");
	updates_by_hand_turn(&hand, clock_mono_ns());
	assert_fails_without_memory("show errors");
	assert_fails_without_memory("why web");
	assert_fails_without_memory("explain listener=in client=192.0.2.7");
	end_failures();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_server_is_down_for_a_reason),
		TEST(an_administrator_is_reminded_of_the_way_back),
		TEST(a_backend_without_servers_serves_nobody),
		TEST(load_and_failing_connects_are_named),
		TEST(an_unknown_name_is_refused),
		TEST(failures_of_all_rings_are_in_order),
		TEST(an_answer_has_a_bound),
		TEST(without_memory_an_answer_fails_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

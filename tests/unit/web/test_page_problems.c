/* SPDX-License-Identifier: MIT
 *
 * test_page_problems.c - the top of the page: what is wrong, whose doing the ends of sessions are, and what
 * fills up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/account/blame.h"
#include "page_text.h"
#include "sample_facts.h"
#include "web/page_blame.h"
#include "web/page_fills.h"
#include "web/page_problems.h"

static struct page_survey survey;
static struct page_problems problems;

static void find(const struct page_facts *facts)
{
	page_survey_take(&survey, facts);
	page_problems_find(&problems, &survey);
}

static const struct page_problem *problem_of(const char *state, const char *name)
{
	for (unsigned i = 0; i < problems.count; i++) {
		const struct page_problem *p = &problems.list[i];

		if (strcmp(p->state, state) == 0 &&
		    (strcmp(p->what, name) == 0 || strcmp(p->names[0].name, name) == 0))
			return p;
	}
	fail_msg("no problem '%s' of '%s'", state, name);
	return NULL;
}

static bool has_state(const char *state)
{
	for (unsigned i = 0; i < problems.count; i++)
		if (strcmp(problems.list[i].state, state) == 0)
			return true;
	return false;
}

/* ---- what is wrong ---- */

static void without_a_problem_there_is_one_line(void **state)
{
	struct sample s = {.mood = SAMPLE_CALM, .backends = 3, .servers = 8, .suffix = ""};
	const struct page_facts facts = sample_facts(&s);

	(void)state;
	find(&facts);
	assert_int_equal(problems.count, 0);
	render(&facts);
	assert_int_equal(count_of("<tr data-key=\"problem:"), 1);
	assert_has(
		"<tr data-key=\"problem:none\"><td class=\"what\"><b class=\"state good\">No problems</b>");
	assert_has("<title>weir on edge1</title>");
}

static void servers_of_a_backend_share_a_line(void **state)
{
	struct sample s = {.backends = 2, .servers = 30, .suffix = ""};
	const struct page_facts facts = sample_facts(&s);
	const struct page_problem *p;

	(void)state;
	find(&facts);
	assert_int_equal(problems.count, 4);
	assert_int_equal(problems.bad, 2);
	p = problem_of("DOWN", "web2");
	assert_int_equal(p->count, 4); /* 2, 9, 16 and 23 */
	assert_int_equal(p->of, 30);
	render(&facts);
	assert_has("<title>(2) weir on edge1</title>");
	assert_has("app1: <a href=\"?backend=app1&amp;server=web2\">web2</a>, <a "
		   "href=\"?backend=app1&amp;server=web9"
		   "\">web9</a>, ");
	assert_has("<td class=\"text\">health check failed: connection refused</td>");
	/* The worst first. */
	assert_true(strstr(page.bytes, "<tr data-key=\"problem:4:DOWN:app1/web2\"") <
		    strstr(page.bytes, "<tr data-key=\"problem:4:DRAIN:app0/web5\""));
}

static void servers_of_many_backends_share_a_line(void **state)
{
	struct sample s = {.backends = 40, .servers = 30, .suffix = ""};
	const struct page_facts facts = sample_facts(&s);

	(void)state;
	find(&facts);
	assert_int_equal(problems.count, 2);
	assert_int_equal(problems.more, 0);
	assert_int_equal(problem_of("DOWN", "web2")->count, 40 * 4);
	assert_int_equal(problem_of("DOWN", "web2")->backends, 40);
	assert_int_equal(problem_of("DOWN", "web2")->of, 40 * 30);
	assert_int_equal(problem_of("DRAIN", "web5")->count, 40 * 4);
	render(&facts);
	assert_has("<a href=\"?backend=app0&amp;server=web2\">app0/web2</a>");
	assert_has(" and 157 more <small>160 of 1200 servers in 40 backends</small>");
}

static void a_server_has_since_when_and_why(void **state)
{
	struct sample s = {.backends = 1, .servers = 3, .suffix = ""};
	const struct page_facts facts = sample_facts(&s);

	(void)state;
	render(&facts);
	assert_has(
		"<tr data-key=\"problem:4:DOWN:app0/web2\"><td class=\"what\"><b class=\"state bad\">DOWN</b>"
		"</td><th scope=\"row\"><a href=\"?backend=app0&amp;server=web2\">app0/web2</a> <small>1 "
		"of 3 servers</small></th><td class=\"since\">1 h 23 min</td><td class=\"text\">health check "
		"failed: connection refused</td></tr>");
}

static void trouble_is_found_everywhere(void **state)
{
	struct sample s = {.mood = SAMPLE_TROUBLED, .backends = 3, .servers = 8, .suffix = ""};
	struct page_facts facts = sample_facts(&s);

	(void)state;
	facts.is_ready = false;
	facts.state = "draining";
	facts.sessions = facts.maxconn;
	find(&facts);
	assert_int_equal(problem_of("NO SERVER", "app2")->tone, PAGE_BAD);
	assert_int_equal(problem_of("draining", "weir")->tone, PAGE_WARN);
	assert_string_equal(problem_of("QUEUE", "app1")->why,
			    "45 of 50 clients wait for a server; at maxqueue, others are refused");
	assert_int_equal(problem_of("REFUSED", "the last reload")->newest_s, 1000);
	assert_non_null(strstr(problem_of("ON TRIAL", "the configuration")->why, " in 95 s"));
	assert_int_equal(problem_of("LOST", "log lines")->newest_s, 15);
	assert_int_equal(problem_of("PAUSED", "all frontends")->tone, PAGE_BAD);
	assert_string_equal(problem_of("FAILURES", "Server")->why,
			    "911 of 2951 sessions in the last minute, mainly: server refused the connection");
	assert_non_null(strstr(problem_of("FAILURES", "Our resources")->why, "out of descriptors"));
	assert_int_equal(problem_of("FULL", "Sessions")->tone, PAGE_BAD);
	assert_int_equal(problem_of("FULL", "Splice pipes")->tone, PAGE_WARN);
	assert_int_equal(problem_of("97 % FULL", "Descriptors")->tone, PAGE_BAD);
	assert_int_equal(problem_of("89 % FULL", "Local ports")->tone, PAGE_WARN);
	assert_int_equal(problem_of("88 % FULL", "CPU time")->tone, PAGE_WARN);
	assert_int_equal(problem_of("CHECK FAILS", "web3")->tone, PAGE_WARN);
	render(&facts);
	assert_has("<th scope=\"row\">backend app2</th>");
	assert_has("<th scope=\"row\">Local ports of app0/web0</th>");
}

/* Each name has a problem of its own: the bad ones stay, and what has no room is counted. */
static void report_many(void *from, page_row_report *report, void *to)
{
	const unsigned *count = from;
	struct page_row row = {.kind = PAGE_FRONTEND, .since_s = -1, .state = "PAUSED", .tone = PAGE_OFF};
	char reason[16];

	for (size_t i = 0; i < PAGE_COLUMNS; i++)
		row.values[i] = PAGE_NO_VALUE;
	row.reason = reason;
	for (unsigned i = 0; i < *count; i++) {
		row.name = reason;
		(void)snprintf(reason, sizeof(reason), "f%u", i);
		row.tone = i < *count / 2 ? PAGE_OFF : PAGE_BAD;
		report(to, &row);
	}
}

static void what_has_no_room_is_counted(void **state)
{
	struct sample s = {.mood = SAMPLE_CALM, .suffix = ""};
	struct page_facts facts = sample_facts(&s);
	unsigned count = 2 * PAGE_PROBLEMS_MAX;

	(void)state;
	facts.source = (struct page_source){report_many, facts.source.figures, &count};
	page_survey_take(&survey, &facts);
	page_problems_find(&problems, &survey);
	assert_int_equal(problems.count, PAGE_PROBLEMS_MAX);
	assert_int_equal(problems.bad, PAGE_PROBLEMS_MAX);
	assert_int_equal(problems.more, PAGE_PROBLEMS_MAX);
}

/* ---- queues ---- */

static void a_queue_counts_from_half_of_its_limit(void **state)
{
	static const struct {
		uint64_t any, of_server, limit;
		bool is_problem;
	} cases[] = {
		{24, 0, 50, false},		  {25, 0, 50, true},	       {20, 5, 50, true},
		{9, 0, PAGE_NO_VALUE, false}, {9, 1, PAGE_NO_VALUE, true}, {0, 0, 50, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct sample s = {.mood = SAMPLE_CALM, .backends = 1, .servers = 2, .suffix = ""};
		struct page_facts facts = sample_facts(&s);

		s.queue_any = cases[i].any;
		s.queue_of_server = cases[i].of_server;
		s.queue_limit = cases[i].limit;
		find(&facts);
		assert_int_equal(has_state("QUEUE"), cases[i].is_problem);
	}
}

/* ---- whose doing ---- */

/* Sums the cells data-v behind `column` cells of each party's row, up to the row of all. */
static void assert_adds_up(const struct page_ends *ends)
{
	uint64_t minute = 0, total = 0;
	char row[256];

	for (int i = 0; i < CLOSE_REASONS; i++) {
		minute += ends->minute[i];
		total += ends->total[i];
	}
	(void)snprintf(row, sizeof(row),
		       "<tr data-key=\"blame:all\" class=\"backend\"><th scope=\"row\">All</th>"
		       "<td class=\"\" data-v=\"%llu\">",
		       (unsigned long long)minute);
	assert_has(row);
	(void)snprintf(row, sizeof(row), "<td class=\"share\"></td><td class=\"\" data-v=\"%llu\">",
		       (unsigned long long)total);
	assert_has(row);
}

static void put_blame(const struct page_ends *ends)
{
	text_free(&page);
	page_blame_put(ends, &page);
	assert_false(page.failed);
}

static void the_verdict_names_who_is_to_blame(void **state)
{
	struct page_ends ends = {0};

	(void)state;
	put_blame(&ends);
	assert_has("No session ended in the last minute.");
	ends.total[CLOSE_NORMAL] = ends.minute[CLOSE_NORMAL] = 1;
	put_blame(&ends);
	assert_has("Last minute: 1 session ended, <b class=\"state good\">none by a fault</b>.");
	ends.minute[CLOSE_KILLED] = 50; /* an operator is no fault */
	put_blame(&ends);
	assert_has("none by a fault");
	ends.minute[CLOSE_NORMAL] = 150;
	ends.minute[CLOSE_CONNECT_TIMEOUT] = 30;
	ends.minute[CLOSE_CLIENT_RESET] = 20;
	put_blame(&ends);
	assert_has("Last minute: 250 sessions ended, 50 (20 %) by a fault, mainly by "
		   "<b class=\"state bad\">Network</b> (timeout-connect).");
	assert_adds_up(&ends);
	ends.minute[CLOSE_NORMAL] = 100000;
	ends.total[CLOSE_CLIENT_RESET] = 20;
	put_blame(&ends);
	assert_has("100100 sessions ended, 50 (&lt; 1 %) by a fault");
	assert_has("<span>&lt; 1 %</span>");
	assert_has("<span>99 %</span>"); /* 100 % is all */
}

static void only_parties_with_ends_have_a_row(void **state)
{
	struct page_ends ends = {0};

	(void)state;
	put_blame(&ends);
	assert_int_equal(count_of("<tr data-key=\"blame:"), 2);
	ends.total[CLOSE_CLIENT_RESET] = 1;
	ends.slowed[LIMITED_NETWORK] = 1;
	put_blame(&ends);
	assert_int_equal(count_of("<td class=\"slow\" data-v=\"0\">&ndash;</td>"), 1); /* of the client */
	assert_int_equal(count_of("<tr data-key=\"blame:"), 4);
	assert_has("earlier: client reset the connection 1</td>");
}

/* Without a health check, no state says that a server refuses everybody. */
static void many_failures_of_a_minute_are_a_problem(void **state)
{
	struct sample s = {.mood = SAMPLE_CALM, .suffix = ""};
	struct page_facts facts = sample_facts(&s);
	struct page_ends ends = {.minute = {[CLOSE_NORMAL] = 91, [CLOSE_CONNECT_REFUSED] = 9}};

	(void)state;
	facts.ends = &ends;
	find(&facts);
	assert_int_equal(problems.count, 0);
	ends.minute[CLOSE_CONNECT_REFUSED] = 10;
	find(&facts);
	assert_int_equal(problem_of("FAILURES", "Server")->tone, PAGE_BAD);
	ends.minute[CLOSE_NORMAL] = 1000;
	ends.minute[CLOSE_CLIENT_RESET] = 500;
	find(&facts);
	assert_int_equal(problems.count, 0);
	ends.minute[CLOSE_NO_RESOURCE] = 1;
	find(&facts);
	assert_int_equal(problem_of("FAILURES", "Our resources")->tone, PAGE_BAD);
}

static void the_rows_add_up_and_name_reasons(void **state)
{
	struct page_ends ends = {0};
	char reasons[128];

	(void)state;
	for (int i = 0; i < CLOSE_REASONS; i++) {
		ends.total[i] = (uint64_t)i * 1000 + 1;
		ends.minute[i] = (uint64_t)i;
	}
	ends.slowed[LIMITED_SERVER] = 71;
	ends.slowed_minute[LIMITED_SERVER] = 17;
	put_blame(&ends);
	assert_adds_up(&ends);
	assert_int_equal(count_of("<tr data-key=\"blame:"), BLAMES + 1);
	assert_has(" Slowed down: 17 by the server.</p>");
	(void)snprintf(reasons, sizeof(reasons),
		       "internal error %d; the kernel dropped completions of io_uring %d; others %d</td>",
		       CLOSE_INTERNAL, CLOSE_RING_LOST, CLOSE_NO_RESOURCE + CLOSE_NO_SOCKET);
	assert_has(reasons);
	assert_has("<td class=\"slow\" data-v=\"17\">17 <small>of 71</small></td>");
	memset(ends.minute, 0, sizeof(ends.minute));
	put_blame(&ends);
	(void)snprintf(reasons, sizeof(reasons), "earlier: internal error %d001</td>", CLOSE_INTERNAL);
	assert_has(reasons);
}

/* ---- what fills up ---- */

static void a_bar_has_its_number_and_its_limit(void **state)
{
	struct sample s = {.backends = 1, .servers = 2, .suffix = ""};
	struct page_facts facts = sample_facts(&s);
	struct page_fill f;

	(void)state;
	render(&facts);
	assert_has("<tr data-key=\"fill:sessions\"");
	assert_has("<rect width=\"7\" height=\"8\"></rect></svg></td><td class=\"good\" data-v=\"7\">7 %</td>"
		   "<td class=\"of\">1234 <small>of 20000</small></td>");
	assert_has("120 MiB <small>of 512 MiB</small>");
	assert_int_equal(count_of("<svg class=\"bar "), count_of("height=\"8\"></rect></svg>"));
	facts.sessions = 1;
	render(&facts);
	assert_has("data-v=\"1\">&lt; 1 %</td><td class=\"of\">1 <small>of 20000</small>");
	facts.sessions = 200;
	render(&facts);
	assert_has("data-v=\"1\">1 %</td><td class=\"of\">200 <small>of 20000</small>");
	facts.sessions = 0;
	page_survey_take(&survey, &facts);
	assert_true(page_fill_get(&survey, PAGE_FILL_sessions, &f));
	assert_int_equal(f.percent, 0);
	facts.sessions = 19999;
	assert_true(page_fill_get(&survey, PAGE_FILL_sessions, &f));
	assert_int_equal(f.percent, 99); /* only what is full is at 100 */
	facts.sessions = 20001;
	assert_true(page_fill_get(&survey, PAGE_FILL_sessions, &f));
	assert_int_equal(f.percent, 100);
	survey.figures[PAGE_FIGURE_memory_limit_bytes] = PAGE_NO_VALUE;
	assert_false(page_fill_get(&survey, PAGE_FILL_memory, &f));
	survey.figures[PAGE_FIGURE_limit_pipes] = 0;
	assert_false(page_fill_get(&survey, PAGE_FILL_pipes, &f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_problem_there_is_one_line),
		cmocka_unit_test(servers_of_a_backend_share_a_line),
		cmocka_unit_test(servers_of_many_backends_share_a_line),
		cmocka_unit_test(a_server_has_since_when_and_why),
		cmocka_unit_test(trouble_is_found_everywhere),
		cmocka_unit_test(what_has_no_room_is_counted),
		cmocka_unit_test(a_queue_counts_from_half_of_its_limit),
		cmocka_unit_test(the_verdict_names_who_is_to_blame),
		cmocka_unit_test(only_parties_with_ends_have_a_row),
		cmocka_unit_test(many_failures_of_a_minute_are_a_problem),
		cmocka_unit_test(the_rows_add_up_and_name_reasons),
		cmocka_unit_test(a_bar_has_its_number_and_its_limit),
	};

	text_init(&page);
	return cmocka_run_group_tests(tests, NULL, teardown);
}

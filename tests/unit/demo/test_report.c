/* SPDX-License-Identifier: MIT
 *
 * test_report.c - what a demo has measured, and whether that is well.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "demo/report.h"

static void fill(struct report *r)
{
	memset(r, 0, sizeof(*r));
	r->seconds = 10;
	r->connections = 98214;
	r->requests = 1234567;
	r->bytes = 4000;
	r->bytes_spliced = 3000;
	r->retries = 41;
	r->reloads = 1;
	r->reloads_refused = 2;
	r->rollbacks = 3;
	r->slowest_ns = 12000000;
	for (size_t i = 0; i < PLAN_SERVERS; i++) {
		r->servers[i].start_count = 1;
		r->servers[i].starts[0] = 100;
	}
	r->servers[1].start_count = 2;
	r->servers[1].starts[1] = 50;
}

static void report_is_well_only_without_any_error(void **state)
{
	struct report r;

	(void)state;
	fill(&r);
	assert_true(report_ok(&r));
	r.client_errors = 1;
	assert_false(report_ok(&r));
	fill(&r);
	r.servers[2].errors = 1;
	assert_false(report_ok(&r));
	fill(&r);
	r.daemon_exit = 137;
	assert_false(report_ok(&r));
	fill(&r);
	r.sessions_left = 1;
	assert_false(report_ok(&r));
	fill(&r);
	r.broken = true;
	assert_false(report_ok(&r));
	fill(&r);
	r.connections = 0;
	assert_false(report_ok(&r));
	r.interrupted = true;
	assert_true(report_ok(&r));
}

/* Freed by the caller. */
static char *print(const struct report *r, bool json)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	if (json)
		report_json(r, out);
	else
		report_text(r, "<", "!", ">", out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void report_is_one_json_object(void **state)
{
	struct report r;
	char *text;

	(void)state;
	fill(&r);
	report_why(&r, "a \"%s\"\n", "word");
	text = print(&r, true);
	assert_string_equal(
	    text, "{\"seconds\":10.0,\"connections\":98214,\"requests\":1234567,\"bytes\":4000,"
		  "\"bytes_spliced\":3000,\"spliced_share\":0.750,\"retries\":41,"
		  "\"reloads\":1,\"reloads_refused\":2,\"rollbacks\":3,\"slowest_ms\":12.0,"
		  "\"client_errors\":0,\"servers\":["
		  "{\"name\":\"b1\",\"connections\":100,\"starts\":[100],\"errors\":0},"
		  "{\"name\":\"b2\",\"connections\":150,\"starts\":[100,50],\"errors\":0},"
		  "{\"name\":\"b3\",\"connections\":100,\"starts\":[100],\"errors\":0},"
		  "{\"name\":\"b4\",\"connections\":100,\"starts\":[100],\"errors\":0}],"
		  "\"sessions_left\":0,\"daemon_exit\":0,\"interrupted\":false,"
		  "\"why\":\"a \\\"word\\\"\",\"ok\":true}\n");
	free(text);
}

static void report_tells_people_what_failed(void **state)
{
	struct report r;
	char *text;

	(void)state;
	fill(&r);
	text = print(&r, false);
	assert_non_null(strstr(text, "98 214 connections"));
	assert_non_null(strstr(text, "75.0 % spliced   retries 41"));
	assert_non_null(strstr(text, "<client errors 0>"));
	assert_null(strstr(text, "failed"));
	free(text);
	r.client_errors = 2;
	r.sessions_left = 3;
	report_why(&r, "first");
	report_why(&r, "second");
	text = print(&r, false);
	assert_non_null(strstr(text, "!client errors 2>"));
	assert_non_null(strstr(text, "still had 3 sessions"));
	assert_non_null(strstr(text, "!failed>    first\n"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(report_is_well_only_without_any_error),
	    cmocka_unit_test(report_is_one_json_object),
	    cmocka_unit_test(report_tells_people_what_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

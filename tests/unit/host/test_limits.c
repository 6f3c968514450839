/* SPDX-License-Identifier: MIT
 *
 * test_limits.c - the plan of descriptors and pipes, as a table.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/engine/source_wait.h"
#include "weir/host/limits.h"

#define KIB 1024u

struct row {
	const char *name;
	uint64_t fds;
	bool privileged;
	uint64_t user_pages;
	uint64_t pipe_max;
	unsigned maxconn;
	int maxpipes;
	uint32_t pipe_bytes;
	bool splice;
	int want_err;
	unsigned want_maxconn; /* what would fit, when want_err */
	unsigned want_maxpipes;
	uint32_t want_pipe_bytes;
};

/* One worker and one endpoint each: 36 descriptors are not for sessions. */
static const struct row rows[] = {
	{"root gets a pipe for each fourth session", 20000, true, 16384, 1048576, 0, -1, 256 * KIB, true, 0,
	 7900, 1975, 256 * KIB},
	{"a user's pages bound the pipes", 20000, false, 16384, 1048576, 0, -1, 256 * KIB, true, 0, 9000, 960,
	 256 * KIB},
	{"no soft limit of pages bounds nothing", 20000, false, 0, 1048576, 0, -1, 256 * KIB, true, 0, 7900,
	 1975, 256 * KIB},
	{"pipe-max-size makes a user's pipes smaller", 20000, false, 0, 131072, 0, -1, 256 * KIB, true, 0,
	 7900, 1975, 128 * KIB},
	{"an odd pipe-max-size is rounded down", 20000, false, 0, 200000, 0, -1, 1024 * KIB, true, 0, 7900,
	 1975, 128 * KIB},
	{"pipe-max-size does not bind root", 20000, true, 0, 131072, 0, -1, 1024 * KIB, true, 0, 7900, 1975,
	 1024 * KIB},
	{"pipes below 16 slots are none", 20000, false, 0, 32768, 0, -1, 256 * KIB, true, 0, 9900, 0,
	 256 * KIB},
	{"without splice all is for sessions", 20000, true, 0, 1048576, 0, -1, 256 * KIB, false, 0, 9900, 0,
	 256 * KIB},
	{"splice off beats maxpipes", 20000, true, 0, 1048576, 0, 500, 256 * KIB, false, 0, 9900, 0,
	 256 * KIB},
	{"maxpipes leaves the rest to sessions", 20000, true, 0, 1048576, 0, 500, 256 * KIB, true, 0, 9400,
	 500, 256 * KIB},
	{"maxpipes 0 is no pipes", 20000, true, 0, 1048576, 0, 0, 256 * KIB, true, 0, 9900, 0, 256 * KIB},
	{"maxconn as configured", 20000, true, 0, 1048576, 1000, -1, 256 * KIB, true, 0, 1000, 250,
	 256 * KIB},
	{"maxconn below 4 has a pipe", 20000, true, 0, 1048576, 2, -1, 256 * KIB, true, 0, 2, 1, 256 * KIB},
	{"pipes give way to maxconn", 20000, true, 0, 1048576, 9900, -1, 256 * KIB, true, 0, 9900, 81,
	 256 * KIB},
	{"maxconn to the last descriptor", 1037, true, 0, 1048576, 500, -1, 256 * KIB, true, 0, 500, 0,
	 256 * KIB},
	{"one too many", 1037, true, 0, 1048576, 501, -1, 256 * KIB, true, -EMFILE, 400, 0, 0},
	{"maxconn does not fit", 1024, true, 0, 1048576, 50000, -1, 256 * KIB, true, -EMFILE, 390, 0, 0},
	{"maxconn and maxpipes do not fit", 1024, true, 0, 1048576, 450, 100, 256 * KIB, true, -EMFILE, 390,
	 0, 0},
	{"maxpipes alone does not fit", 1024, true, 0, 1048576, 0, 5000, 256 * KIB, true, -EMFILE, 0, 0, 0},
	{"nothing fits", 37, true, 0, 1048576, 0, -1, 256 * KIB, true, -EMFILE, 0, 0, 0},
	{"one descriptor is no session", 38, true, 0, 1048576, 0, -1, 256 * KIB, true, -EMFILE, 0, 0, 0},
	{"two are one without a pipe", 39, true, 0, 1048576, 0, -1, 256 * KIB, true, 0, 1, 0, 256 * KIB},
	{"four are one with a pipe", 41, true, 0, 1048576, 0, -1, 256 * KIB, true, 0, 1, 1, 256 * KIB},
	{"a thousand million are a million", 1000000000, true, 0, 1048576, 0, -1, 256 * KIB, true, 0, 410000,
	 102500, 256 * KIB},
	{"unlimited fits what is asked for", UINT64_MAX, true, 0, 1048576, 2000000, -1, 256 * KIB, true, 0,
	 2000000, 500000, 256 * KIB},
};

static void plan_row(const struct row *r, struct limits_facts *facts, struct limits_plan *plan)
{
	struct limits_wish wish = {
		.maxconn = r->maxconn,
		.maxpipes = r->maxpipes,
		.pipe_bytes = r->pipe_bytes,
		.splice = r->splice,
		.endpoints = 1,
		.workers = 1,
	};

	memset(facts, 0, sizeof(*facts));
	facts->fds = r->fds;
	facts->pipes_privileged = r->privileged;
	facts->pipe_user_pages = r->user_pages;
	facts->pipe_max_bytes = r->pipe_max;
	facts->page_bytes = 4096;
	facts->memory_bytes = UINT64_C(8) << 30;
	print_message("%s\n", r->name);
	assert_int_equal(limits_plan(facts, &wish, plan), r->want_err);
}

static void plan_follows_the_table(void **state)
{
	struct limits_facts facts;
	struct limits_plan plan;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];

		plan_row(r, &facts, &plan);
		if (r->want_err) {
			assert_int_equal(plan.maxconn_fitting, r->want_maxconn);
			continue;
		}
		assert_int_equal(plan.engine.maxconn, r->want_maxconn);
		assert_int_equal(plan.engine.maxpipes, r->want_maxpipes);
		assert_int_equal(plan.engine.pipe_bytes, r->want_pipe_bytes);
		assert_true(2 * ((uint64_t)plan.engine.maxconn + plan.engine.maxpipes) + 37 <= r->fds);
	}
}

/* A pipe has 16 slots of a page each at least, so a user's pages make as many pipes whatever a page is. */
static void pages_of_64k_make_larger_pipes_and_no_fewer(void **state)
{
	struct limits_wish wish = {.maxpipes = -1, .pipe_bytes = 256 * KIB, .splice = true, .endpoints = 1,
				   .workers = 1};
	struct limits_facts facts = {.fds = 20000, .pipe_user_pages = 16384, .pipe_max_bytes = 1048576,
				     .page_bytes = 65536};
	struct limits_plan plan;

	(void)state;
	assert_int_equal(limits_plan(&facts, &wish, &plan), 0);
	assert_int_equal(plan.engine.pipe_bytes, 1024 * KIB);
	assert_int_equal(plan.engine.maxpipes, 960);
	facts.pipe_max_bytes = 524288; /* 8 slots */
	assert_int_equal(limits_plan(&facts, &wish, &plan), 0);
	assert_int_equal(plan.engine.maxpipes, 0);
}

static void checks_keep_a_descriptor_each(void **state)
{
	struct limits_wish wish = {
		.maxpipes = 0, .pipe_bytes = 256 * KIB, .splice = true, .endpoints = 1, .workers = 1};
	struct config_server servers[3] = {{.check = true}, {.check = false}, {.check = true}};
	struct config_backend backends[2] = {{.servers = servers, .server_count = 3},
					     {.servers = servers, .server_count = 2}};
	const struct config c = {.backends = backends, .backend_count = 2};
	struct limits_facts facts = {.fds = 237, .pipes_privileged = true, .pipe_max_bytes = 1048576,
				     .page_bytes = 4096};
	struct limits_plan plan;

	(void)state;
	backends[0].check.kind = CONFIG_CHECK_TCP;
	assert_int_equal(limits_count_probes(&c), 2);
	assert_int_equal(limits_plan(&facts, &wish, &plan), 0);
	assert_int_equal(plan.engine.maxconn, 100);
	wish.probes = 40;
	assert_int_equal(limits_plan(&facts, &wish, &plan), 0);
	assert_int_equal(plan.engine.maxconn, 80);
}

static void clients_that_are_held_keep_a_descriptor_each(void **state)
{
	struct limits_wish wish = {
		.maxpipes = 0, .pipe_bytes = 256 * KIB, .splice = true, .endpoints = 1, .workers = 1};
	struct config_frontend frontends[2] = {{.maxconn_per_source = 0}, {.maxconn_per_source = 5}};
	const struct config without = {.frontends = frontends, .frontend_count = 1};
	const struct config with = {.frontends = frontends, .frontend_count = 2};
	struct limits_facts facts = {.fds = 237, .pipes_privileged = true, .pipe_max_bytes = 1048576,
				     .page_bytes = 4096};
	struct limits_plan plan;

	(void)state;
	assert_int_equal(limits_count_held(&without, 4), 0);
	assert_int_equal(limits_count_held(&with, 4), 4 * SOURCE_WAITS_MAX);
	wish.held = 40;
	assert_int_equal(limits_plan(&facts, &wish, &plan), 0);
	assert_int_equal(plan.engine.maxconn, 80);
}

static void name_resolver_keeps_its_sockets(void **state)
{
	struct config_server servers[2] = {{.addr = {.kind = ADDR_IP}}, {.addr = {.kind = ADDR_NAME}}};
	struct config_backend backend = {.servers = servers, .server_count = 1};
	const struct config c = {.backends = &backend, .backend_count = 1};

	(void)state;
	assert_int_equal(limits_wish_of(&c, 1, 1).names, 0);
	backend.server_count = 2;
	assert_int_equal(limits_wish_of(&c, 1, 1).names, LIMITS_FDS_NAMES);
}

static void what_is_said_to_fit_fits(void **state)
{
	struct limits_facts facts;
	struct limits_plan plan;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct row again = rows[i];

		if (again.want_err == 0 || again.want_maxconn == 0)
			continue;
		again.maxconn = again.want_maxconn;
		again.want_err = 0;
		plan_row(&again, &facts, &plan);
		assert_int_equal(plan.engine.maxconn, again.want_maxconn);
	}
}

static void budgets_are_bounded(void **state)
{
	struct limits_facts facts;
	struct limits_plan plan;
	struct row r = rows[1];

	(void)state;
	plan_row(&r, &facts, &plan);
	assert_int_equal(plan.engine.pipe_budget_bytes, UINT64_C(15360) * 4096);
	assert_int_equal(plan.engine.buf_budget_bytes, UINT64_C(9000) * 2 * 65536);
	r = rows[0];
	r.maxconn = 7000;
	plan_row(&r, &facts, &plan);
	assert_true(plan.engine.pipe_budget_bytes == UINT64_MAX);
	r.fds = 1000000000;
	r.maxconn = 1000000;
	plan_row(&r, &facts, &plan);
	assert_int_equal(plan.engine.buf_budget_bytes, UINT64_C(2) << 30);
}

/* Whoever has more than its control group allows is killed. */
static void a_control_group_bounds_all_that_is_automatic(void **state)
{
	static const struct row {
		uint64_t mib;
		unsigned maxconn, maxpipes;
		uint64_t bufs_mib;
	} groups[] = {
		{64, 1900, 128, 32},   {256, 8000, 512, 128},       {1, 100, 2, 0},
		{8, 120, 16, 4},       {1024, 32000, 2048, 512},    {8 << 10, 260000, 16384, 4096},
		{64 << 10, 390000, 97500, 2048}, /* more than there is: no limit */
	};
	struct limits_wish wish = {.maxpipes = -1, .pipe_bytes = 256 * KIB, .splice = true, .endpoints = 1,
				   .workers = 1};
	struct limits_facts facts = {.fds = 1000000, .pipes_privileged = true, .pipe_max_bytes = 1048576,
				     .page_bytes = 4096, .memory_bytes = UINT64_C(8) << 30,
				     .group_file = "memory.max of /x"};
	struct limits_plan plan;
	char line[1024];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
		facts.group_bytes = groups[i].mib << 20;
		assert_int_equal(limits_plan(&facts, &wish, &plan), 0);
		print_message("%llu MiB: %u %u\n", (unsigned long long)groups[i].mib, plan.engine.maxconn,
			      plan.engine.maxpipes);
		assert_int_equal(plan.engine.maxconn, groups[i].maxconn);
		assert_int_equal(plan.engine.maxpipes, groups[i].maxpipes);
		assert_int_equal(plan.engine.buf_budget_bytes >> 20, groups[i].bufs_mib);
		(void)limits_describe(&facts, &plan, line, sizeof(line));
		assert_int_equal(strstr(line, " MiB of memory (memory.max of /x)") != NULL,
				 facts.group_bytes <= facts.memory_bytes);
	}
	facts.group_bytes = UINT64_C(64) << 20;
	wish.maxconn = 50000; /* what is asked for is had, and doctor warns */
	assert_int_equal(limits_plan(&facts, &wish, &plan), 0);
	assert_int_equal(plan.engine.maxconn, 50000);
	assert_int_equal(plan.engine.maxpipes, 128);
	assert_string_equal(plan.pipes_why, "by the memory of the control group");
}

static void line_names_the_numbers(void **state)
{
	struct limits_facts facts;
	struct limits_plan plan;
	char line[512];

	(void)state;
	plan_row(&rows[0], &facts, &plan);
	(void)limits_describe(&facts, &plan, line, sizeof(line));
	assert_non_null(strstr(line, "limits: 20000 descriptors: maxconn 7900, maxpipes 1975 of 256 KiB ("));
}

static void this_process_has_limits(void **state)
{
	struct limits_facts facts;

	(void)state;
	assert_int_equal(limits_raise_fds(), 0);
	limits_read(&facts);
	assert_true(facts.fds > 0);
	assert_true(facts.page_bytes >= 4096);
	assert_true(facts.pipe_max_bytes > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plan_follows_the_table),
		cmocka_unit_test(pages_of_64k_make_larger_pipes_and_no_fewer),
		cmocka_unit_test(checks_keep_a_descriptor_each),
		cmocka_unit_test(clients_that_are_held_keep_a_descriptor_each),
		cmocka_unit_test(name_resolver_keeps_its_sockets),
		cmocka_unit_test(what_is_said_to_fit_fits),
		cmocka_unit_test(budgets_are_bounded),
		cmocka_unit_test(a_control_group_bounds_all_that_is_automatic),
		cmocka_unit_test(line_names_the_numbers),
		cmocka_unit_test(this_process_has_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * test_page_show.c - the page of a daemon: each frontend, backend and server with its state and its numbers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../base/alloc_fail.h"
#include "../engine/objects_by_hand.h"
#include "weir/balance/change_log.h"
#include "weir/base/clock.h"
#include "web/page_show.h"

static struct config_server server_configs[] = {
	{.name = "a", .weight = 5, .addr.kind = ADDR_IP},
	{.name = "b", .weight = 1, .addr.kind = ADDR_NAME},
	{.name = "c", .weight = 2, .addr.kind = ADDR_NAME}};
static struct config_backend backend_configs[] = {
	{.name = "app", .servers = server_configs, .server_count = 2, .maxqueue = 10},
	{.name = "db", .servers = server_configs + 2, .server_count = 1},
};
static struct config_frontend frontend_configs[] = {
	{.name = "in", .backend = 0, .maxconn = 50},
};
static struct config config = {
	.frontends = frontend_configs, .frontend_count = 1, .backends = backend_configs, .backend_count = 2};
#define SUMS 6 /* one frontend, two backends, three servers */

static struct engine engine;
static struct chunks sums; /* struct tally_sum */
static struct probe_view probe;
static struct web_context ctx;
static struct objects all;
static struct page_wish wish;
static struct text page;

static void publish(void *from, figure_report *report, void *to)
{
	static const struct figure row = {"log_dropped", FIGURE_TOTAL, "lines that were dropped"};

	(void)from;
	report(to, &row, 4242);
}

static const struct figure_source source = {publish, NULL};
static const char *reason_not_ready;

static const char *why_not_ready(void *arg)
{
	(void)arg;
	return reason_not_ready;
}

static struct tally_sum *sum_of(uint32_t slot)
{
	return chunks_at(&sums, slot);
}

static void make_server_up(struct server *s)
{
	atomic_store(&s->state, SERVER_UP);
	atomic_store(&s->eweight, s->weight * SERVER_WEIGHT_SCALE);
	atomic_store(&s->in_roster, true);
}

static int setup(void **state)
{
	struct addr *address = &server_configs[0].addr.addr;

	(void)state;
	chunks_init(&sums, sizeof(struct tally_sum));
	for (uint32_t i = 0; i < SUMS; i++)
		assert_int_equal(chunks_reserve(&sums, i), 0);
	address->len = sizeof(address->in);
	address->in.sin_family = AF_INET;
	address->in.sin_port = htons(8080);
	address->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	objects_by_hand(&engine, &config);
	assert_int_equal(slot_space_peak(&engine.live.objects), SUMS);
	make_server_up(engine.backends[0]->servers[0]);
	make_server_up(engine.backends[0]->servers[1]);
	make_server_up(engine.backends[1]->servers[0]);
	engine.backends[0]->usable = 2;
	engine.backends[1]->usable = 1;
	memset(&probe, 0, sizeof(probe));
	reason_not_ready = NULL;
	ctx = (struct web_context){.engine = &engine, .driver = "epoll", .started_ns = 1000 * NS_PER_SEC,
				   .figures = &source, .figure_count = 1,
				   .sources = {.why_not_ready = why_not_ready}};
	all = (struct objects){.ctx = &ctx, .sums = &sums, .now_ns = 1100 * NS_PER_SEC,
			       .wall_ns = INT64_C(1795450000) * NS_PER_SEC};
	wish = (struct page_wish){0};
	text_init(&page);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	text_free(&page);
	objects_by_hand_free(&engine);
	chunks_free(&sums);
	return allocated == 0 ? 0 : -1;
}

static void show_one(bool exists)
{
	text_free(&page);
	assert_int_equal(page_show(&all, &wish, &page), exists);
	assert_false(page.failed);
}

static void show(void)
{
	show_one(true);
}

/* The row with this key, NUL-terminated; valid until the next one. */
static const char *row_of(const char *key)
{
	static char row[8192];
	char begin[128];
	const char *at, *end;

	(void)snprintf(begin, sizeof(begin), "<tr data-key=\"%s\"", key);
	at = strstr(page.bytes, begin);
	if (at == NULL)
		fail_msg("no row '%s'", key);
	end = strstr(at, "</tr>");
	assert_non_null(end);
	(void)snprintf(row, sizeof(row), "%.*s", (int)(end - at), at);
	return row;
}

static void assert_row(const char *key, const char *text)
{
	const char *row = row_of(key);

	if (strstr(row, text) == NULL)
		fail_msg("row '%s' lacks '%s': %s", key, text, row);
}

static void ask_for(const char *backend, const char *server)
{
	page_wish_argument(&wish, "backend", backend);
	page_wish_argument(&wish, "server", server);
}

static void each_object_has_its_row(void **state)
{
	struct server *s = engine.backends[0]->servers[0];

	(void)state;
	atomic_store(&s->sessions, 3);
	atomic_store(&s->queued, 5);
	atomic_store(&engine.backends[0]->queue.waiting_any, 2);
	atomic_store(&s->total, 1717);
	atomic_store(&s->failures, 19);
	sum_of(s->slot)->server_aborts = 2;
	sum_of(engine.backends[0]->slot)->server_aborts = 2;
	sum_of(s->slot)->bytes_to_client = 5000;
	sum_of(s->slot)->bytes_spliced = 4000;
	sum_of(frontend_by_hand(&engine, 0)->slot)->rate = 19;
	atomic_store(&frontend_by_hand(&engine, 0)->denied, 23);
	show();
	assert_row("f:in", "OPEN");
	assert_row("f:in", ">19</td>");
	assert_row("f:in", "<td class=\"t\" data-h=\"Denied\">23</td>");
	assert_row("b:app", "UP");
	assert_row("b:app", "2 of 2 servers usable");
	assert_row("b:app", "data-h=\"Failed\">21</td>");
	assert_non_null(strstr(page.bytes, "data-live=\"queued\" data-v=\"7\""));
	assert_row("s:app/a", "127.0.0.1:8080");
	assert_row("s:app/a", "data-h=\"Open\">3</td>");
	assert_row("s:app/a", ">1717</td>");
	assert_row("s:app/a", "data-h=\"Failed\">21</td>");
	assert_row("s:app/a", "data-v=\"5000\"><span>4.88 KiB</span></td>");
	assert_row("s:app/a", "data-h=\"Spliced\" data-v=\"80\">80 %</td>");
	assert_row("s:app/a", "<small>1 min</small>");
	assert_row("s:db/c", "UP");
	assert_row("log_dropped", "<td>4242</td>");
	assert_row("accepted", "connections accepted");
}

static void a_state_has_its_time_and_its_reason(void **state)
{
	struct server *s = engine.backends[1]->servers[0];
	const struct history_change changes[] = {
		{.what = CHANGE_STATE, .from = SERVER_UP, .to = SERVER_DOWN, .cause = "<refused>"},
		{.what = CHANGE_WEIGHT, .from = 1, .to = 2, .cause = "wrong"},
	};

	(void)state;
	atomic_store(&s->state, SERVER_DOWN);
	s->changed_ns = 1070 * NS_PER_SEC;
	history_add(&s->history, &changes[0]);
	history_add(&s->history, &changes[1]);
	s->probe = &probe;
	probe.code = PROBE_L4CON;
	probe.duration_ms = 7;
	probe.rise = 2;
	probe.fall = 3;
	probe.health = 1;
	(void)snprintf(probe.detail, sizeof(probe.detail), "connection refused");
	show();
	assert_row("s:db/c", "<b class=\"state bad\">DOWN</b> <small>30 s</small>");
	assert_row("s:db/c", "&lt;refused&gt;</td>");
	assert_row("s:db/c", "L4CON, connection refused, 7 ms, health 1 of 4</td>");
	assert_row("b:db", "<b class=\"state bad\">DOWN</b>");
	assert_row("b:db", "0 of 1 servers usable");
	s->checks_off = true;
	show();
	assert_row("s:db/c", ">disabled</td>");
	assert_row("s:db/c", "data-v=\"30\">30 s</td>"); /* its downtime */
	s->probe = NULL;
}

static void a_frontend_says_why_it_takes_no_clients(void **state)
{
	struct frontend *fe = frontend_by_hand(&engine, 0);

	(void)state;
	fe->admin = FRONTEND_ADMIN_DISABLED;
	show();
	assert_row("f:in", "PAUSED");
	assert_row("f:in", "disabled by the administrator");
	fe->admin = FRONTEND_ADMIN_READY;
	sum_of(fe->slot)->sessions = 50;
	show();
	assert_row("f:in", "FULL");
	assert_row("f:in", "FULL</b></td>"); /* since an unknown moment */
	sum_of(fe->slot)->sessions = 0;
	fe->changed_ns = 1090 * NS_PER_SEC;
	fe->is_away = true;
	show();
	assert_row("f:in", "AWAY</b> <small>10 s</small>");
	assert_row("f:in", "no server is up");
	fe->is_shut = true;
	show();
	assert_row("f:in", "a server is up, but");
	fe->is_away = fe->is_shut = false;
	engine.backends[0]->usable = 0;
	engine.backends[0]->changed_ns = 1080 * NS_PER_SEC;
	show();
	assert_row("f:in", "<b class=\"state bad\">NO SERVER</b> <small>20 s</small>");
	assert_row("f:in", "<td class=\"text\">backend app has no usable server</td>");
	assert_null(strstr(page.bytes, "problem:2:")); /* that of the backend is enough */
	all.stopping = true;
	reason_not_ready = "draining";
	show();
	assert_row("f:in", "STOP");
	assert_non_null(strstr(page.bytes, "<b class=\"state warn\">draining</b>"));
}

static void assert_page(const char *text)
{
	if (strstr(page.bytes, text) == NULL)
		fail_msg("the page lacks '%s'", text);
}

/* It is up, and will be down after the next failures. */
static void checks_that_fail_are_a_problem(void **state)
{
	struct server *s = engine.backends[1]->servers[0];

	(void)state;
	s->probe = &probe;
	probe.code = PROBE_L4CON;
	probe.duration_ms = -1;
	probe.rise = 2;
	probe.fall = 3;
	probe.health = 4;
	show();
	assert_page("problem:none");
	probe.health = 3;
	show();
	assert_page("<b class=\"state warn\">CHECK FAILS</b></td><th scope=\"row\">"
		    "<a href=\"?backend=db&amp;server=c\">db/c</a></th>");
	assert_page("<td class=\"text\">L4CON, health 3 of 4</td>");
	probe.code = PROBE_L4OK;
	show();
	assert_page("problem:none");
	s->probe = NULL;
}

static void what_fills_up_is_read_from_the_engine(void **state)
{
	struct server *s = engine.backends[0]->servers[0];

	(void)state;
	atomic_store(&engine.backends[0]->queue.waiting_any, 4);
	atomic_store(&s->queued, 5);
	atomic_store(&s->sessions, 500);
	all.ports = 1000;
	engine.limits.buf_budget_bytes = 1 << 20;
	show();
	assert_row("b:app", "<td class=\"w\">10</td>");
	assert_row("s:app/a", "data-v=\"50\">50 %</td>");
	assert_page("<b class=\"state bad\">QUEUE</b></td><th scope=\"row\">backend app</th>");
	assert_page("9 of 10 clients wait");
	assert_page("<tr data-key=\"fill:queue\"");
	assert_page("0 B <small>of 1.00 MiB</small>");
	assert_page("<tr data-key=\"fill:fds\"");
}

static void one_server_can_be_asked_for(void **state)
{
	(void)state;
	ask_for("app", "b");
	show();
	assert_non_null(strstr(page.bytes, "<h2>app/b</h2>"));
	assert_null(strstr(page.bytes, "data-key=\"s:"));
	ask_for("app", "c");
	show_one(false);
	assert_non_null(strstr(page.bytes, "There is no server 'c'"));
	ask_for("none", "c");
	show_one(false);
	ask_for(NULL, "c");
	show();
	assert_non_null(strstr(page.bytes, "data-key=\"s:"));
	page_wish_argument(&wish, "update", NULL);
	show();
	assert_null(strstr(page.bytes, "<script>"));
}

static void a_wish_is_what_the_query_says(void **state)
{
	char name[CONFIG_NAME_MAX + 1];
	struct page_wish other = {0};

	(void)state;
	assert_true(page_wish_equal(&wish, &other));
	page_wish_argument(&wish, "unknown", "x");
	assert_true(page_wish_equal(&wish, &other));
	ask_for("app", "b");
	assert_false(page_wish_equal(&wish, &other));
	page_wish_argument(&other, "backend", "app");
	assert_false(page_wish_equal(&wish, &other));
	page_wish_argument(&other, "server", "b");
	assert_true(page_wish_equal(&wish, &other));
	page_wish_argument(&other, "update", "");
	assert_false(page_wish_equal(&wish, &other));
	/* As long as the longest name, and longer: never that of another server. */
	memset(name, 'b', sizeof(name));
	name[CONFIG_NAME_MAX - 1] = '\0';
	ask_for("app", name);
	assert_string_equal(wish.server, name);
	name[CONFIG_NAME_MAX - 1] = 'b';
	name[CONFIG_NAME_MAX] = '\0';
	ask_for("app", name);
	assert_string_equal(wish.server, "?");
	show_one(false);
}

static void a_page_that_does_not_fit_fails(void **state)
{
	long number = 0;

	(void)state;
	for (;; number++) {
		const long before = allocated;

		fail_allocations_from(number);
		(void)page_show(&all, &wish, &page);
		fail_allocations_from(-1);
		if (!page.failed)
			break;
		text_free(&page);
		assert_true(allocated <= before);
	}
	assert_true(number > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_object_has_its_row, setup, teardown),
		cmocka_unit_test_setup_teardown(a_state_has_its_time_and_its_reason, setup, teardown),
		cmocka_unit_test_setup_teardown(a_frontend_says_why_it_takes_no_clients, setup, teardown),
		cmocka_unit_test_setup_teardown(checks_that_fail_are_a_problem, setup, teardown),
		cmocka_unit_test_setup_teardown(what_fills_up_is_read_from_the_engine, setup, teardown),
		cmocka_unit_test_setup_teardown(one_server_can_be_asked_for, setup, teardown),
		cmocka_unit_test_setup_teardown(a_wish_is_what_the_query_says, setup, teardown),
		cmocka_unit_test_setup_teardown(a_page_that_does_not_fit_fails, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

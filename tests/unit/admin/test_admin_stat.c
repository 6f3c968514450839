/* SPDX-License-Identifier: MIT
 *
 * test_admin_stat.c - `show stat`: every value under its column, every column in its place. The columns
 * are counted here by hand, as tools do.
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
#include "balance/server_change.h"
#include "../engine/objects_by_hand.h"

/* Two proxies: a [listen web] with one server, and a frontend and backend of their own. */
static struct config_server server_configs[] = {
	{.name = "a", .weight = 5, .addr.kind = ADDR_IP},
	{.name = "b", .weight = 1, .addr.kind = ADDR_NAME},
	{.name = "c", .weight = 2, .addr.kind = ADDR_NAME}};
static struct config_backend backend_configs[] = {
	{.name = "app", .servers = server_configs + 1, .server_count = 2},
	{.name = "web", .servers = server_configs, .server_count = 1},
};
static struct config_frontend frontend_configs[] = {
	{.name = "web", .backend = 1, .listen = true, .maxconn = 100},
	{.name = "in", .backend = 0, .maxconn = 50},
};
static struct config config = {
	.frontends = frontend_configs, .frontend_count = 2, .backends = backend_configs, .backend_count = 2};
static struct server *servers[3];
static struct frontend *frontends[2];
static struct engine engine;
/* By slot: two frontends, two backends, three servers. */
#define SUMS 7
static struct chunks sums; /* struct tally_sum */

static struct tally_sum *sum_of(uint32_t slot)
{
	return chunks_at(&sums, slot);
}
static struct probe_view probe_views[3];
static struct addr path = {.len = sizeof(path.un)};

static void set_checked(bool checked)
{
	for (size_t i = 0; i < ARRAY_LEN(servers); i++)
		servers[i]->probe = checked ? &probe_views[i] : NULL;
}

static struct admin_context context = {
	.engine = &engine, .state = DAEMON_READY};
static struct admin_question question;

/* Those whose names are not resolved are to be up as well. */
static void make_server(size_t i, struct server *s)
{
	servers[i] = s;
	atomic_store(&s->state, SERVER_UP);
	atomic_store(&s->eweight, server_configs[i].weight * SERVER_WEIGHT_SCALE);
	atomic_store(&s->in_roster, true);
}

static void make_objects(void)
{
	objects_by_hand(&engine, &config);
	assert_int_equal(slot_space_peak(&engine.live.objects), SUMS);
	make_server(0, engine.backends[1]->servers[0]);
	make_server(1, engine.backends[0]->servers[0]);
	make_server(2, engine.backends[0]->servers[1]);
	for (size_t i = 0; i < 2; i++)
		frontends[i] = frontend_by_hand(&engine, i);
}

/* After a change of the configuration. */
static void make_objects_again(void)
{
	objects_by_hand_free(&engine);
	make_objects();
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
	path.un.sun_family = AF_UNIX;
	(void)snprintf(path.un.sun_path, sizeof(path.un.sun_path), "/a,b");
	memset(probe_views, 0, sizeof(probe_views));
	make_objects();
	context.started_ns = clock_mono_ns();
	engine.limits.maxconn = 1000;
	atomic_store(&engine.settings.maxconn, 1000);
	context.state = DAEMON_READY;
	question = (struct admin_question){.iid = -1, .types = -1, .sid = -1};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	objects_by_hand_free(&engine);
	chunks_free(&sums);
	return 0;
}

/* The answer; freed by the caller. */
static char *answer(void)
{
	struct text out;

	text_init(&out);
	admin_show_stat(&context, &question, &sums, &out);
	assert_false(out.failed);
	return out.bytes;
}

static size_t count_commas(const char *line)
{
	size_t n = 0;

	for (; *line != '\0' && *line != '\n'; line++)
		n += *line == ',';
	return n;
}

/* Asserts that column `column` of the row PROXY,NAME reads `value`. */
static void assert_cell(const char *proxy, const char *name, unsigned column, const char *value)
{
	char *out = answer();
	char begin[160];
	const char *cell;

	(void)snprintf(begin, sizeof(begin), "\n%s,%s,", proxy, name);
	cell = strstr(out, begin);
	if (cell == NULL)
		fail_msg("no row %s/%s in:\n%s", proxy, name, out);
	for (cell++; column > 0; column--)
		cell += strcspn(cell, ",") + 1;
	if (strncmp(cell, value, strlen(value)) != 0 || cell[strlen(value)] != ',')
		fail_msg("%s/%s: '%.20s', not '%s'", proxy, name, cell, value);
	free(out);
}

static void every_row_has_119_columns_and_a_comma_after_each(void **state)
{
	char *out = answer();
	size_t rows = 0;

	(void)state;
	assert_memory_equal(out, "# pxname,svname,qcur,qmax,scur,smax,slim,stot,bin,bout,", 55);
	for (const char *line = out; *line != '\0'; line += strcspn(line, "\n") + 1, rows++)
		assert_int_equal(count_commas(line), 119);
	assert_int_equal(rows, 1 + 2 + 3 + 2);
	free(out);
}

static void names_stand_at_haproxys_positions(void **state)
{
	static const struct {
		unsigned column;
		const char *name;
	} known[] = {
		{4, "scur"}, {13, "econ"}, {15, "wretr"}, {17, "status"}, {18, "weight"}, {26, "pid"},
		{27, "iid"}, {28, "sid"}, {32, "type"}, {36, "check_status"}, {49, "cli_abrt"},
		{50, "srv_abrt"}, {55, "lastsess"}, {61, "ttime"}, {73, "addr"}, {75, "mode"}, {76, "algo"},
		{84, "connect"}, {97, "used_conn_cur"}, {99, "uweight"},
		{102, "agg_check_status"}, {104, "sess_other"}, {111, "h3req"}, {117, "resbout"}, {118, "-"}};
	char *out = answer();

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const char *cell = out;

		for (unsigned n = known[i].column; n > 0; n--)
			cell += strcspn(cell, ",") + 1;
		assert_int_equal(strcspn(cell, ","), strlen(known[i].name));
		assert_memory_equal(cell, known[i].name, strlen(known[i].name));
	}
	free(out);
}

static void a_listen_is_one_proxy_and_its_rows_stand_together(void **state)
{
	char *out = answer();
	const char *a = strstr(out, "\nweb,FRONTEND,"), *b = strstr(out, "\nweb,a,");
	const char *c = strstr(out, "\nweb,BACKEND,"), *d = strstr(out, "\nin,FRONTEND,");
	const char *e = strstr(out, "\napp,b,"), *f = strstr(out, "\napp,BACKEND,");

	(void)state;
	assert_true(a != NULL && a < b && b < c && c < d && d < e && e < f);
	free(out);
	assert_cell("web", "FRONTEND", 27, "1");
	assert_cell("web", "BACKEND", 27, "1");
	assert_cell("in", "FRONTEND", 27, "2");
	assert_cell("app", "BACKEND", 27, "3");
	assert_cell("app", "c", 28, "2");
}

static void counts_stand_in_their_columns(void **state)
{
	(void)state;
	atomic_store(&frontends[0]->total, 77);
	atomic_store(&servers[0]->sessions, 3);
	atomic_store(&servers[0]->total, 70);
	atomic_store(&servers[0]->failures, 6);
	*sum_of(frontends[0]->slot) = (struct tally_sum){
		.bytes_to_server = 11, .bytes_to_client = 22, .sessions = 4, .sessions_max = 9};
	*sum_of(engine.backends[1]->slot) = (struct tally_sum){
		.bytes_to_server = 10, .bytes_to_client = 20, .sessions = 4, .total = 77, .client_aborts = 3};
	*sum_of(servers[0]->slot) = (struct tally_sum){
		.bytes_to_server = 10, .bytes_to_client = 20, .sessions_max = 8,
		.retries = 5, .redispatches = 2, .client_aborts = 3, .server_aborts = 1};
	assert_cell("web", "FRONTEND", 4, "4");
	assert_cell("web", "FRONTEND", 5, "9");
	assert_cell("web", "FRONTEND", 6, "100");
	assert_cell("web", "FRONTEND", 7, "77");
	assert_cell("web", "FRONTEND", 8, "11");
	assert_cell("web", "FRONTEND", 9, "22");
	assert_cell("web", "FRONTEND", 17, "OPEN");
	assert_cell("web", "FRONTEND", 32, "0");
	assert_cell("web", "a", 4, "3");
	assert_cell("web", "a", 5, "8");
	assert_cell("web", "a", 7, "70");
	assert_cell("web", "a", 8, "10");
	assert_cell("web", "a", 13, "6");
	assert_cell("web", "a", 15, "5");
	assert_cell("web", "a", 16, "2");
	assert_cell("web", "a", 17, "no check");
	assert_cell("web", "a", 18, "5");
	assert_cell("web", "a", 32, "2");
	assert_cell("web", "a", 49, "3");
	assert_cell("web", "a", 50, "1");
	assert_cell("web", "a", 73, "127.0.0.1:8080");
	assert_cell("web", "a", 75, "tcp");
	assert_cell("web", "BACKEND", 4, "4");
	assert_cell("web", "BACKEND", 5, "9");
	assert_cell("web", "BACKEND", 7, "77");
	assert_cell("web", "BACKEND", 8, "10");
	assert_cell("web", "BACKEND", 17, "UP");
	assert_cell("web", "BACKEND", 76, "roundrobin");
}

static void states_follow_the_servers_and_the_daemon(void **state)
{
	(void)state;
	atomic_store(&servers[1]->state, SERVER_UNRESOLVED);
	atomic_store(&servers[1]->in_roster, false);
	assert_cell("app", "b", 17, "DOWN (unresolved)");
	assert_cell("app", "b", 73, "");
	assert_cell("app", "BACKEND", 17, "UP");
	assert_cell("app", "BACKEND", 18, "2");
	assert_cell("app", "BACKEND", 19, "1");
	atomic_store(&servers[2]->state, SERVER_UNRESOLVED);
	assert_cell("app", "BACKEND", 17, "DOWN");
	sum_of(frontends[1]->slot)->sessions = 50;
	assert_cell("in", "FRONTEND", 17, "FULL");
	/* More now than ever was noted: the larger number counts. */
	assert_cell("in", "FRONTEND", 5, "50");
	context.state = DAEMON_DRAINING;
	assert_cell("in", "FRONTEND", 17, "STOP");
}

static void rates_and_times_stand_in_their_columns(void **state)
{
	(void)state;
	frontend_configs[0].rate_limit = 500;
	make_objects_again();
	atomic_store(&frontends[0]->denied, 12);
	*sum_of(frontends[0]->slot) = (struct tally_sum){.rate = 31, .rate_max = 99, .internal_errors = 2};
	*sum_of(servers[0]->slot) = (struct tally_sum){
		.rate = 7, .rate_max = 5, .total = 44, .samples = 4, .times_us = {8000, 1000, 400000},
		.times_max_us = {5000, 900, 300999},
		.last_ns = (uint64_t)(clock_mono_ns() - 7 * NS_PER_SEC - NS_PER_SEC / 2)};
	assert_cell("web", "FRONTEND", 33, "31");
	assert_cell("web", "FRONTEND", 34, "500");
	assert_cell("web", "FRONTEND", 35, "99");
	assert_cell("web", "FRONTEND", 77, "31");
	assert_cell("web", "FRONTEND", 78, "99");
	assert_cell("web", "FRONTEND", 81, "12");
	assert_cell("web", "FRONTEND", 82, "0");
	assert_cell("web", "FRONTEND", 94, "2");
	assert_cell("web", "a", 33, "7");
	assert_cell("web", "a", 35, "7"); /* never less than now */
	assert_cell("web", "a", 55, "7");
	assert_cell("web", "a", 58, "2");
	assert_cell("web", "a", 59, "0");
	assert_cell("web", "a", 61, "100");
	assert_cell("web", "a", 84, "44");
	assert_cell("web", "a", 90, "5");
	assert_cell("web", "a", 93, "300");
	assert_cell("web", "BACKEND", 55, "-1");
	frontend_configs[0].rate_limit = 0;
}

static void limits_queues_and_weights_stand_in_their_columns(void **state)
{
	(void)state;
	server_configs[2].maxqueue = 9;
	server_configs[2].backup = true;
	backend_configs[0].maxqueue = 90;
	backend_configs[0].balance.algorithm = CONFIG_BALANCE_MAGLEV;
	make_objects_again();
	atomic_store(&servers[2]->queued, 3);
	atomic_store(&servers[2]->queued_max, 6);
	atomic_store(&servers[2]->limit, 40);
	atomic_store(&servers[2]->chosen_total, 1234);
	atomic_store(&servers[2]->in_roster, false);
	atomic_store(&servers[1]->eweight, 17);
	atomic_store(&engine.backends[0]->queue.waiting_any, 5);
	atomic_store(&engine.backends[0]->queue.waiting_max, 8);
	servers[1]->weight = 7;
	assert_cell("app", "c", 2, "3");
	assert_cell("app", "c", 3, "6");
	assert_cell("app", "c", 6, "40");
	assert_cell("app", "b", 6, "");
	assert_cell("app", "c", 19, "0");
	assert_cell("app", "c", 20, "1");
	assert_cell("app", "c", 25, "9");
	assert_cell("app", "b", 25, "");
	assert_cell("app", "c", 30, "1234");
	assert_cell("app", "b", 18, "2"); /* 17 sixteenths */
	assert_cell("app", "b", 99, "7");
	assert_cell("app", "b", 29, ""); /* in no slow start */
	assert_cell("app", "BACKEND", 2, "5");
	assert_cell("app", "BACKEND", 3, "8");
	assert_cell("app", "BACKEND", 18, "2"); /* the backup is not among those to choose from */
	assert_cell("app", "BACKEND", 19, "1");
	assert_cell("app", "BACKEND", 20, "1");
	assert_cell("app", "BACKEND", 25, "90");
	assert_cell("app", "BACKEND", 30, "1234");
	assert_cell("app", "BACKEND", 76, "maglev");
	assert_cell("app", "BACKEND", 100, "2");
	server_configs[2].maxqueue = 0;
	server_configs[2].backup = false;
	backend_configs[0].maxqueue = 0;
	backend_configs[0].balance.algorithm = CONFIG_BALANCE_ROUNDROBIN;
}

static void a_checked_server_shows_how_near_a_change_is(void **state)
{
	(void)state;
	set_checked(true);
	probe_views[0] = (struct probe_view){.code = PROBE_L4OK, .duration_ms = 3,
					     .rise = 2, .fall = 3, .health = 4, .failures = 5, .downs = 1};
	assert_cell("web", "a", 17, "UP");
	probe_views[0].health = 3;
	assert_cell("web", "a", 17, "UP 2/3");
	probe_views[0].health = 2;
	probe_views[0].running = true;
	assert_cell("web", "a", 17, "UP 1/3");
	assert_cell("web", "a", 36, "* L4OK");
	assert_cell("web", "a", 21, "5");
	assert_cell("web", "a", 22, "1");
	assert_cell("web", "a", 38, "3");
	assert_cell("web", "a", 65, "Layer4 check passed");
	assert_cell("web", "a", 67, "2");
	assert_cell("web", "a", 68, "3");
	assert_cell("web", "a", 69, "2");
	assert_cell("web", "BACKEND", 22, "1");
	atomic_store(&servers[0]->state, SERVER_DOWN);
	probe_views[0] = (struct probe_view){.code = PROBE_L7STS, .detail = "a, b",
					     .status = 503, .rise = 2, .fall = 3, .health = 1};
	assert_cell("web", "a", 17, "DOWN 1/2");
	assert_cell("web", "a", 37, "503");
	assert_cell("web", "a", 56, "\"a"); /* quoted, as it has a comma */
	probe_views[0].health = 0;
	assert_cell("web", "a", 17, "DOWN");
	assert_cell("web", "BACKEND", 17, "DOWN");
	atomic_store(&servers[0]->state, SERVER_MAINT);
	assert_cell("web", "a", 17, "MAINT");
	assert_cell("web", "a", 36, "");
	probe_views[0].health = 2;
	atomic_store(&servers[0]->state, SERVER_DRAIN);
	assert_cell("web", "a", 17, "DRAIN 1/3");
	set_checked(false);
	assert_cell("web", "a", 17, "DRAIN");
}

static void time_in_a_state_and_time_down_are_told(void **state)
{
	(void)state;
	context.started_ns -= 100 * NS_PER_SEC;
	assert_cell("web", "a", 23, "100");
	assert_cell("web", "a", 24, "0");
	servers[0]->changed_ns = clock_mono_ns() - 30 * NS_PER_SEC;
	servers[0]->down_ns = 5 * NS_PER_SEC;
	assert_cell("web", "a", 23, "30");
	assert_cell("web", "a", 24, "5");
	atomic_store(&servers[0]->state, SERVER_DOWN);
	assert_cell("web", "a", 24, "35");
}

static void a_filter_leaves_rows_out(void **state)
{
	char *out;

	(void)state;
	question = (struct admin_question){.iid = 1, .types = -1, .sid = -1};
	out = answer();
	assert_non_null(strstr(out, "\nweb,BACKEND,"));
	assert_null(strstr(out, "\nin,"));
	free(out);
	question = (struct admin_question){.iid = -1, .types = 4, .sid = 2};
	out = answer();
	assert_non_null(strstr(out, "\napp,c,"));
	assert_null(strstr(out, "\napp,b,"));
	assert_null(strstr(out, "FRONTEND"));
	free(out);
	question = (struct admin_question){.iid = -1, .types = 3, .sid = -1};
	out = answer();
	assert_non_null(strstr(out, "FRONTEND"));
	assert_non_null(strstr(out, "BACKEND"));
	assert_null(strstr(out, "\nweb,a,"));
	free(out);
}

static void commas_in_a_path_are_quoted(void **state)
{
	char *out;

	(void)state;
	assert_int_equal(server_set_addr(servers[0], &path), 0);
	out = answer();
	assert_non_null(strstr(out, ",\"unix:/a,b\","));
	free(out);
	question.json = true;
	question.ours = true;
	out = answer();
	assert_non_null(strstr(out, "\"addr\":\"unix:/a,b\""));
	free(out);
}

static void json_has_numbers_and_leaves_the_unknown_out(void **state)
{
	char *out;

	(void)state;
	question = (struct admin_question){.json = true, .ours = true, .iid = 1, .types = 1, .sid = -1};
	out = answer();
	assert_memory_equal(out, "[\n  {\"pxname\":\"web\",\"svname\":\"FRONTEND\",\"scur\":0", 48);
	assert_string_equal(out + strlen(out) - 4, "}\n]\n");
	assert_null(strstr(out, "check_status"));
	free(out);
	question.iid = 99;
	out = answer();
	assert_string_equal(out, "[]\n");
	free(out);
}

#define STAT_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAT_TEST(every_row_has_119_columns_and_a_comma_after_each),
		STAT_TEST(names_stand_at_haproxys_positions),
		STAT_TEST(a_listen_is_one_proxy_and_its_rows_stand_together),
		STAT_TEST(counts_stand_in_their_columns),
		STAT_TEST(states_follow_the_servers_and_the_daemon),
		STAT_TEST(rates_and_times_stand_in_their_columns),
		STAT_TEST(limits_queues_and_weights_stand_in_their_columns),
		STAT_TEST(a_checked_server_shows_how_near_a_change_is),
		STAT_TEST(time_in_a_state_and_time_down_are_told),
		STAT_TEST(a_filter_leaves_rows_out),
		STAT_TEST(commas_in_a_path_are_quoted),
		STAT_TEST(json_has_numbers_and_leaves_the_unknown_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

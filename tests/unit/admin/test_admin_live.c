/* SPDX-License-Identifier: MIT
 *
 * test_admin_live.c - answers while frontends, backends and servers come and go: numbers that stay, totals
 * that never fall, and questions that are under way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <ev.h>

#include "weir/admin/admin_answers.h"
#include "weir/balance/live_change.h"
#include "weir/base/clock.h"
#include "weir/engine/inquiry.h"
#include "weir/stats/question.h"
#include "admin/admin_listing.h"
#include "engine/session_slab.h"
#include "../balance/updates_by_hand.h"
#include "../engine/small_engine.h"

#define WORKERS	  2
#define STEPS_MAX 100

static struct config_server server_configs[] = {
	{.name = "a", .weight = 1}, {.name = "b", .weight = 1}, {.name = "c", .weight = 1}};
static struct config_backend backend_configs[] = {
	{.name = "app", .servers = server_configs, .server_count = 2},
	{.name = "web", .servers = server_configs, .server_count = 1},
	{.name = "spare", .servers = server_configs, .server_count = 1},
};
static struct config_backend more_config = {.name = "more", .servers = server_configs, .server_count = 1};
static struct config_bind bind_config;
static struct config_frontend frontend_configs[] = {
	{.name = "web", .backend = 1, .listen = true},
	{.name = "in", .backend = 0, .binds = &bind_config, .bind_count = 1},
};
static struct config_frontend more_in_config = {.name = "more", .listen = true};
static struct config config = {.frontends = frontend_configs, .frontend_count = 2,
			       .backends = backend_configs, .backend_count = 3};
static struct engine engine;
static struct worker *workers[WORKERS];
static struct updates_by_hand hand;
static struct server_updates *u = &hand.updates;
static struct stats *stats;
static struct question question;
static bool has_news;
static struct admin_context context = {.engine = &engine, .state = DAEMON_READY, .updates = &hand.updates};
static const struct admin_peer peer = {.level = CONFIG_ADMIN_ADMIN, .ours = true};

static void no_news(void *arg)
{
	(void)arg;
}

static void on_answer(void *arg)
{
	(void)arg;
	has_news = true;
}

static int setup(void **state)
{
	struct endpoint *failed;
	int err;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		small_addr(&server_configs[i].addr);
	small_addr(&bind_config.addr);
	config.global.pipe_cycle_ns = 10 * NS_PER_SEC;
	small_engine_open(&engine, &config, WORKERS, no_news);
	assert_int_equal(entries_bind(&engine.entries, &failed), 0);
	for (unsigned i = 0; i < WORKERS; i++) {
		workers[i] = engine.workers[i] = worker_new(&engine, i, &io_epoll_driver, &err);
		assert_non_null(workers[i]);
	}
	updates_by_hand_init(&hand, engine.backends, engine.backend_count);
	stats = stats_new(EV_DEFAULT, &engine);
	assert_non_null(stats);
	question_init(&question, stats, on_answer, NULL);
	context.started_ns = clock_mono_ns();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	question_withdraw(&question);
	for (unsigned i = 0; i < WORKERS; i++) {
		mailbox_signal(&workers[i]->mailbox, MAIL_STOP);
		worker_run_out(workers[i]);
	}
	stats_free(stats);
	server_updates_free(u);
	engine_free(&engine);
	return 0;
}

static void turn(unsigned worker)
{
	io_loop_wake(&workers[worker]->loop);
	worker_turn(workers[worker]);
}

/* Until all that has left is freed. */
static void turn_until_freed(void)
{
	updates_by_hand_turn(&hand, clock_mono_ns());
	for (int i = 0; retire_count(&engine.live.retire) > 0; i++) {
		assert_in_range(i, 0, STEPS_MAX);
		engine_take_news(&engine);
		for (unsigned w = 0; w < WORKERS; w++)
			turn(w);
	}
}

/* ---- answers ---- */

/* Workers answer, but pass no round. */
static void sum_up(const struct admin_question *q, struct text *out)
{
	struct answer a;

	has_news = false;
	(void)question_ask(&question, QUESTION_TALLIES);
	assert_int_equal(question_answer(&question).kind, ANSWER_PENDING);
	for (int i = 0; !has_news; i++) {
		assert_in_range(i, 0, STEPS_MAX);
		stats_take_answers(stats);
		for (unsigned w = 0; w < WORKERS; w++)
			inquiry_answer(workers[w]);
	}
	a = question_answer(&question);
	assert_int_equal(a.kind, ANSWER_TALLIES);
	admin_show_stat(&context, q, a.tallies, out);
}

/* Freed by the caller. */
static char *answer(const char *command)
{
	struct admin_question q;
	struct text out;

	text_init(&out);
	if (admin_command(&context, &peer, command, &out, &q) == ADMIN_ASK_TALLIES)
		sum_up(&q, &out);
	assert_false(out.failed);
	return out.bytes;
}

/* The number in column `column` (HAProxy's position) of the row PROXY,NAME; -1 without such a row. */
static long cell(const char *proxy, const char *name, unsigned column)
{
	char *out = answer("show stat");
	char begin[160];
	const char *at;
	long number = -1;

	(void)snprintf(begin, sizeof(begin), "\n%s,%s,", proxy, name);
	at = strstr(out, begin);
	if (at != NULL) {
		for (at++; column > 0; column--)
			at += strcspn(at, ",") + 1;
		number = strtol(at, NULL, 10);
	}
	free(out);
	return number;
}

#define IID 27

static size_t count_lines(const char *command)
{
	char *out = answer(command);
	size_t lines = 0;

	for (const char *c = out; *c != '\0'; c++)
		lines += *c == '\n';
	free(out);
	return lines;
}

static bool answers(const char *command, const char *part)
{
	char *out = answer(command);
	const bool found = strstr(out, part) != NULL;

	free(out);
	return found;
}

/* ---- changes ---- */

static struct backend *backend_named(const char *name)
{
	for (size_t i = 0; i < engine.backend_count; i++)
		if (strcmp(engine.backends[i]->config->name, name) == 0)
			return engine.backends[i];
	return NULL;
}

static struct backend *prepare_more(void)
{
	struct backend *b;
	int err;

	assert_int_equal(engine_prepare_backend(&engine, 1), 0);
	b = backend_prepare(&engine.live, &more_config, &err);
	assert_non_null(b);
	return b;
}

static void commit_more(struct backend *b)
{
	backend_commit_add(u, b);
	engine_add_backend(&engine, b);
}

static void remove_backend(struct backend *b)
{
	assert_int_equal(backend_prepare_remove(b), 0);
	engine_drop_backend(&engine, b);
	backend_remove(u, b);
	turn_until_freed();
}

static struct frontend *prepare_more_in(struct backend *b)
{
	const struct entry_wish wish = {.config = &more_in_config, .backend = b};
	struct entry_error error;
	struct frontend *fe = entries_prepare_frontend(&engine.entries, &wish, &error);

	assert_non_null(fe);
	return fe;
}

static void remove_server(struct server *s)
{
	assert_int_equal(server_prepare_remove(s), 0);
	server_remove(u, s);
	updates_by_hand_turn(&hand, clock_mono_ns());
}

static struct server *add_server(struct backend *b)
{
	int err;
	struct server *s = server_prepare(b, &server_configs[2], &err);

	assert_non_null(s);
	server_commit_add(u, s);
	updates_by_hand_turn(&hand, clock_mono_ns());
	return s;
}

/* ---- numbers ---- */

static void each_keeps_its_number_whoever_comes_and_goes(void **state)
{
	(void)state;
	assert_int_equal(cell("web", "FRONTEND", IID), 1);
	assert_int_equal(cell("web", "BACKEND", IID), 1);
	assert_int_equal(cell("in", "FRONTEND", IID), 2);
	assert_int_equal(cell("app", "b", IID), 3);
	assert_int_equal(cell("spare", "BACKEND", IID), 5);
	remove_backend(backend_named("spare"));
	assert_int_equal(cell("spare", "BACKEND", IID), -1);
	assert_int_equal(count_lines("show stat spare -1 -1"), 1);
	assert_true(answers("show stat spare -1 -1", "no frontend or backend 'spare'"));
	assert_int_equal(count_lines("show stat 5 -1 -1"), 1); /* the header */
	assert_true(answers("show servers state spare", "no backend 'spare'; available: app, web\n"));
	commit_more(prepare_more());
	assert_int_equal(cell("more", "a", IID), 6);
	assert_int_equal(cell("app", "BACKEND", IID), 3);
	assert_int_equal(count_lines("show stat more -1 -1"), 3);
	assert_true(answers("show servers state", "\n6 more 1 a "));
	assert_true(answers("show servers state", "\n3 app 2 b "));
	assert_int_equal(count_lines("show backend"), 4);
}

static void a_listen_that_comes_has_one_number_whichever_part_is_first(void **state)
{
	struct backend *b;
	struct frontend *fe;

	(void)state;
	for (unsigned iid = 6; iid < 8; iid++) {
		b = prepare_more();
		fe = prepare_more_in(b);
		if (iid == 6)
			commit_more(b);
		entries_commit_frontend(&engine.entries, fe);
		if (iid != 6)
			commit_more(b);
		assert_int_equal(cell("more", "FRONTEND", IID), iid);
		assert_int_equal(cell("more", "a", IID), iid);
		assert_int_equal(cell("more", "BACKEND", IID), iid);
		entries_remove_frontend(&engine.entries, fe, clock_mono_ns());
		assert_int_equal(cell("more", "FRONTEND", IID), -1);
		assert_int_equal(cell("more", "BACKEND", IID), iid);
		remove_backend(b);
	}
}

/* ---- totals ---- */

/* What the row of a backend adds up over its servers. */
static const struct {
	unsigned column;
	long value;
} added_up[] = {{13, 4}, {15, 6}, {16, 2}, {22, 3}, {30, 9}, {84, 8}};

static void assert_totals(const char *backend, long times)
{
	for (size_t i = 0; i < ARRAY_LEN(added_up); i++)
		assert_int_equal(cell(backend, "BACKEND", added_up[i].column), times * added_up[i].value);
}

/* Half of the tallies in each worker. */
static void count(struct server *s)
{
	for (unsigned i = 0; i < WORKERS; i++) {
		struct tally *t = chunks_at(&workers[i]->tallies, s->slot);

		counter_add(&t->retries, 3);
		counter_add(&t->redispatches, 1);
		counter_add(&t->total, 4);
	}
	counter_add(&s->failures, 4);
	counter_add(&s->chosen_total, 9);
}

static struct probe_view view = {.downs = 3};

static void no_total_falls_at_any_step_of_a_server_that_leaves(void **state)
{
	struct backend *app = backend_named("app");
	struct server *s = app->servers[1];
	const uint32_t slot = s->slot;

	(void)state;
	s->probe = &view;
	count(s);
	assert_totals("app", 1);
	assert_true(server_enter(s));
	remove_server(s);
	assert_int_equal(cell("app", "b", IID), -1);
	assert_true(answers("show servers history app/b", "no server 'b' in backend 'app'"));
	assert_true(answers("set weight app/b 3", "no server 'b' in backend 'app'"));
	for (int i = 0; retire_count(&engine.live.retire) > 0; i++) {
		assert_in_range(i, 0, STEPS_MAX);
		if (i == STEPS_MAX / 2)
			server_leave(s);
		assert_totals("app", 1);
		turn((unsigned)i % WORKERS);
		assert_totals("app", 1);
		engine_take_news(&engine);
	}
	assert_totals("app", 1);
	s = add_server(app);
	assert_int_equal(s->slot, slot);
	assert_int_equal(s->id, 2);
	assert_int_equal(cell("app", "c", 15), 0);
	assert_int_equal(cell("app", "c", 30), 0);
	assert_totals("app", 1);
	view.downs = 3;
	s->probe = &view;
	count(s);
	assert_totals("app", 2);
	remove_server(s);
	turn_until_freed();
	assert_totals("app", 2);
}

static void a_backend_with_the_number_of_another_begins_at_zero(void **state)
{
	struct backend *b = backend_named("spare");
	const uint32_t slot = b->slot;

	(void)state;
	b->servers[0]->probe = &view;
	count(b->servers[0]);
	remove_server(b->servers[0]);
	turn_until_freed();
	assert_totals("spare", 1);
	remove_backend(b);
	b = prepare_more();
	assert_int_equal(b->slot, slot);
	commit_more(b);
	assert_totals("more", 0);
}

/* ---- questions under way ---- */

static struct session *begin(const struct server *server)
{
	struct worker *w = workers[0];
	struct session *s = session_slab_get(&w->slab);

	assert_non_null(s);
	session_comes_in(s, w, list_entry(entries_find(&engine.entries, "in")->endpoints.next,
					  struct endpoint, link));
	s->state = SESSION_FORWARDING;
	session_goes_to(s, server);
	w->sessions++;
	return s;
}

static void end(struct session *s)
{
	struct worker *w = s->worker;

	session_goes_away(s);
	s->state = SESSION_FREE;
	session_slab_put(&w->slab, s);
	w->sessions--;
}

static void a_slice_that_is_not_written_yet_names_what_has_left(void **state)
{
	struct backend *app = backend_named("app");
	static const struct admin_question lines = {.fd = -1};
	struct session *s = begin(app->servers[1]);
	struct admin_listing listing;
	struct text out;

	(void)state;
	text_init(&out);
	admin_listing_begin(&listing, &question, &lines);
	assert_int_equal(admin_listing_go_on(&listing, &out, 1000), LISTING_WAITS);
	inquiry_answer(workers[0]);
	end(s);
	remove_server(app->servers[1]);
	turn_until_freed();
	(void)add_server(app);
	has_news = false;
	stats_take_answers(stats);
	assert_true(has_news);
	assert_int_equal(admin_listing_go_on(&listing, &out, 1000), LISTING_WRITE);
	assert_non_null(strstr(out.bytes, "frontend=in backend=app server=b "));
	text_free(&out);
}

#define LIVE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE_TEST(each_keeps_its_number_whoever_comes_and_goes),
		LIVE_TEST(a_listen_that_comes_has_one_number_whichever_part_is_first),
		LIVE_TEST(no_total_falls_at_any_step_of_a_server_that_leaves),
		LIVE_TEST(a_backend_with_the_number_of_another_begins_at_zero),
		LIVE_TEST(a_slice_that_is_not_written_yet_names_what_has_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

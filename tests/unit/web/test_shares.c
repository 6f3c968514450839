/* SPDX-License-Identifier: MIT
 *
 * test_shares.c - answers that are shared: by whom, for how long, how many, and without memory. The engine
 * has no workers, so that a walk ends where it begins.
 */
#include <ev.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../base/alloc_fail.h"
#include "../engine/objects_by_hand.h"
#include "web/shares.h"

#define WAITERS (2 * WEB_ANSWERS_MAX)

static struct config_frontend frontend_config = {.name = "web"};
static struct config_server server_config = {.name = "a", .weight = 1};
static struct config_backend backend_config = {.name = "web", .servers = &server_config, .server_count = 1};
static struct config config = {.frontends = &frontend_config, .frontend_count = 1,
			       .backends = &backend_config, .backend_count = 1};
static struct engine engine;
static struct ev_loop *loop;
static struct web_context ctx;
static struct shares shares;
static long allocated_before;

struct asker {
	struct share_waiter waiter;
	bool done;
	struct share *got;
};
static struct asker askers[WAITERS];

static const char *is_ready(void *arg)
{
	(void)arg;
	return NULL;
}

static bool is_not_ending(void *arg)
{
	(void)arg;
	return false;
}

static void on_answered(struct share_waiter *w, struct share *answer)
{
	struct asker *a = container_of(w, struct asker, waiter);

	assert_false(a->done);
	a->done = true;
	a->got = answer;
}

static int setup(void **state)
{
	(void)state;
	memset(&engine, 0, sizeof(engine));
	objects_by_hand(&engine, &config);
	loop = ev_loop_new(EVFLAG_AUTO);
	allocated_before = allocated;
	ctx = (struct web_context){.engine = &engine, .driver = "epoll",
				   .sources = {.why_not_ready = is_ready, .is_ending = is_not_ending}};
	ctx.stats = stats_new(loop, &engine);
	if (ctx.stats == NULL)
		return -1;
	shares_init(&shares, loop, &ctx);
	memset(askers, 0, sizeof(askers));
	for (size_t i = 0; i < WAITERS; i++) {
		list_init(&askers[i].waiter.link);
		askers[i].waiter.answered = on_answered;
		wish_init(&askers[i].waiter.wish, route_find("/metrics"));
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	until_failure = -1;
	for (size_t i = 0; i < WAITERS; i++)
		share_release(askers[i].got);
	shares_free(&shares);
	stats_free(ctx.stats);
	if (allocated != allocated_before)
		return -1; /* something was not freed */
	ev_loop_destroy(loop);
	objects_by_hand_free(&engine);
	return 0;
}

/* Each scope is another wish. */
static void ask(size_t i, unsigned scope)
{
	askers[i].waiter.wish.scope = scope;
	shares_wait(&shares, &askers[i].waiter);
}

static void equal_wishes_share_one_answer(void **state)
{
	(void)state;
	ask(0, SCOPE_FRONTEND);
	ask(1, SCOPE_FRONTEND);
	ask(2, SCOPE_SERVER);
	assert_false(askers[0].done);
	shares_go_on(&shares);
	assert_non_null(askers[0].got);
	assert_ptr_equal(askers[0].got, askers[1].got);
	assert_ptr_not_equal(askers[0].got, askers[2].got);
	assert_int_equal(askers[0].got->status, 200);
	assert_non_null(strstr(askers[0].got->text.bytes, "weir_frontend_accepting{frontend=\"web\"} 1\n"));
	assert_null(strstr(askers[0].got->text.bytes, "weir_server"));
	assert_non_null(strstr(askers[2].got->text.bytes, "weir_server_up{backend=\"web\",server=\"a\"} "));
}

static void an_answer_is_given_again_until_it_is_old(void **state)
{
	struct share *again;

	(void)state;
	ask(0, SCOPE_ALL);
	shares_go_on(&shares);
	again = shares_find(&shares, &askers[0].waiter.wish);
	assert_ptr_equal(again, askers[0].got);
	share_release(again);
	askers[0].got->made_ns -= (WEB_SNAPSHOT_MS + 1) * NS_PER_MS;
	assert_null(shares_find(&shares, &askers[0].waiter.wish));
	/* And is not kept: whoever holds it still has it. */
	ev_run(loop, 0);
	assert_int_equal(askers[0].got->users, 1);
}

static void walks_are_apart_and_answers_of_one_are_few(void **state)
{
	(void)state;
	for (size_t i = 0; i < WAITERS; i++)
		ask(i, (unsigned)i);
	shares_go_on(&shares);
	for (size_t i = 0; i < WAITERS; i++)
		assert_int_equal(askers[i].done, i < WEB_ANSWERS_MAX);
	shares_go_on(&shares);
	assert_false(askers[WEB_ANSWERS_MAX].done);
	ev_run(loop, 0); /* until nothing is left to do */
	for (size_t i = 0; i < WAITERS; i++)
		assert_non_null(askers[i].got);
}

static void sessions_are_listed_beside_sums(void **state)
{
	(void)state;
	wish_init(&askers[0].waiter.wish, route_find("/api/v1/sessions"));
	wish_init(&askers[1].waiter.wish, route_find("/api/v1/sessions"));
	shares_wait(&shares, &askers[0].waiter);
	shares_wait(&shares, &askers[1].waiter);
	ask(2, SCOPE_ALL);
	shares_go_on(&shares);
	ev_run(loop, 0); /* until nothing is left to do */
	assert_non_null(askers[0].got);
	assert_ptr_equal(askers[0].got, askers[1].got);
	assert_string_equal(askers[0].got->text.bytes, "{\"sessions\":[],\"more\":false}\n");
	assert_non_null(askers[2].got);
}

/* Slow clients hold many: no other answer is made until they let go. */
static void answers_have_a_size_together(void **state)
{
	(void)state;
	shares.bytes += WEB_HELD_BYTES;
	ask(0, SCOPE_ALL);
	shares_go_on(&shares);
	assert_true(askers[0].done);
	assert_null(askers[0].got);
	wish_init(&askers[1].waiter.wish, route_find("/healthz"));
	assert_null(shares_make(&shares, &askers[1].waiter.wish));
	shares.bytes -= WEB_HELD_BYTES;
	ask(2, SCOPE_ALL);
	ev_run(loop, 0);
	assert_non_null(askers[2].got);
	assert_true(shares.bytes >= askers[2].got->text.len);
}

static void who_is_forgotten_gets_nothing(void **state)
{
	(void)state;
	ask(0, SCOPE_ALL);
	ask(1, SCOPE_ALL);
	shares_forget(&shares, &askers[0].waiter);
	shares_forget(&shares, &askers[0].waiter);
	shares_go_on(&shares);
	assert_false(askers[0].done);
	assert_non_null(askers[1].got);
}

/* Each allocation fails in turn: there is an answer or none, and one later in any case. */
static void assert_sparing(const char *path, const char *part)
{
	bool failed = true;

	for (long n = 0; failed && n < 1000; n++) {
		wish_init(&askers[0].waiter.wish, route_find(path));
		shares_wait(&shares, &askers[0].waiter);
		fail_allocations_from(n);
		shares_go_on(&shares);
		failed = until_failure == 0;
		until_failure = -1;
		assert_true(askers[0].done);
		assert_true(failed || askers[0].got != NULL);
		if (askers[0].got != NULL)
			assert_non_null(strstr(askers[0].got->text.bytes, part));
		share_release(askers[0].got);
		askers[0] = (struct asker){.waiter = askers[0].waiter};
		list_init(&askers[0].waiter.link);
		ev_run(loop, 0);
		assert_int_equal(shares.bytes, 0);
	}
	assert_false(failed);
}

static void without_memory_there_is_no_answer(void **state)
{
	(void)state;
	assert_sparing("/metrics", "weir_server_last_session");
	assert_sparing("/api/v1/servers", "\"name\":\"a\"");
	assert_sparing("/api/v1/sessions", "\"more\":false}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(equal_wishes_share_one_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(an_answer_is_given_again_until_it_is_old, setup, teardown),
		cmocka_unit_test_setup_teardown(walks_are_apart_and_answers_of_one_are_few, setup, teardown),
		cmocka_unit_test_setup_teardown(sessions_are_listed_beside_sums, setup, teardown),
		cmocka_unit_test_setup_teardown(answers_have_a_size_together, setup, teardown),
		cmocka_unit_test_setup_teardown(who_is_forgotten_gets_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(without_memory_there_is_no_answer, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

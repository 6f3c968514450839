/* SPDX-License-Identifier: MIT
 *
 * test_question.c - questions to two workers: slices and sums, who is called, and what is said without a
 * worker that hangs. Workers are a stand-in of this file, which answers when the test wants it to.
 */
#include <ev.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/stats/question.h"
#include "engine/worker.h"
#include "../engine/objects_by_hand.h"

#define ASKERS 3

static struct inquiry *lent[2]; /* to each worker */
static unsigned asked_times;
static bool ended; /* the workers: what they are asked is answered at once */

void inquiry_init(struct inquiry *q, bool sums)
{
	memset(q, 0, sizeof(*q));
	q->sums = sums;
}

bool inquiry_is_lent(const struct inquiry *q)
{
	return atomic_load(&q->lent);
}

void inquiry_ask(struct engine *e, unsigned worker, struct inquiry *q)
{
	(void)e;
	assert_false(inquiry_is_lent(q));
	asked_times++;
	q->worker = worker;
	q->count = 0;
	q->over = true;
	if (ended)
		return;
	assert_null(lent[worker]);
	lent[worker] = q;
	atomic_store(&q->lent, true);
}

bool inquiry_withdraw(struct engine *e, struct inquiry *q)
{
	(void)e;
	if (inquiry_is_lent(q))
		lent[q->worker] = NULL;
	atomic_store(&q->lent, false);
	return true;
}

static struct config_frontend frontend_config = {.name = "web"};
static struct config_backend backend_config = {.name = "web"};
static struct config config = {.frontends = &frontend_config, .frontend_count = 1,
			       .backends = &backend_config, .backend_count = 1};
static struct worker workers[2];
static struct worker *worker_list[] = {&workers[0], &workers[1]};
static struct engine engine = {.workers = worker_list, .worker_count = 2};
static uint32_t web; /* the slot of the frontend */
static struct ev_loop *loop;
static struct stats *stats;
static struct question questions[ASKERS];
static unsigned called[ASKERS];

static uint64_t bytes_to_server(const struct answer *a)
{
	const struct tally_sum *sum = chunks_at(a->tallies, web);

	return sum->bytes_to_server;
}

static void on_news(void *arg)
{
	called[(const struct question *)arg - questions]++;
}

static int setup(void **state)
{
	(void)state;
	objects_by_hand(&engine, &config);
	for (unsigned i = 0; i < 2; i++)
		tallies_by_hand(&engine, &workers[i]);
	web = frontend_by_hand(&engine, 0)->slot;
	loop = ev_loop_new(EVFLAG_AUTO);
	stats = stats_new(loop, &engine);
	if (stats == NULL)
		return -1;
	for (unsigned i = 0; i < ASKERS; i++)
		question_init(&questions[i], stats, on_news, &questions[i]);
	memset(called, 0, sizeof(called));
	asked_times = 0;
	ended = false;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ASKERS; i++)
		question_withdraw(&questions[i]);
	stats_free(stats);
	ev_loop_destroy(loop);
	for (unsigned i = 0; i < 2; i++)
		tallies_by_hand_free(&engine, &workers[i]);
	objects_by_hand_free(&engine);
	return 0;
}

/* The worker shows `count` sessions that have moved 100 bytes each. */
static void worker_shows(unsigned worker, unsigned count, bool over)
{
	struct inquiry *q = lent[worker];

	assert_non_null(q);
	for (unsigned i = 0; i < count && q->sums; i++)
		q->moved[i] = (struct inquiry_bytes){.to_server = 100, .frontend_slot = web,
						     .backend_slot = INQUIRY_NO_SLOT,
						     .server_slot = INQUIRY_NO_SLOT};
	for (unsigned i = 0; i < count && !q->sums; i++)
		q->sessions[i] = (struct session_facts){.frontend = "web", .frontend_slot = web,
							.backend = "web",
							.backend_slot = engine.backends[0]->slot,
							.worker = worker, .number = i};
	q->count = count;
	q->over = over;
	lent[worker] = NULL;
	atomic_store(&q->lent, false);
	stats_take_answers(stats);
}

static void a_slice_is_asked_for_when_the_last_was_used(void **state)
{
	struct question *q = &questions[0];
	const uint64_t token = question_ask(q, QUESTION_SESSIONS);
	struct answer a = question_answer(q);

	(void)state;
	assert_true(token > 0);
	assert_int_equal(a.kind, ANSWER_PENDING);
	worker_shows(0, 2, false);
	assert_int_equal(called[0], 1);
	for (int i = 0; i < 3; i++) {
		a = question_answer(q);
		assert_int_equal(a.kind, ANSWER_SESSIONS);
		assert_int_equal(a.token, token);
		assert_int_equal(a.sessions.count, 2);
		assert_int_equal(a.sessions.facts[1].number, 1);
		assert_false(a.sessions.last);
	}
	assert_int_equal(asked_times, 1);
	question_go_on(q);
	assert_int_equal(question_answer(q).kind, ANSWER_PENDING);
	worker_shows(0, 0, true);
	assert_false(question_answer(q).sessions.last);
	question_go_on(q);
	assert_int_equal(question_answer(q).kind, ANSWER_PENDING);
	worker_shows(1, 1, true);
	a = question_answer(q);
	assert_int_equal(a.sessions.facts[0].worker, 1);
	assert_true(a.sessions.last);
	question_go_on(q);
	a = question_answer(q);
	assert_int_equal(a.kind, ANSWER_OVER);
	assert_int_equal(a.silent, 0);
	assert_false(question_is_open(q));
	assert_int_equal(called[0], 3);
}

static void who_asks_at_the_same_time_shares_a_walk(void **state)
{
	uint64_t tokens[ASKERS];
	struct answer a;

	(void)state;
	counter_set(&tally_by_hand(&workers[1], web)->bytes_to_server, 1000);
	for (unsigned i = 0; i < 2; i++)
		tokens[i] = question_ask(&questions[i], QUESTION_TALLIES);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(question_answer(&questions[i]).kind, ANSWER_PENDING);
	assert_int_equal(asked_times, 0);
	stats_take_answers(stats);
	/* The walk is under way: what had moved when this one asks might be missing. */
	tokens[2] = question_ask(&questions[2], QUESTION_TALLIES);
	assert_int_equal(question_answer(&questions[2]).kind, ANSWER_PENDING);
	worker_shows(0, 2, true);
	worker_shows(1, 1, true);
	assert_int_equal(called[2], 0);
	for (unsigned i = 0; i < 2; i++) {
		a = question_answer(&questions[i]);
		assert_int_equal(called[i], 1);
		assert_int_equal(a.kind, ANSWER_TALLIES);
		assert_int_equal(a.token, tokens[i]);
		assert_int_equal(bytes_to_server(&a), 1300);
		assert_false(question_is_open(&questions[i]));
	}
	assert_int_equal(asked_times, 3); /* the second walk has begun */
	worker_shows(0, 0, true);
	worker_shows(1, 0, true);
	a = question_answer(&questions[2]);
	assert_int_equal(bytes_to_server(&a), 1300); /* sessions that this stand-in forgot: nothing falls */
	assert_true(tokens[0] != tokens[1] && tokens[1] != tokens[2]);
}

static void run_until_called(unsigned which, unsigned times)
{
	while (called[which] < times)
		(void)ev_run(loop, EVRUN_ONCE);
}

static void a_list_goes_on_without_who_does_not_answer_in_time(void **state)
{
	struct question *q = &questions[0];
	const double since = ev_time();
	struct answer a;

	(void)state;
	(void)question_ask(q, QUESTION_SESSIONS);
	assert_int_equal(question_answer(q).kind, ANSWER_PENDING);
	run_until_called(0, 1);
	assert_true(ev_time() - since > QUESTION_WAIT_S - .5);
	/* The next may hang as well, and is waited for less. */
	assert_int_equal(question_answer(q).kind, ANSWER_PENDING);
	run_until_called(0, 2);
	assert_true(ev_time() - since < 2 * QUESTION_WAIT_S - .5);
	a = question_answer(q);
	assert_int_equal(a.kind, ANSWER_OVER);
	assert_int_equal(a.silent, 2);
}

/* Half a sum is a wrong one. */
static void sums_that_come_too_late_are_for_those_who_ask_then(void **state)
{
	struct answer a;

	(void)state;
	(void)question_ask(&questions[0], QUESTION_TALLIES);
	assert_int_equal(question_answer(&questions[0]).kind, ANSWER_PENDING);
	stats_take_answers(stats);
	worker_shows(0, 1, true);
	run_until_called(0, 1);
	a = question_answer(&questions[0]);
	assert_int_equal(a.kind, ANSWER_OVER);
	assert_int_equal(a.silent, 1);
	(void)question_ask(&questions[0], QUESTION_TALLIES);
	assert_int_equal(question_answer(&questions[0]).kind, ANSWER_PENDING);
	worker_shows(1, 1, true); /* the end of the walk before */
	assert_int_equal(called[0], 1);
	worker_shows(0, 1, true);
	worker_shows(1, 0, true);
	a = question_answer(&questions[0]);
	assert_int_equal(bytes_to_server(&a), 200); /* as the walk before, whose end nobody waited for */
}

/* Whatever the workers say: a report that comes again and again has no smaller number than before. */
static void a_total_never_falls(void **state)
{
	static const unsigned counts[] = {3, 1, 0, 2, 5, 4};
	uint64_t last = 0;

	(void)state;
	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct answer a;

		(void)question_ask(&questions[0], QUESTION_TALLIES);
		assert_int_equal(question_answer(&questions[0]).kind, ANSWER_PENDING);
		stats_take_answers(stats);
		worker_shows(0, counts[i], true);
		worker_shows(1, 0, true);
		a = question_answer(&questions[0]);
		assert_int_equal(a.kind, ANSWER_TALLIES);
		assert_true(bytes_to_server(&a) >= last);
		assert_true(bytes_to_server(&a) >= 100 * counts[i]);
		last = bytes_to_server(&a);
	}
	assert_int_equal(last, 500);
}

static void wait_until_it_is_old(void)
{
	const int64_t begun_ns = clock_mono_ns();

	while (clock_mono_ns() - begun_ns < 100 * NS_PER_MS)
		continue;
}

static void walk_finds(unsigned first, unsigned second)
{
	stats_take_answers(stats);
	worker_shows(0, first, true);
	worker_shows(1, second, true);
}

/* Two ask at the same time, and ten soon afterwards. False if they were not fast enough for one walk. */
static bool who_asks_soon_shares_a_walk(void)
{
	const unsigned before = asked_times;
	const int64_t begun_ns = clock_mono_ns();
	struct answer a;

	(void)question_ask_recent(&questions[0]);
	assert_int_equal(question_answer(&questions[0]).kind, ANSWER_PENDING);
	stats_take_answers(stats);
	(void)question_ask_recent(&questions[1]);
	assert_int_equal(question_answer(&questions[1]).kind, ANSWER_PENDING);
	walk_finds(1, 1);
	for (unsigned i = 0; i < 2 + 10; i++) {
		if (i >= 2)
			(void)question_ask_recent(&questions[i % 2]);
		a = question_answer(&questions[i % 2]);
		if (a.kind == ANSWER_PENDING) {
			assert_true(clock_mono_ns() - begun_ns >= 100 * NS_PER_MS);
			question_withdraw(&questions[i % 2]);
			walk_finds(1, 1);
			return false;
		}
		assert_int_equal(a.kind, ANSWER_TALLIES);
		assert_int_equal(bytes_to_server(&a), 200);
		assert_false(a.is_old);
	}
	stats_take_answers(stats);
	assert_int_equal(asked_times, before + 2);
	return true;
}

static void recent_sums_are_given_again(void **state)
{
	unsigned before;

	(void)state;
	while (!who_asks_soon_shares_a_walk())
		wait_until_it_is_old();
	/* Who wants to know it now begins a walk. */
	before = asked_times;
	(void)question_ask(&questions[0], QUESTION_TALLIES);
	assert_int_equal(question_answer(&questions[0]).kind, ANSWER_PENDING);
	walk_finds(0, 0);
	assert_int_equal(asked_times, before + 2);
}

static void old_sums_are_better_than_none_while_a_worker_hangs(void **state)
{
	struct question *q = &questions[0];
	struct answer a;
	double since;

	(void)state;
	(void)question_ask_recent(q);
	assert_int_equal(question_answer(q).kind, ANSWER_PENDING);
	stats_take_answers(stats);
	worker_shows(0, 1, true);
	worker_shows(1, 1, true);
	a = question_answer(q);
	wait_until_it_is_old();
	since = ev_time();
	(void)question_ask_recent(q);
	assert_int_equal(question_answer(q).kind, ANSWER_PENDING);
	stats_take_answers(stats);
	assert_int_equal(asked_times, 3);
	run_until_called(0, 2);
	assert_true(ev_time() - since > QUESTION_RECENT_WAIT_S - .5);
	assert_true(ev_time() - since < QUESTION_WAIT_S - .5);
	a = question_answer(q);
	assert_int_equal(a.kind, ANSWER_TALLIES);
	assert_true(a.is_old);
	assert_int_equal(bytes_to_server(&a), 200);
	worker_shows(0, 0, true);
	worker_shows(1, 0, true);
}

static void an_object_begins_with_nothing_of_who_had_its_slot(void **state)
{
	struct answer a;

	(void)state;
	(void)question_ask(&questions[0], QUESTION_TALLIES);
	assert_int_equal(question_answer(&questions[0]).kind, ANSWER_PENDING);
	stats_take_answers(stats);
	worker_shows(0, 3, true);
	worker_shows(1, 0, true);
	a = question_answer(&questions[0]);
	assert_int_equal(bytes_to_server(&a), 300);
	slot_space_put(&engine.live.objects, web);
	assert_int_equal(slot_space_take(&engine.live.objects, &web), 0);
	(void)question_ask_recent(&questions[0]);
	a = question_answer(&questions[0]);
	assert_int_equal(bytes_to_server(&a), 0);
}

static void what_is_withdrawn_is_told_to_nobody(void **state)
{
	struct question *q = &questions[0];
	const uint64_t token = question_ask(q, QUESTION_SESSIONS);

	(void)state;
	assert_int_equal(question_answer(q).kind, ANSWER_PENDING);
	question_withdraw(q);
	assert_null(lent[0]);
	stats_take_answers(stats);
	assert_int_equal(called[0], 0);
	assert_true(question_ask(q, QUESTION_TALLIES) != token);
	assert_int_equal(question_answer(q).kind, ANSWER_PENDING);
	stats_take_answers(stats);
	question_withdraw(q);
	question_withdraw(q);
	worker_shows(0, 0, true);
	worker_shows(1, 0, true);
	assert_int_equal(called[0], 0);
}

static void workers_that_have_ended_are_answered_for_at_once(void **state)
{
	(void)state;
	ended = true;
	(void)question_ask(&questions[0], QUESTION_TALLIES);
	assert_int_equal(question_answer(&questions[0]).kind, ANSWER_PENDING);
	stats_take_answers(stats);
	assert_int_equal(called[0], 1);
	assert_int_equal(question_answer(&questions[0]).kind, ANSWER_TALLIES);
	(void)question_ask(&questions[0], QUESTION_SESSIONS);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(question_answer(&questions[0]).kind, ANSWER_SESSIONS);
		question_go_on(&questions[0]);
	}
	assert_int_equal(question_answer(&questions[0]).kind, ANSWER_OVER);
}

static void one_session_is_asked_of_its_worker(void **state)
{
	const struct inquiry_filter one = {.session = session_key(1, 7), .kill = true};
	const struct inquiry_filter none = {.session = session_key(2, 7)};
	struct question *q = &questions[0];
	struct answer a;

	(void)state;
	(void)question_ask_sessions(q, &one);
	assert_int_equal(question_answer(q).kind, ANSWER_PENDING);
	assert_null(lent[0]);
	assert_non_null(lent[1]);
	assert_int_equal(lent[1]->filter.session, one.session);
	assert_true(lent[1]->filter.kill);
	worker_shows(1, 1, true);
	a = question_answer(q);
	assert_int_equal(a.kind, ANSWER_SESSIONS);
	assert_true(a.sessions.last);
	question_go_on(q);
	assert_int_equal(question_answer(q).kind, ANSWER_OVER);
	assert_int_equal(asked_times, 1);
	(void)question_ask_sessions(q, &none);
	assert_int_equal(question_answer(q).kind, ANSWER_OVER);
	assert_int_equal(asked_times, 1);
	/* The next question is about all again. */
	(void)question_ask(q, QUESTION_SESSIONS);
	assert_int_equal(question_answer(q).kind, ANSWER_PENDING);
	assert_int_equal(lent[0]->filter.session, 0);
	assert_false(lent[0]->filter.kill);
}

static void who_does_not_answer_about_one_session_is_silent(void **state)
{
	const struct inquiry_filter one = {.session = session_key(0, 7)};
	struct question *q = &questions[0];
	struct answer a;

	(void)state;
	(void)question_ask_sessions(q, &one);
	assert_int_equal(question_answer(q).kind, ANSWER_PENDING);
	run_until_called(0, 1);
	a = question_answer(q);
	assert_int_equal(a.kind, ANSWER_OVER);
	assert_int_equal(a.silent, 1);
	assert_null(lent[1]);
}

#define QUESTION_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		QUESTION_TEST(a_slice_is_asked_for_when_the_last_was_used),
		QUESTION_TEST(who_asks_at_the_same_time_shares_a_walk),
		QUESTION_TEST(a_list_goes_on_without_who_does_not_answer_in_time),
		QUESTION_TEST(sums_that_come_too_late_are_for_those_who_ask_then),
		QUESTION_TEST(a_total_never_falls),
		QUESTION_TEST(recent_sums_are_given_again),
		QUESTION_TEST(old_sums_are_better_than_none_while_a_worker_hangs),
		QUESTION_TEST(an_object_begins_with_nothing_of_who_had_its_slot),
		QUESTION_TEST(what_is_withdrawn_is_told_to_nobody),
		QUESTION_TEST(workers_that_have_ended_are_answered_for_at_once),
		QUESTION_TEST(one_session_is_asked_of_its_worker),
		QUESTION_TEST(who_does_not_answer_about_one_session_is_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

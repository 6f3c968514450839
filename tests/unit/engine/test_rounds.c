/* SPDX-License-Identifier: MIT
 *
 * test_rounds.c - workers pass the rounds of retirement: what each must have read and done before, who counts
 * as passed, and rounds on threads of their own.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/rounds.h"
#include "engine/session_slab.h"
#include "small_engine.h"

#define WORKERS	  2
#define THREADS	  3
#define ITEMS	  200
#define TURNS_MAX 1000
/* So many sessions that an order takes several turns. */
#define SESSIONS (3 * EVICT_PLACES_MAX)

/* A thing that leaves. */
struct item {
	struct retired retired;
	atomic_uint forgotten[THREADS]; /* times, by worker */
	bool freed;
};

static struct small_config config;
static struct engine engine;
static struct worker *workers[WORKERS];
static struct item item;
static atomic_uint news;
static atomic_uint news_of_end; /* since the second worker counts as passed */

static void on_news(void *arg)
{
	(void)arg;
	atomic_fetch_add(&news, 1);
	if (workers[1] != NULL && atomic_load(&workers[1]->passed) == ROUNDS_ENDED)
		atomic_fetch_add(&news_of_end, 1);
}

static void forget(const struct retired *r, void *arg)
{
	struct item *i = container_of(r, struct item, retired);
	const struct worker *w = arg;

	assert_false(i->freed);
	atomic_fetch_add(&i->forgotten[w->index], 1);
}

static void free_item(struct retired *r)
{
	struct item *i = container_of(r, struct item, retired);

	assert_false(i->freed);
	i->freed = true;
}

static const struct retired_kind known_to_workers = {.forget = forget, .free = free_item};
static const struct retired_kind found_by_workers = {.free = free_item};
static const struct retired_kind in_records = {.free = free_item, .is_logged = true};

static int open_engine(void **state)
{
	struct endpoint *failed;

	(void)state;
	memset(&item, 0, sizeof(item));
	memset(workers, 0, sizeof(workers));
	atomic_store(&news, 0);
	atomic_store(&news_of_end, 0);
	small_config_init(&config);
	small_engine_open(&engine, &config.config, WORKERS, on_news);
	return entries_bind(&engine.entries, &failed);
}

static int setup(void **state)
{
	int err = open_engine(state);

	for (unsigned i = 0; i < WORKERS && !err; i++)
		workers[i] = engine.workers[i] = worker_new(&engine, i, &io_epoll_driver, &err);
	return err;
}

static void run_out(struct worker *w)
{
	if (w->finished)
		return;
	mailbox_signal(&w->mailbox, MAIL_STOP);
	worker_run_out(w);
}

static int teardown(void **state)
{
	(void)state;
	for (unsigned i = 0; i < WORKERS; i++)
		run_out(workers[i]);
	assert_true(small_engine_is_unused(&engine));
	engine_free(&engine);
	return 0;
}

/* One turn, which does not sleep. */
static void turn(unsigned worker)
{
	io_loop_wake(&workers[worker]->loop);
	worker_turn(workers[worker]);
}

static void retire_it(const struct retired_kind *kind)
{
	retire_add(&engine.live.retire, &item.retired, kind);
	engine_take_news(&engine);
}

static uint64_t passed(unsigned worker)
{
	return atomic_load(&workers[worker]->passed);
}

/* ---- who must pass ---- */

static void without_anything_that_leaves_there_is_no_round(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		engine_take_news(&engine);
		for (unsigned w = 0; w < WORKERS; w++) {
			assert_false(mailbox_is_signalled(&workers[w]->mailbox, MAIL_ROUND));
			turn(w);
		}
	}
	assert_int_equal(atomic_load(&engine.round), 0);
	assert_int_equal(passed(0), 0);
}

static void a_round_is_over_when_all_workers_have_passed_it(void **state)
{
	(void)state;
	retire_it(&found_by_workers);
	for (unsigned round = 1; round <= 2; round++) {
		assert_int_equal(atomic_load(&engine.round), round);
		for (unsigned w = 0; w < WORKERS; w++)
			assert_true(mailbox_is_signalled(&workers[w]->mailbox, MAIL_ROUND));
		turn(0);
		assert_int_equal(passed(0), round);
		for (int i = 0; i < 3; i++) {
			turn(0);
			engine_take_news(&engine);
		}
		assert_int_equal(atomic_load(&engine.round), round);
		assert_false(item.freed);
		atomic_store(&news, 0);
		turn(1);
		assert_true(atomic_load(&news) > 0); /* or control would sleep */
		engine_take_news(&engine);
	}
	assert_true(item.freed);
	assert_int_equal(atomic_load(&engine.round), 2);
}

static void each_worker_clears_what_it_kept_once_and_then_it_is_freed(void **state)
{
	(void)state;
	retire_it(&known_to_workers);
	for (unsigned round = 1; round <= 3; round++) {
		assert_int_equal(atomic_load(&engine.round), round);
		for (unsigned w = 0; w < WORKERS; w++) {
			assert_int_equal(atomic_load(&item.forgotten[w]), 0);
			turn(w);
			assert_int_equal(atomic_load(&item.forgotten[w]), round == 3);
			assert_false(item.freed);
		}
		engine_take_news(&engine);
	}
	assert_true(item.freed);
	assert_int_equal(retire_count(&engine.live.retire), 0);
}

static void without_workers_all_is_freed_at_once(void **state)
{
	struct worker *const here[WORKERS] = {workers[0], workers[1]};

	(void)state;
	for (unsigned i = 0; i < WORKERS; i++)
		engine.workers[i] = NULL;
	retire_it(&known_to_workers);
	for (unsigned i = 0; i < WORKERS; i++)
		engine.workers[i] = here[i];
	assert_true(item.freed);
	assert_int_equal(atomic_load(&item.forgotten[0]), 0);
}

/* ---- what a worker must have done ---- */

static void put_letter(struct mailbox *m)
{
	const struct letter letter = {.fd = -1};

	assert_true(mailbox_send(m, &letter));
}

static void what_was_sent_before_the_round_is_read_before_it_is_passed(void **state)
{
	struct worker *w = workers[0];
	struct letter letter;

	(void)state;
	put_letter(&w->mailbox);
	put_letter(&w->mailbox);
	atomic_store(&engine.round, 1);
	rounds_heard(w);
	put_letter(&w->mailbox); /* whoever sends this has not passed either, or cannot name what left */
	for (int i = 0; i < 2; i++) {
		rounds_pass(w);
		assert_int_equal(passed(0), 0);
		assert_int_equal(w->round, 1);
		assert_true(mailbox_take(&w->mailbox, &letter));
	}
	rounds_pass(w);
	assert_int_equal(passed(0), 1);
	assert_int_equal(w->round, 0);
	assert_true(mailbox_take(&w->mailbox, &letter));
	assert_false(mailbox_take(&w->mailbox, &letter));
}

/* The count of letters wraps. */
static void letters_are_read_before_the_round_whatever_their_number(void **state)
{
	struct worker *w = workers[0];
	struct letter letter;

	(void)state;
	w->mailbox.head = w->mailbox.tail = UINT32_MAX;
	put_letter(&w->mailbox);
	put_letter(&w->mailbox);
	atomic_store(&engine.round, 1);
	rounds_heard(w);
	for (int i = 0; i < 2; i++) {
		rounds_pass(w);
		assert_int_equal(passed(0), 0);
		assert_true(mailbox_take(&w->mailbox, &letter));
	}
	rounds_pass(w);
	assert_int_equal(passed(0), 1);
}

/* While its driver is down a worker reads no letters, so that it cannot pass. */
static void a_worker_with_a_letter_that_it_cannot_read_yet_has_not_passed(void **state)
{
	struct worker *w = workers[0];
	struct letter letter = {.entry = endpoint_settings(first_endpoint(&engine)),
				.client.family = AF_UNIX};
	int fds[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
	letter.fd = fds[0];
	atomic_fetch_add(&w->load, 1);
	slots_force(&engine, letter.entry->frontend);
	assert_true(mailbox_send(&w->mailbox, &letter));
	retire_it(&found_by_workers);
	w->loop.is_down = true;
	for (int i = 0; i < 3; i++) {
		turn(0);
		turn(1);
		engine_take_news(&engine);
	}
	assert_int_equal(passed(0), 0);
	assert_int_equal(passed(1), 1);
	assert_int_equal(atomic_load(&engine.round), 1);
	w->loop.is_down = false;
	turn(0);
	assert_int_equal(passed(0), 1);
	assert_int_equal(w->next_number, 1); /* it has become a session */
	close(fds[1]);
}

static void begin_sessions(struct worker *w, struct session *all[])
{
	for (unsigned i = 0; i < SESSIONS; i++) {
		struct session *s = all[i] = session_slab_get(&w->slab);

		assert_non_null(s);
		session_comes_in(s, w, first_endpoint(&engine));
		s->sides[SIDE_CLIENT].sock.fd = -1;
		s->sides[SIDE_SERVER].sock.fd = -1;
		s->state = SESSION_FORWARDING;
		w->sessions++;
	}
}

static void end_sessions(struct worker *w, struct session *all[])
{
	for (unsigned i = 0; i < SESSIONS; i++) {
		session_goes_away(all[i]);
		all[i]->state = SESSION_FREE;
		session_slab_put(&w->slab, all[i]);
		w->sessions--;
	}
}

static void an_order_to_end_sessions_is_carried_out_before_the_round_is_passed(void **state)
{
	static struct session *all[SESSIONS];
	struct worker *w = workers[0];
	unsigned turns = 0, visited = 0;
	bool too_early = false;

	(void)state;
	begin_sessions(w, all);
	engine_kill_sessions(&engine, first_server(&engine));
	retire_it(&found_by_workers);
	while (passed(0) == 0 && turns < TURNS_MAX) {
		turn(0);
		turns++;
		too_early |= passed(0) > 0 && evict_has_orders(w);
	}
	for (unsigned i = 0; i < SESSIONS; i++)
		visited += all[i]->evict_mark == w->evict_walk.mark;
	end_sessions(w, all);
	assert_in_range(turns, SESSIONS / EVICT_PLACES_MAX, TURNS_MAX - 1);
	assert_false(too_early);
	assert_int_equal(visited, SESSIONS);
}

/* One that comes while another is carried out. */
static void an_order_that_has_only_been_given_holds_the_round_up(void **state)
{
	struct worker *w = workers[0];

	(void)state;
	atomic_store(&engine.round, 1);
	rounds_heard(w);
	engine_kill_sessions(&engine, first_server(&engine));
	rounds_pass(w);
	assert_int_equal(passed(0), 0);
	for (int i = 0; passed(0) == 0; i++) {
		assert_in_range(i, 0, TURNS_MAX);
		turn(0);
	}
	assert_false(evict_has_orders(w));
}

/* ---- who has ended ---- */

static void a_worker_that_has_ended_has_passed_and_control_clears_for_it(void **state)
{
	(void)state;
	run_out(workers[1]);
	assert_true(passed(1) == ROUNDS_ENDED);
	retire_it(&known_to_workers);
	for (unsigned round = 1; round <= 3; round++) {
		assert_int_equal(atomic_load(&engine.round), round);
		engine_take_news(&engine);
		assert_int_equal(atomic_load(&engine.round), round);
		assert_false(item.freed);
		turn(0);
		engine_take_news(&engine);
	}
	assert_true(item.freed);
	for (unsigned w = 0; w < WORKERS; w++)
		assert_int_equal(atomic_load(&item.forgotten[w]), 1);
}

static void a_worker_that_clears_and_then_ends_in_the_same_round_clears_once(void **state)
{
	(void)state;
	retire_it(&known_to_workers);
	for (unsigned round = 1; round <= 2; round++) {
		turn(0);
		turn(1);
		engine_take_news(&engine);
	}
	turn(1);
	assert_int_equal(atomic_load(&item.forgotten[1]), 1);
	run_out(workers[1]);
	engine_take_news(&engine);
	assert_false(item.freed);
	turn(0);
	engine_take_news(&engine);
	assert_true(item.freed);
	for (unsigned w = 0; w < WORKERS; w++)
		assert_int_equal(atomic_load(&item.forgotten[w]), 1);
}

/* The rounds that are left are passed for it. It is the last, so nobody else tells control. */
static void a_worker_that_ends_during_a_round_holds_nothing_up(void **state)
{
	(void)state;
	retire_it(&known_to_workers);
	run_out(workers[0]);
	run_out(workers[1]);
	assert_true(atomic_load(&news_of_end) > 0);
	engine_take_news(&engine);
	assert_true(item.freed);
	for (unsigned w = 0; w < WORKERS; w++)
		assert_int_equal(atomic_load(&item.forgotten[w]), 1);
}

/* ---- records ---- */

static unsigned marks;
static bool are_read;

static void note_mark(void *arg)
{
	assert_ptr_equal(arg, &marks);
	marks++;
}

static bool tell_read(void *arg)
{
	assert_ptr_equal(arg, &marks);
	return are_read;
}

static void pass_two_rounds(void)
{
	for (unsigned round = 1; round <= 2; round++) {
		turn(0);
		turn(1);
		engine_take_news(&engine);
	}
}

static void what_records_name_is_freed_when_they_are_read(void **state)
{
	(void)state;
	marks = 0;
	are_read = false;
	engine.records = (struct engine_records){.mark = note_mark, .is_read = tell_read, .arg = &marks};
	retire_it(&in_records);
	assert_int_equal(marks, 0);
	pass_two_rounds();
	assert_int_equal(marks, 1);
	engine_take_news(&engine);
	assert_false(item.freed);
	are_read = true;
	engine_take_news(&engine);
	assert_true(item.freed);
	assert_int_equal(marks, 1);
}

static void without_records_none_is_waited_for(void **state)
{
	(void)state;
	retire_it(&in_records);
	pass_two_rounds();
	assert_true(item.freed);
}

/* ---- threads ---- */

static struct item items[ITEMS];

static void start_threads(void)
{
	const struct engine_limits limits = engine.limits;

	free(engine.workers); /* of the other tests */
	engine.workers = NULL;
	engine.worker_count = 0;
	memset(items, 0, sizeof(items));
	assert_int_equal(engine_start(&engine, &limits, THREADS, &io_epoll_driver), 0);
}

static int end_threads(void **state)
{
	(void)state;
	engine_free(&engine);
	return 0;
}

static void retire_one(unsigned which)
{
	retire_add(&engine.live.retire, &items[which].retired, &known_to_workers);
	engine_take_news(&engine);
}

static void take_news_until_all_is_freed(void)
{
	while (retire_count(&engine.live.retire) > 0) {
		(void)sched_yield();
		engine_take_news(&engine);
	}
}

static void assert_all_cleared_once(void)
{
	for (unsigned i = 0; i < ITEMS; i++) {
		assert_true(items[i].freed);
		for (unsigned w = 0; w < THREADS; w++)
			assert_int_equal(atomic_load(&items[i].forgotten[w]), 1);
	}
}

static void wait_for_the_end(void)
{
	while (atomic_load(&engine.workers_done) < THREADS)
		(void)sched_yield();
	engine_join(&engine);
}

static void threads_pass_each_round_and_clear_each_thing_once(void **state)
{
	(void)state;
	start_threads();
	for (unsigned i = 0; i < ITEMS; i++) {
		retire_one(i);
		if (i % 3 == 0)
			take_news_until_all_is_freed();
	}
	take_news_until_all_is_freed();
	assert_all_cleared_once();
	engine_stop(&engine);
	wait_for_the_end();
}

static void threads_that_end_meanwhile_leave_nothing_behind(void **state)
{
	(void)state;
	start_threads();
	for (unsigned i = 0; i < ITEMS; i++) {
		retire_one(i);
		if (i == ITEMS / 2)
			mailbox_signal(&engine.workers[1]->mailbox, MAIL_STOP);
		if (i == ITEMS - 2)
			engine_stop(&engine);
		(void)sched_yield();
	}
	take_news_until_all_is_freed();
	assert_all_cleared_once();
	wait_for_the_end();
}

#define ROUNDS_TEST(name)  cmocka_unit_test_setup_teardown(name, setup, teardown)
#define THREADS_TEST(name) cmocka_unit_test_setup_teardown(name, open_engine, end_threads)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROUNDS_TEST(without_anything_that_leaves_there_is_no_round),
		ROUNDS_TEST(a_round_is_over_when_all_workers_have_passed_it),
		ROUNDS_TEST(each_worker_clears_what_it_kept_once_and_then_it_is_freed),
		ROUNDS_TEST(without_workers_all_is_freed_at_once),
		ROUNDS_TEST(what_was_sent_before_the_round_is_read_before_it_is_passed),
		ROUNDS_TEST(letters_are_read_before_the_round_whatever_their_number),
		ROUNDS_TEST(a_worker_with_a_letter_that_it_cannot_read_yet_has_not_passed),
		ROUNDS_TEST(an_order_to_end_sessions_is_carried_out_before_the_round_is_passed),
		ROUNDS_TEST(an_order_that_has_only_been_given_holds_the_round_up),
		ROUNDS_TEST(a_worker_that_has_ended_has_passed_and_control_clears_for_it),
		ROUNDS_TEST(a_worker_that_clears_and_then_ends_in_the_same_round_clears_once),
		ROUNDS_TEST(a_worker_that_ends_during_a_round_holds_nothing_up),
		ROUNDS_TEST(what_records_name_is_freed_when_they_are_read),
		ROUNDS_TEST(without_records_none_is_waited_for),
		THREADS_TEST(threads_pass_each_round_and_clear_each_thing_once),
		THREADS_TEST(threads_that_end_meanwhile_leave_nothing_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

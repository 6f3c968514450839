/* SPDX-License-Identifier: MIT
 *
 * test_inquiry.c - walks through the sessions of a worker while these come and go: what is found how often,
 * sums that have each byte once, who withdraws, workers that end, and a walk on another thread.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/clock.h"
#include "weir/engine/inquiry.h"
#include "engine/session.h"
#include "engine/session_slab.h"
#include "engine/worker.h"
#include "small_engine.h"

#define LIVE_MAX 100000u
#define SOME	 3000u
/* A worker may be busy with one slice for this long. */
#define SLICE_MAX_NS NS_PER_MS
#define WALKS    300
#define ROUNDS   2000

enum { OF_FRONTEND, OF_BACKEND, OF_SERVER, TALLIES };

static struct small_config config;
static struct engine engine;
static struct worker *w;
static struct tally *tallies[TALLIES];
static struct inquiry q;
static atomic_uint notices;
static struct session *live[LIVE_MAX];
static unsigned live_count;
static uint64_t dice;

static void notice(void *arg)
{
	(void)arg;
	atomic_fetch_add(&notices, 1);
}

static int setup(void **state)
{
	(void)state;
	small_config_init(&config);
	small_engine_open(&engine, &config.config, 1, notice);
	small_engine_stand_in(&engine);
	w = small_engine_worker(&engine, 0);
	w->loop.now_ns = 1000 * NS_PER_SEC;
	assert_int_equal(tally_count(&engine), TALLIES);
	tallies[OF_FRONTEND] = chunks_at(&w->tallies, first_frontend(&engine)->slot);
	tallies[OF_BACKEND] = chunks_at(&w->tallies, engine.backends[0]->slot);
	tallies[OF_SERVER] = chunks_at(&w->tallies, first_server(&engine)->slot);
	inquiry_init(&q, false);
	atomic_store(&notices, 0);
	live_count = 0;
	dice = 1;
	return 0;
}

static uint64_t roll(uint64_t sides)
{
	dice = dice * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (dice >> 33) % sides;
}

static struct session *begin(void)
{
	struct session *s = session_slab_get(&w->slab);

	assert_non_null(s);
	assert_in_range(live_count, 0, LIVE_MAX - 1);
	session_comes_in(s, w, first_endpoint(&engine));
	s->accepted_ns = w->loop.now_ns;
	s->number = w->next_number++;
	s->state = SESSION_FORWARDING;
	tally_session_began(s);
	tally_backend_entered(s);
	session_goes_to(s, first_server(&engine));
	live[live_count++] = s;
	w->sessions++;
	return s;
}

static void end(unsigned which)
{
	struct session *s = live[which];

	tally_session_ended(s);
	session_goes_away(s);
	s->state = SESSION_FREE;
	session_slab_put(&w->slab, s);
	live[which] = live[--live_count];
	w->sessions--;
}

static int teardown(void **state)
{
	(void)state;
	while (live_count > 0)
		end(live_count - 1);
	assert_true(small_engine_is_unused(&engine));
	engine_free(&engine);
	return 0;
}

static void begin_many(unsigned count)
{
	while (count-- > 0)
		(void)begin();
}

/* Some come, some go, some move bytes. */
static void churn(unsigned most)
{
	for (uint64_t n = roll(most); n > 0; n--) {
		if (live_count > 0 && (live_count > 200 || roll(2) == 0))
			end((unsigned)roll(live_count));
		else
			(void)begin();
		if (live_count > 0)
			live[roll(live_count)]->flows[FLOW_TO_SERVER].bytes_out += roll(1000);
	}
}

/* The worker's next turn. */
static void turn(void)
{
	if (mailbox_signals(&w->mailbox) & MAIL_ASKED)
		inquiry_answer(w);
}

static void slice(void)
{
	inquiry_ask(&engine, 0, &q);
	assert_true(inquiry_is_lent(&q));
	turn();
	assert_false(inquiry_is_lent(&q));
	assert_in_range(q.count, 0, q.sums ? INQUIRY_PLACES_MAX : INQUIRY_SESSIONS_MAX);
}

/* ---- walks ---- */

static void a_walk_goes_a_few_sessions_at_a_time(void **state)
{
	unsigned slices = 0, found = 0;

	(void)state;
	begin_many(1000);
	do {
		slice();
		for (unsigned i = 0; i < q.count; i++) {
			assert_int_equal(q.sessions[i].number, found++);
			assert_int_equal(q.sessions[i].state, SESSION_FORWARDING);
			assert_string_equal(q.sessions[i].server, first_server(&engine)->config->name);
		}
		slices++;
	} while (!q.over);
	assert_int_equal(found, 1000);
	assert_in_range(slices, 1000 / INQUIRY_SESSIONS_MAX, 1000 / INQUIRY_SESSIONS_MAX + 2);
	assert_int_equal(atomic_load(&notices), slices);
}

/* Places that are free are as bounded as sessions: after a peak there are many. */
static void a_turn_looks_at_so_many_places(void **state)
{
	unsigned slices = 0, found = 0;

	(void)state;
	begin_many(SOME);
	/* One of 16 stays: some in each page, as pages without any are passed over. */
	for (unsigned i = SOME; i-- > 0;)
		if (i % 16 != 0)
			end(i);
	do {
		slice();
		found += q.count;
		slices++;
	} while (!q.over);
	assert_int_equal(found, live_count);
	assert_in_range(slices, SOME / INQUIRY_PLACES_MAX, SOME / INQUIRY_PLACES_MAX + 2);
}

/* Of three slices at the same place the shortest counts: the others may have met an interrupt. A busy machine
 * has more of these. */
static int64_t cpu_time_of_slice(void)
{
	const uint32_t place = q.place;
	int64_t shortest_ns = INT64_MAX;

	for (int i = 0; i < 3 || (i < 50 && shortest_ns > SLICE_MAX_NS); i++) {
		int64_t took_ns;

		q.place = place;
		inquiry_ask(&engine, 0, &q);
		took_ns = clock_thread_ns();
		turn();
		took_ns = clock_thread_ns() - took_ns;
		shortest_ns = took_ns < shortest_ns ? took_ns : shortest_ns;
	}
	return shortest_ns;
}

static void no_slice_holds_a_worker_with_many_sessions_up(void **state)
{
	int64_t longest_ns = 0;
	unsigned found = 0;

	(void)state;
	begin_many(LIVE_MAX);
	q.sums = true;
	do {
		const int64_t took_ns = cpu_time_of_slice();

		longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
		found += q.count;
	} while (!q.over);
	assert_int_equal(found, LIVE_MAX);
	assert_in_range(longest_ns, 1, SLICE_MAX_NS);
}

static void nobody_is_found_twice_and_who_stays_is_found_once(void **state)
{
	static uint8_t found[1 << 20];
	static bool at_begin[1 << 20];

	(void)state;
	begin_many(150);
	for (int walk = 0; walk < WALKS; walk++) {
		memset(found, 0, sizeof(found));
		memset(at_begin, 0, sizeof(at_begin));
		for (unsigned i = 0; i < live_count; i++)
			at_begin[live[i]->number] = true;
		q.place = 0;
		do {
			slice();
			for (unsigned i = 0; i < q.count; i++)
				assert_int_equal(found[q.sessions[i].number]++, 0);
			churn(100);
		} while (!q.over);
		for (unsigned i = 0; i < live_count; i++)
			if (at_begin[live[i]->number])
				assert_int_equal(found[live[i]->number], 1);
	}
	assert_in_range(w->next_number, 1000, sizeof(found));
}

/* ---- some sessions ---- */

static void one_session_is_found_wherever_it_is(void **state)
{
	unsigned slices = 0;

	(void)state;
	begin_many(1500);
	q.filter.session = session_key(0, 1234);
	do {
		slice();
		slices++;
		assert_true(q.count == 0 || q.over);
	} while (!q.over);
	assert_int_equal(q.count, 1);
	assert_int_equal(q.sessions[0].number, 1234);
	assert_in_range(slices, 2, 1500 / INQUIRY_PLACES_MAX + 1); /* places that are passed over count */
	q.filter.session = session_key(0, 1500);
	q.place = 0;
	do {
		slice();
		assert_int_equal(q.count, 0);
	} while (!q.over);
	q.filter.session = session_key(1, 1234); /* of another worker */
	q.place = 0;
	do {
		slice();
		assert_int_equal(q.count, 0);
	} while (!q.over);
}

static void old_sessions_are_found_alone(void **state)
{
	(void)state;
	begin_many(10);
	w->loop.now_ns += 5 * NS_PER_SEC;
	begin_many(10);
	w->loop.now_ns += 5 * NS_PER_SEC - 1;
	q.filter.min_age_ns = 5 * NS_PER_SEC;
	slice();
	assert_true(q.over);
	assert_int_equal(q.count, 10);
	for (unsigned i = 0; i < 10; i++)
		assert_in_range(q.sessions[i].number, 0, 9);
	w->loop.now_ns++;
	q.place = 0;
	slice();
	assert_int_equal(q.count, 20);
}

/* ---- sums ---- */

static uint64_t moved(void)
{
	uint64_t sum = tallies[OF_SERVER]->bytes_to_server + tallies[OF_SERVER]->late_to_server;

	for (unsigned i = 0; i < live_count; i++)
		sum += live[i]->flows[FLOW_TO_SERVER].bytes_out;
	return sum;
}

static void a_sum_has_each_byte_that_had_moved_once(void **state)
{
	uint64_t last = 0;

	(void)state;
	q.sums = true;
	begin_many(150);
	for (int walk = 0; walk < WALKS; walk++) {
		const uint64_t least = moved();
		struct tally_sum sum;
		uint64_t now = 0;

		q.place = 0;
		do {
			slice();
			for (unsigned i = 0; i < q.count; i++)
				now += q.moved[i].to_server;
			churn(100);
		} while (!q.over);
		churn(100);
		for (uint32_t which = 0; which < tally_count(&engine); which++) {
			tally_sum_up(&engine, which, w->loop.now_ns, &sum);
			assert_in_range(now + sum.bytes_to_server, least, moved());
		}
		assert_true(now + sum.bytes_to_server >= last);
		last = now + sum.bytes_to_server;
		churn(100);
	}
	assert_true(last > 100000);
}

/* Connections of other workers fill the mailbox, and nobody takes them: control is answered all the same. */
static void a_full_mailbox_leaves_no_live_byte_out(void **state)
{
	struct letter letter = {.fd = -1};
	uint64_t last = 0;

	(void)state;
	q.sums = true;
	begin_many(150);
	while (mailbox_send(&w->mailbox, &letter))
		continue;
	for (int walk = 0; walk < WALKS; walk++) {
		struct tally_sum sum;
		uint64_t now = 0;

		churn(100);
		if (live_count == 0)
			(void)begin();
		live[0]->flows[FLOW_TO_SERVER].bytes_out++;
		q.place = 0;
		do {
			slice();
			for (unsigned i = 0; i < q.count; i++)
				now += q.moved[i].to_server;
		} while (!q.over);
		assert_true(now > 0);
		tally_sum_up(&engine, first_server(&engine)->slot, w->loop.now_ns, &sum);
		now += sum.bytes_to_server;
		assert_int_equal(now, moved());
		assert_true(now > last);
		last = now;
		assert_false(mailbox_send(&w->mailbox, &letter));
	}
	while (mailbox_take(&w->mailbox, &letter))
		continue;
}

/* ---- who does not answer, who does not want to know ---- */

static void each_turn_answers_one(void **state)
{
	struct inquiry others[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		inquiry_init(&others[i], false);
		inquiry_ask(&engine, 0, &others[i]);
	}
	for (unsigned i = 0; i < 3; i++) {
		assert_true(inquiry_is_lent(&others[i]));
		turn();
		assert_false(inquiry_is_lent(&others[i]));
		assert_true(others[i].over);
	}
	assert_int_equal(mailbox_signals(&w->mailbox), 0);
}

static void what_is_withdrawn_is_answered_by_nobody(void **state)
{
	struct inquiry other;

	(void)state;
	begin_many(3);
	inquiry_init(&other, false);
	assert_true(inquiry_withdraw(&engine, &q)); /* never asked */
	inquiry_ask(&engine, 0, &q);
	inquiry_ask(&engine, 0, &other);
	assert_true(inquiry_withdraw(&engine, &q));
	assert_false(inquiry_is_lent(&q));
	turn();
	assert_int_equal(q.count, 0);
	assert_int_equal(other.count, 3);
	turn(); /* a signal without anything to be answered */
	assert_int_equal(atomic_load(&notices), 1);
}

static void a_worker_that_has_ended_is_answered_for(void **state)
{
	(void)state;
	q.place = 5;
	inquiry_ask(&engine, 0, &q);
	inquiry_list_close(w);
	assert_false(inquiry_is_lent(&q));
	assert_true(q.over);
	q.count = 7;
	q.over = false;
	inquiry_ask(&engine, 0, &q);
	assert_false(inquiry_is_lent(&q));
	assert_true(q.over);
	assert_int_equal(q.count, 0);
	/* What its late sessions moved is counted by the next walk all the same. */
	tallies[OF_SERVER]->late_to_server = 11;
	inquiry_init(&q, true);
	inquiry_ask(&engine, 0, &q);
	assert_int_equal(counter_get(&tallies[OF_SERVER]->bytes_to_server), 11);
}

/* ---- two threads ---- */

static atomic_bool over;

static void *work(void *arg)
{
	(void)arg;
	while (!atomic_load(&over)) {
		turn();
		churn(20);
	}
	while (live_count > 0)
		end(0);
	inquiry_list_close(w);
	return NULL;
}

static void control_and_worker_go_on_side_by_side(void **state)
{
	pthread_t thread;
	unsigned withdrawn = 0;

	(void)state;
	begin_many(150);
	atomic_store(&over, false);
	assert_int_equal(pthread_create(&thread, NULL, work, NULL), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		inquiry_ask(&engine, 0, &q);
		if (i % 3 == 0 && inquiry_withdraw(&engine, &q))
			withdrawn++;
		if (i == ROUNDS - 20)
			atomic_store(&over, true); /* the last ones meet its end */
		while (inquiry_is_lent(&q))
			sched_yield();
		for (unsigned k = 0; k < q.count; k++)
			assert_string_equal(q.sessions[k].frontend, first_frontend(&engine)->config->name);
		q.place = q.over ? 0 : q.place;
	}
	pthread_join(thread, NULL);
	assert_true(withdrawn > 0);
}

#define INQUIRY_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		INQUIRY_TEST(a_walk_goes_a_few_sessions_at_a_time),
		INQUIRY_TEST(a_turn_looks_at_so_many_places),
		INQUIRY_TEST(no_slice_holds_a_worker_with_many_sessions_up),
		INQUIRY_TEST(nobody_is_found_twice_and_who_stays_is_found_once),
		INQUIRY_TEST(one_session_is_found_wherever_it_is),
		INQUIRY_TEST(old_sessions_are_found_alone),
		INQUIRY_TEST(a_sum_has_each_byte_that_had_moved_once),
		INQUIRY_TEST(a_full_mailbox_leaves_no_live_byte_out),
		INQUIRY_TEST(each_turn_answers_one),
		INQUIRY_TEST(what_is_withdrawn_is_answered_by_nobody),
		INQUIRY_TEST(a_worker_that_has_ended_is_answered_for),
		INQUIRY_TEST(control_and_worker_go_on_side_by_side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * test_record.c - which sessions get a line when they end, and what the line says of the others.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/account/session_record.h"
#include "weir/engine/tallies.h"
#include "engine/record.h"
#include "engine/session.h"
#include "engine/worker.h"
#include "small_engine.h"

#define SHARE 10

static struct small_config config;
static struct engine engine;
static struct worker *workers[2];
static struct server *server;
static struct log_ring *ring;
static uint32_t next_number;

static void no_news(void *arg)
{
	(void)arg;
}

static void open_engine(unsigned share)
{
	small_config_init(&config);
	config.frontend.log_sample = share;
	small_engine_open(&engine, &config.config, 2, no_news);
	small_engine_stand_in(&engine);
	for (unsigned i = 0; i < 2; i++)
		workers[i] = small_engine_worker(&engine, i);
	server = first_server(&engine);
	ring = log_ring_new(no_news, NULL);
	assert_non_null(ring);
	log_use_ring(ring);
}

static void close_engine(void)
{
	log_use_ring(NULL);
	log_ring_free(ring);
	assert_true(small_engine_is_unused(&engine));
	engine_free(&engine);
}

static struct session begin(unsigned worker)
{
	struct session s;

	memset(&s, 0, sizeof(s));
	session_comes_in(&s, workers[worker], first_endpoint(&engine));
	s.number = next_number++;
	s.tries = 1;
	s.log_state = SESSION_FORWARDING;
	atomic_fetch_add(&engine.sessions, 1);
	atomic_fetch_add(&first_frontend(&engine)->sessions, 1);
	tally_session_began(&s);
	tally_backend_entered(&s);
	session_goes_to(&s, server);
	tally_server_entered(&s, atomic_fetch_add(&server->sessions, 1) + 1);
	s.server_counted = true;
	return s;
}

/* In the order of session_end.c. Was it logged? Then `*r` is what was. */
static bool end(struct session *s, enum close_reason reason, struct session_record *r)
{
	struct log_entry e;
	bool is_logged;

	s->reason = (uint8_t)reason;
	tally_session_ended(s);
	record_session_end(s);
	atomic_fetch_sub(&server->sessions, 1);
	session_goes_away(s);
	atomic_fetch_sub(&first_frontend(&engine)->sessions, 1);
	atomic_fetch_sub(&engine.sessions, 1);
	is_logged = log_ring_peek(ring, &e);
	if (is_logged) {
		session_record_take(&e, r);
		log_ring_pop(ring);
	}
	return is_logged;
}

static bool one(unsigned worker, uint8_t tries, enum close_reason reason, struct session_record *r)
{
	struct session s = begin(worker);

	s.tries = tries;
	return end(&s, reason, r);
}

static void every_session_is_logged_by_default(void **state)
{
	struct session_record r;

	(void)state;
	open_engine(0);
	for (int i = 0; i < 100; i++) {
		assert_true(one(0, 1, CLOSE_NORMAL, &r));
		assert_int_equal(r.sample, 1);
	}
	close_engine();
}

/* Of sessions that ended well, and the same whichever worker they are of. */
static void a_sample_is_a_share_of_the_good_ones(void **state)
{
	struct session_record r;
	int logged[2] = {0};

	(void)state;
	open_engine(SHARE);
	for (int i = 0; i < 20000; i++) {
		if (!one((unsigned)i % 2, 1, CLOSE_NORMAL, &r))
			continue;
		assert_int_equal(r.sample, SHARE);
		logged[i % 2]++;
	}
	for (int i = 0; i < 2; i++) {
		assert_true(logged[i] > 900);
		assert_true(logged[i] < 1100);
	}
	close_engine();
}

static void errors_and_retries_are_always_logged(void **state)
{
	static const unsigned shares[] = {SHARE, UINT_MAX};
	struct session_record r;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
		open_engine(shares[i]);
		for (int n = 0; n < 100; n++) {
			assert_true(one(0, 1, CLOSE_SERVER_RESET, &r));
			assert_int_equal(r.sample, 1);
			assert_true(one(0, 2, CLOSE_NORMAL, &r));
			assert_int_equal(r.sample, 1);
		}
		close_engine();
	}
}

static void errors_only_means_that(void **state)
{
	struct session_record r;

	(void)state;
	open_engine(UINT_MAX);
	for (int i = 0; i < 1000; i++)
		assert_false(one(0, 1, CLOSE_NORMAL, &r));
	close_engine();
}

/* HAProxy's way: of the process and the frontend with the session itself, of the others without. */
static void counts_are_taken_only_if_a_target_wants_them(void **state)
{
	struct session others[3], s;
	struct session_record r;

	(void)state;
	open_engine(0);
	others[0] = begin(0);
	others[1] = begin(1);
	others[2] = begin(1);
	assert_true(one(0, 1, CLOSE_NORMAL, &r));
	assert_int_equal(r.process_sessions, 0);
	assert_int_equal(r.backend_sessions, 0);
	log_want_counts(true);
	s = begin(0);
	assert_true(end(&s, CLOSE_NORMAL, &r));
	log_want_counts(false);
	assert_int_equal(r.process_sessions, 4);
	assert_int_equal(r.frontend_sessions, 4);
	assert_int_equal(r.backend_sessions, 3);
	assert_int_equal(r.server_sessions, 3);
	for (int i = 0; i < 3; i++)
		assert_true(end(&others[i], CLOSE_NORMAL, &r));
	close_engine();
}

/* What a flow that died had in its pipe has not left us. */
static void spliced_bytes_are_part_of_those_that_left(void **state)
{
	struct session_record r;
	struct session s;

	(void)state;
	open_engine(0);
	s = begin(0);
	s.flows[FLOW_TO_SERVER].bytes_out = 100;
	s.flows[FLOW_TO_SERVER].bytes_spliced = 60;
	s.flows[FLOW_TO_CLIENT].bytes_out = 4000;
	s.flows[FLOW_TO_CLIENT].bytes_spliced = 5000;
	assert_true(end(&s, CLOSE_CLIENT_RESET, &r));
	assert_int_equal(r.bytes_spliced, 60 + 4000);
	assert_true(r.bytes_spliced <= r.bytes_to_server + r.bytes_to_client);
	close_engine();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_session_is_logged_by_default),
		cmocka_unit_test(a_sample_is_a_share_of_the_good_ones),
		cmocka_unit_test(errors_and_retries_are_always_logged),
		cmocka_unit_test(errors_only_means_that),
		cmocka_unit_test(counts_are_taken_only_if_a_target_wants_them),
		cmocka_unit_test(spliced_bytes_are_part_of_those_that_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

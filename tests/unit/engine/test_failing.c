/* SPDX-License-Identifier: MIT
 *
 * test_failing.c - which ends of sessions are failures, and what is noted of them, without any network.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/account/failure.h"
#include "engine/failing.h"
#include "engine/record.h"
#include "small_engine.h"

struct rig {
	struct small_config config;
	struct engine engine;
	struct worker *worker;
	struct session *session;
};

static void no_news(void *arg)
{
	(void)arg;
}

static int open_rig(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	small_config_init(&r->config);
	small_engine_open(&r->engine, &r->config.config, 1, no_news);
	small_engine_stand_in(&r->engine);
	r->worker = small_engine_worker(&r->engine, 0);
	r->session = calloc(1, sizeof(*r->session));
	assert_non_null(r->session);
	session_comes_in(r->session, r->worker, first_endpoint(&r->engine));
	r->session->number = 7;
	r->session->client = (struct addr_brief){.family = AF_INET, .port = 4711, .ip = {192, 0, 2, 1}};
	*state = r;
	return 0;
}

static int close_rig(void **state)
{
	struct rig *r = *state;

	session_goes_away(r->session);
	free(r->session);
	assert_true(small_engine_is_unused(&r->engine));
	engine_free(&r->engine);
	free(r);
	return 0;
}

static uint64_t count(const struct rig *r, enum failure_group group)
{
	return failure_count(engine_failures(&r->engine, 0, group));
}

static struct failure last(const struct rig *r, enum failure_group group)
{
	struct failure f;

	assert_true(count(r, group) > 0);
	assert_true(failure_get(engine_failures(&r->engine, 0, group), count(r, group) - 1, &f));
	return f;
}

static void a_try_has_both_addresses_and_its_errno(void **state)
{
	struct rig *r = *state;
	struct failure f;

	session_goes_to(r->session, first_server(&r->engine));
	r->session->backend_counted = true;
	r->session->tries = 2;
	failing_connect(r->session, -ECONNREFUSED, CLOSE_CONNECT_REFUSED);
	f = last(r, FAILURES_OF_SESSIONS);
	assert_int_equal(f.phase, FAILURE_CONNECT);
	assert_int_equal(f.err, ECONNREFUSED);
	assert_int_equal(f.reason, CLOSE_CONNECT_REFUSED);
	assert_int_equal(f.tries, 2);
	assert_int_equal(f.number, 7);
	assert_int_equal(f.client.port, 4711);
	assert_true(addr_equal(&f.server_address, server_addr(first_server(&r->engine))));
	assert_string_equal(f.frontend, "f");
	assert_string_equal(f.backend, "b");
	assert_string_equal(f.server, "a");
}

static void a_side_that_breaks_is_named(void **state)
{
	struct rig *r = *state;

	r->session->reason = CLOSE_CLIENT_RESET;
	failing_side(r->session, SIDE_CLIENT, -ECONNRESET);
	assert_int_equal(last(r, FAILURES_OF_SESSIONS).phase, FAILURE_CLIENT);
	r->session->reason = CLOSE_SERVER_LOST;
	failing_side(r->session, SIDE_SERVER, -ETIMEDOUT);
	assert_int_equal(last(r, FAILURES_OF_SESSIONS).phase, FAILURE_SERVER);
	assert_int_equal(last(r, FAILURES_OF_SESSIONS).err, ETIMEDOUT);
}

static void end(struct rig *r, enum session_state state, enum close_reason reason)
{
	r->session->log_state = state & 15u;
	r->session->reason = (uint8_t)reason;
	failing_end(r->session);
}

static void a_good_end_or_a_known_failure_is_not_noted(void **state)
{
	struct rig *r = *state;

	end(r, SESSION_FORWARDING, CLOSE_NORMAL);
	end(r, SESSION_FORWARDING, CLOSE_KILLED);
	end(r, SESSION_QUEUED, CLOSE_CLIENT_GONE);
	r->session->failed = 1;
	end(r, SESSION_FORWARDING, CLOSE_CLIENT_RESET);
	r->session->failed = 0;
	assert_int_equal(count(r, FAILURES_OF_SESSIONS), 0);
	failing_connect(r->session, -ECONNREFUSED, CLOSE_CONNECT_REFUSED);
	end(r, SESSION_CONNECTING, CLOSE_CONNECT_REFUSED);
	failing_connect(r->session, -EMFILE, CLOSE_NO_RESOURCE);
	end(r, SESSION_CONNECTING, CLOSE_NO_RESOURCE);
	assert_int_equal(count(r, FAILURES_OF_SESSIONS), 2);
	assert_int_equal(count(r, FAILURES_OF_OUTSIDERS), 0);
}

/* No memory for a timer: no try has failed, but the session has. */
static void an_end_during_a_try_is_noted(void **state)
{
	struct rig *r = *state;

	r->session->backend_counted = true;
	end(r, SESSION_CONNECTING, CLOSE_NO_RESOURCE);
	assert_int_equal(count(r, FAILURES_OF_SESSIONS), 1);
	assert_int_equal(last(r, FAILURES_OF_SESSIONS).phase, FAILURE_CONNECT);
	assert_int_equal(last(r, FAILURES_OF_SESSIONS).reason, CLOSE_NO_RESOURCE);
	assert_int_equal(last(r, FAILURES_OF_SESSIONS).err, 0);
}

static void an_end_has_its_phase(void **state)
{
	static const struct {
		enum session_state state;
		enum close_reason reason;
		enum failure_phase phase;
	} rows[] = {
		{SESSION_ACCEPTED, CLOSE_NO_SERVER, FAILURE_CHOICE},
		{SESSION_HANDSHAKE, CLOSE_NO_SERVER, FAILURE_CHOICE},
		{SESSION_QUEUED, CLOSE_QUEUE_TIMEOUT, FAILURE_QUEUE},
		{SESSION_CONNECTING, CLOSE_SERVER_DOWN, FAILURE_CONNECT},
		{SESSION_WAITING, CLOSE_NO_SERVER, FAILURE_CONNECT},
		{SESSION_FORWARDING, CLOSE_CLIENT_TIMEOUT, FAILURE_CLIENT},
		{SESSION_FORWARDING, CLOSE_SERVER_TIMEOUT, FAILURE_SERVER},
		{SESSION_FORWARDING, CLOSE_HALF_CLOSED_TIMEOUT, FAILURE_SESSION},
	};
	struct rig *r = *state;

	r->session->backend_counted = true;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		end(r, rows[i].state, rows[i].reason);
		assert_int_equal(count(r, FAILURES_OF_SESSIONS), i + 1);
		assert_int_equal(last(r, FAILURES_OF_SESSIONS).phase, rows[i].phase);
		assert_int_equal(last(r, FAILURES_OF_SESSIONS).reason, rows[i].reason);
		assert_int_equal(last(r, FAILURES_OF_SESSIONS).err, 0);
	}
	assert_int_equal(count(r, FAILURES_OF_OUTSIDERS), 0);
}

static void outsiders_push_out_no_other_failure(void **state)
{
	struct rig *r = *state;
	struct failure f;

	r->session->backend_counted = true;
	end(r, SESSION_QUEUED, CLOSE_QUEUE_TIMEOUT);
	r->session->backend_counted = false;
	for (unsigned i = 0; i < 2 * FAILURES_KEPT; i++)
		record_turned_away(r->worker, r->session->entry, &r->session->client, CLOSE_DENIED);
	end(r, SESSION_HANDSHAKE, CLOSE_PROXY_BAD_V1);
	assert_int_equal(count(r, FAILURES_OF_OUTSIDERS), 2 * FAILURES_KEPT + 1);
	f = last(r, FAILURES_OF_OUTSIDERS);
	assert_int_equal(f.phase, FAILURE_HANDSHAKE);
	assert_string_equal(f.backend, "");
	assert_int_equal(count(r, FAILURES_OF_SESSIONS), 1);
	assert_int_equal(last(r, FAILURES_OF_SESSIONS).phase, FAILURE_QUEUE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)
	const struct CMUnitTest tests[] = {
		TEST(a_try_has_both_addresses_and_its_errno),
		TEST(a_side_that_breaks_is_named),
		TEST(a_good_end_or_a_known_failure_is_not_noted),
		TEST(an_end_during_a_try_is_noted),
		TEST(an_end_has_its_phase),
		TEST(outsiders_push_out_no_other_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

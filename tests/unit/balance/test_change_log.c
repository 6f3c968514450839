/* SPDX-License-Identifier: MIT
 *
 * test_change_log.c - a change of a server or backend as a line of JSON: each fact is a field.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "config_of_servers.h"
#include "live_by_hand.h"
#include "balance/server_change.h"
#include "weir/balance/backend.h"
#include "weir/balance/change_log.h"
#include "weir/base/log.h"

struct fixture {
	struct config_of_servers c;
	struct backend *b;
	struct log_ring *log;
};

static void nobody_sleeps(void *arg)
{
	(void)arg;
}

static int setup(void **state)
{
	static struct fixture f;

	config_of_servers_init(&f.c, (unsigned[]){1, 1, 1}, 3);
	(void)snprintf(f.c.backend.name, sizeof(f.c.backend.name), "web");
	f.log = log_ring_new(nobody_sleeps, NULL);
	f.b = backend_by_hand(&f.c.config);
	log_use_ring(f.log);
	*state = &f;
	return f.log == NULL || f.b == NULL ? -1 : 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	log_use_ring(NULL);
	backend_by_hand_free(f->b);
	log_ring_free(f->log);
	return 0;
}

static void expect(struct fixture *f, enum log_level level, const char *text)
{
	char line[2 * LOG_RECORD_MAX];
	struct log_entry e;

	assert_true(log_ring_peek(f->log, &e));
	assert_int_equal(e.level, level);
	(void)log_entry_format(&e, LOG_STYLE_JSON, line, sizeof(line));
	assert_string_equal(line, text);
	log_ring_pop(f->log);
}

static void a_state_has_from_to_and_reason(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(server_set_health(f->b->servers[0], false, "connection \"refused\"", 1), 0);
	expect(f, LOG_LEVEL_WARNING,
	       "\"event\":\"server_state\",\"backend\":\"web\",\"server\":\"a\",\"from\":\"UP\","
	       "\"to\":\"DOWN\",\"reason\":\"connection \\\"refused\\\"\",\"usable\":2,\"servers\":3,"
	       "\"sessions\":0,\"queued\":0,\"message\":\"server web/a is DOWN: connection \\\"refused\\\"; "
	       "2 of 3 servers left, 0 sessions active, 0 queued\"");
	assert_int_equal(server_set_health(f->b->servers[0], true, "", 2), 0);
	expect(f, LOG_LEVEL_NOTICE,
	       "\"event\":\"server_state\",\"backend\":\"web\",\"server\":\"a\",\"from\":\"DOWN\","
	       "\"to\":\"UP\",\"reason\":\"\",\"usable\":3,\"servers\":3,\"sessions\":0,\"queued\":0,"
	       "\"message\":\"server web/a is UP; 3 of 3 servers up, 0 sessions active, 0 queued\"");
}

static void weights_and_limits_are_numbers(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(server_set_weight(f->b->servers[1], 9, "by uid 7", 1), 0);
	expect(f, LOG_LEVEL_NOTICE,
	       "\"event\":\"server_weight\",\"backend\":\"web\",\"server\":\"b\",\"from\":1,\"to\":9,"
	       "\"reason\":\"by uid 7\",\"message\":\"server web/b: weight 9, was 1: by uid 7\"");
	assert_int_equal(server_set_maxconn(f->b->servers[1], 100, "by uid 7", 1), 0);
	expect(f, LOG_LEVEL_NOTICE,
	       "\"event\":\"server_maxconn\",\"backend\":\"web\",\"server\":\"b\",\"from\":0,\"to\":100,"
	       "\"reason\":\"by uid 7\",\"message\":\"server web/b: maxconn 100, was 0: by uid 7\"");
}

static void a_backend_without_a_server_is_an_event(void **state)
{
	struct fixture *f = *state;

	change_log_backend_down(f->b, 0);
	expect(f, LOG_LEVEL_ALERT,
	       "\"event\":\"backend_down\",\"backend\":\"web\",\"used\":0,\"servers\":3,"
	       "\"message\":\"backend web has no server left; no client is served until one is up\"");
	change_log_backend_down(f->b, 3);
	expect(f, LOG_LEVEL_ALERT,
	       "\"event\":\"backend_down\",\"backend\":\"web\",\"used\":3,\"servers\":3,"
	       "\"message\":\"backend web has no server left; 'panic' keeps 3 of its 3 servers in use\"");
}

/* Causes come from servers: a long one is cut, and the line stays whole. */
static void a_long_cause_is_cut(void **state)
{
	char line[2 * LOG_RECORD_MAX], cause[2000];
	struct fixture *f = *state;
	struct log_entry e;
	size_t n;

	memset(cause, '\x01', sizeof(cause));
	cause[sizeof(cause) - 1] = '\0';
	change_log(f->b->servers[0], CHANGE_STATE, SERVER_UP, SERVER_DOWN, cause);
	assert_true(log_ring_peek(f->log, &e));
	n = log_entry_format(&e, LOG_STYLE_JSON, line, sizeof(line));
	assert_int_equal(n, strlen(line));
	assert_int_equal(line[n - 1], '"');
	n = log_entry_format(&e, LOG_STYLE_TEXT, line, sizeof(line));
	assert_int_equal(n, strlen(line));
	assert_non_null(strstr(line, "server web/a is DOWN: "));
	assert_null(strchr(line, '\x01'));
}

#define CHANGE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHANGE_TEST(a_state_has_from_to_and_reason),
		CHANGE_TEST(weights_and_limits_are_numbers),
		CHANGE_TEST(a_backend_without_a_server_is_an_event),
		CHANGE_TEST(a_long_cause_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

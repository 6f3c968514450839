/* SPDX-License-Identifier: MIT
 *
 * test_session_format.c - the line of a session in HAProxy's form, and in formats of one's own.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "weir/account/close_reason.h"
#include "weir/account/limited_by.h"
#include "weir/account/session_format.h"
#include "weir/account/session_state.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"

#define NOON_NS (INT64_C(1795255200123) * 1000000) /* 2026-11-21T10:00:00.123Z */

static struct config_server server_config = {.name = "srv1"};
static struct config_backend backend_config = {.name = "bck"};
static struct config_frontend frontend_config = {.name = "fnt"};

static struct addr address(void)
{
	struct addr a = {.len = sizeof(a.in)};

	a.in.sin_family = AF_INET;
	a.in.sin_port = htons(80);
	a.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return a;
}

/* A session that had all there is. */
static struct session_record full_record(const struct addr *a)
{
	return (struct session_record){
		.frontend = &frontend_config,
		.backend = &backend_config,
		.server = &server_config,
		.address = a,
		.client = {.family = AF_INET, .port = 33313, .ip = {10, 0, 1, 2}},
		.bytes_to_server = 5,
		.bytes_to_client = UINT64_C(5000000000),
		.bytes_spliced = 4,
		.unacked_in = 11,
		.unacked_out = 12,
		.limited_by = LIMITED_US,
		.queue_ns = 250 * NS_PER_MS,
		.connect_ns = 7 * NS_PER_MS + 999999,
		.duration_ns = 5007 * NS_PER_MS,
		.worker = 2,
		.number = 7,
		.before = 3,
		.sample = 100,
		.bind = 9,
		.process_sessions = 31,
		.frontend_sessions = 21,
		.backend_sessions = 11,
		.server_sessions = 1,
		.tries = 4,
		.redispatched = true,
		.queued_at_server = true,
		.reason = CLOSE_CLIENT_RESET,
		.state = SESSION_FORWARDING,
		.unique_id_len = 3,
		.proto = CONFIG_PROTO_SSH,
		.has_sni = true,
		.sni_len = 3,
		.tail = "x\"\na.b",
	};
}

/* A client that was turned away. */
static const struct session_record refused = {
	.frontend = &frontend_config, .backend = &backend_config, .queue_ns = -1, .connect_ns = -1,
	.worker = 2, .number = 8, .process_sessions = 1, .frontend_sessions = 1, .reason = CLOSE_NO_SERVER,
	.state = SESSION_ACCEPTED,
};

static void wake(void *arg)
{
	(void)arg;
}

/* Formats the record as the log's reader does, into at most `room` bytes. */
static size_t format(const struct session_record *r, const char *text, char *out, size_t room)
{
	struct log_ring *ring = log_ring_new(wake, NULL);
	struct log_format_fault fault;
	struct log_format f;
	struct log_entry e;
	size_t len;

	assert_non_null(ring);
	log_use_ring(ring);
	session_record_log(r);
	log_use_ring(NULL);
	assert_true(log_ring_peek(ring, &e));
	assert_true(session_record_is(&e));
	e.wall_ns = NOON_NS;
	assert_int_equal(log_format_parse(&f, text, &fault), 0);
	len = session_format_line(&f, &e, out, room);
	log_ring_pop(ring);
	log_ring_free(ring);
	assert_int_equal(strlen(out), len);
	return len;
}

static void assert_line(const struct session_record *r, const char *text, const char *line)
{
	char out[1600];

	(void)format(r, text, out, sizeof(out));
	assert_string_equal(out, line);
}

static void tcplog_is_haproxys(void **state)
{
	const struct addr a = address();
	struct session_record r = full_record(&a);

	(void)state;
	assert_line(&r, LOG_FORMAT_TCPLOG,
		    "10.0.1.2:33313 [21/Nov/2026:09:59:55.116] fnt bck/srv1 251/7/5007 5000000000 CD "
		    "31/21/11/1/+3 4/0");
	r.queued_at_server = false;
	r.redispatched = false;
	assert_line(&r, "{%rc} {%sq}/{%bq} {%U}", "3 0/4 5");
	/* HAProxy prints 1 for a session that did not wait. */
	r.queue_ns = -1;
	r.before = 0;
	r.tries = 1;
	assert_line(&r, "{%Tw}/{%Tc}/{%Tt} {%rc} {%sq}/{%bq}", "1/7/5007 0 0/0");
	assert_line(&refused, LOG_FORMAT_TCPLOG,
		    "-:- [21/Nov/2026:10:00:00.123] fnt bck/<NOSRV> -1/-1/0 0 SC 1/1/0/0/0 0/0");
}

/* Besides the letters of close_reasons.tbl.h. */
static void letters_are_haproxys(void **state)
{
	struct session_record r = refused;

	(void)state;
	r.reason = CLOSE_KILLED;
	r.state = SESSION_FORWARDING;
	assert_line(&r, "{%ts} {ts_code}", "K- K-");
	r.reason = CLOSE_SERVER_DOWN;
	assert_line(&r, "{%ts}", "D-");
	r.state = SESSION_QUEUED;
	assert_line(&r, "{%ts}", "DQ");
	r.state = SESSION_FORWARDING;
	r.reason = CLOSE_HALF_CLOSED_TIMEOUT;
	assert_line(&r, "{%ts}", "cD");
	r.is_server_late = true;
	assert_line(&r, "{%ts}", "sD");
}

static void clients_of_each_family_have_their_address(void **state)
{
	struct session_record r = refused;

	(void)state;
	r.client = (struct addr_brief){.family = AF_INET6, .port = 80, .ip = {[15] = 1}};
	assert_line(&r, "{%ci}:{%cp} {client}", "::1:80 [::1]:80");
	r.client = (struct addr_brief){.family = AF_UNIX};
	r.bind = 9;
	assert_line(&r, "{%ci}:{%cp} {client}", "unix:9 unix:");
}

static void each_field_has_its_value(void **state)
{
	static const struct {
		const char *text, *full, *empty;
	} rows[] = {
		{"{ts}", "2026-11-21T10:00:00.123Z", "2026-11-21T10:00:00.123Z"},
		{"{client}", "10.0.1.2:33313", "-"},
		{"{frontend}/{backend}/{server}", "fnt/bck/srv1", "fnt/bck/-"},
		{"{server_address}", "127.0.0.1:80", "-"},
		{"{duration_s} {queue_s} {queue} {connect_s}", "5.007000 0.250000 3 0.008000",
		 "0.000000 - - -"},
		{"{bytes_in} {bytes_out} {bytes_spliced}", "5 5000000000 4", "0 0 0"},
		{"{unacked_in} {unacked_out} {limited_by} {tries}", "11 12 us 4", "0 0 - 0"},
		{"{reason} {reason_text}", "client_reset client reset the connection",
		 "no_server no server is usable"},
		{"{ts_code} {worker} {id}", "CD 2 2.7", "SC 2 2.8"},
		{"{unique_id} {sample}", "x\\x22\\x0a 100", "- 1"},
		{"{sni}", "a.b", "-"},
		{"{sniffed}", "ssh", "-"},
		{"{{{id}}} 100 %", "{2.7} 100 %", "{2.8} 100 %"},
	};
	const struct addr a = address();
	const struct session_record full = full_record(&a);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_line(&full, rows[i].text, rows[i].full);
		assert_line(&refused, rows[i].text, rows[i].empty);
	}
}

/* No row of log_names.tbl.h is forgotten. */
static void every_field_can_be_printed(void **state)
{
	const struct addr a = address();
	const struct session_record full = full_record(&a);
	char text[64], out[1600];

	(void)state;
	for (enum log_name i = 0; i < LOG_NAMES; i++) {
		(void)snprintf(text, sizeof(text), "{%s}", log_name_word(i));
		assert_true(format(&full, text, out, sizeof(out)) > 0);
		assert_true(format(&refused, text, out, sizeof(out)) > 0);
	}
}

static void a_long_line_is_cut_and_says_so(void **state)
{
	const struct addr a = address();
	const struct session_record full = full_record(&a);
	char out[64];

	(void)state;
	memset(out, 'z', sizeof(out));
	(void)format(&full, "{id} {reason_text}", out, 20); /* the sentence has no room */
	assert_string_equal(out, "2.7 ...");
	assert_int_equal(out[20], 'z');
	/* 16 bytes and the mark are what fits. */
	(void)format(&full, "0123456789abcde{{", out, 20);
	assert_string_equal(out, "0123456789abcde{");
	(void)format(&full, "0123456789abcde{{{worker}", out, 20);
	assert_string_equal(out, "0123456789abcde{...");
	assert_int_equal(out[20], 'z');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tcplog_is_haproxys),
		cmocka_unit_test(letters_are_haproxys),
		cmocka_unit_test(clients_of_each_family_have_their_address),
		cmocka_unit_test(each_field_has_its_value),
		cmocka_unit_test(every_field_can_be_printed),
		cmocka_unit_test(a_long_line_is_cut_and_says_so),
	};

	(void)setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

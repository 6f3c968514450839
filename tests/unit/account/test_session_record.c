/* SPDX-License-Identifier: MIT
 *
 * test_session_record.c - the log's line of a session that ended: the same fields as text and as JSON.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/account/close_reason.h"
#include "weir/account/limited_by.h"
#include "weir/account/session_record.h"
#include "weir/account/session_state.h"
#include "weir/base/clock.h"
#include "weir/base/log.h"

static struct config_server server_config = {.name = "a"};
static struct config_backend backend_config = {.name = "app"};
static struct config_frontend frontend_config = {.name = "web"};

/* A client that was turned away. */
static const struct session_record refused = {
	.frontend = &frontend_config, .backend = &backend_config, .queue_ns = -1, .connect_ns = -1,
	.worker = 2, .number = 7, .reason = CLOSE_DENIED, .state = SESSION_ACCEPTED,
};

static void wake(void *arg)
{
	(void)arg;
}

static void assert_logged(const struct session_record *r, const char *line, const char *object)
{
	struct log_ring *ring = log_ring_new(wake, NULL);
	struct log_entry e;
	char out[2048];

	assert_non_null(ring);
	log_use_ring(ring);
	session_record_log(r);
	log_use_ring(NULL);
	assert_true(log_ring_peek(ring, &e));
	assert_int_equal(e.level, LOG_LEVEL_INFO);
	(void)log_entry_format(&e, LOG_STYLE_TEXT, out, sizeof(out));
	assert_string_equal(out, line);
	(void)log_entry_format(&e, LOG_STYLE_JSON, out, sizeof(out));
	assert_string_equal(out, object);
	log_ring_pop(ring);
	log_ring_free(ring);
}

static void what_a_client_did_not_reach_is_a_dash_or_left_out(void **state)
{
	(void)state;
	assert_logged(&refused,
		      "session client=- frontend=web backend=app server=- server_address=- bytes_in=0 "
		      "bytes_out=0 bytes_spliced=0 queue=- queue_s=- connect_s=- duration_s=0.000000 tries=0 "
		      "ts_code=PC reason=denied reason_text=\"not allowed from this address\" id=2.7",
		      "\"event\":\"session\",\"frontend\":\"web\",\"backend\":\"app\","
		      "\"duration_s\":0.000000,\"bytes_in\":0,\"bytes_out\":0,\"bytes_spliced\":0,"
		      "\"tries\":0,\"reason\":\"denied\",\"reason_text\":\"not allowed from this address\","
		      "\"ts_code\":\"PC\",\"worker\":2,\"id\":\"2.7\"");
}

static void a_session_tells_all_that_it_has(void **state)
{
	static struct addr a;
	struct session_record r = refused;

	(void)state;
	a.in.sin_family = AF_INET;
	a.in.sin_port = htons(80);
	a.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a.len = sizeof(a.in);
	r.server = &server_config;
	r.address = &a;
	r.client = (struct addr_brief){.family = AF_INET, .port = 4711, .ip = {192, 0, 2, 1}};
	r.bytes_to_server = 5;
	r.bytes_to_client = UINT64_C(5000000000);
	r.bytes_spliced = 4;
	r.unacked_in = 11;
	r.unacked_out = 12;
	r.queue_ns = NS_PER_SEC / 2;
	r.before = 3;
	r.connect_ns = NS_PER_MS;
	r.duration_ns = 2 * NS_PER_SEC;
	r.limited_by = LIMITED_CLIENT;
	r.tries = 2;
	r.reason = CLOSE_CLIENT_RESET;
	r.state = SESSION_FORWARDING;
	r.sample = 100;
	r.unique_id_len = 3;
	memcpy(r.tail, "x\"\na\"b.example", 14);
	r.has_sni = true;
	r.sni_len = 11;
	r.proto = CONFIG_PROTO_TLS;
	assert_logged(&r,
		      "session client=192.0.2.1:4711 frontend=web backend=app server=a "
		      "server_address=127.0.0.1:80 bytes_in=5 bytes_out=5000000000 bytes_spliced=4 queue=3 "
		      "queue_s=0.500000 connect_s=0.001000 duration_s=2.000000 tries=2 ts_code=CD "
		      "reason=client_reset reason_text=\"client reset the connection\" id=2.7 unacked_in=11 "
		      "unacked_out=12 limited_by=client sample=100 unique_id=x\\x22\\x0a "
		      "sni=\"a\\x22b.example\" sniffed=tls",
		      "\"event\":\"session\",\"frontend\":\"web\",\"backend\":\"app\",\"server\":\"a\","
		      "\"client\":\"192.0.2.1:4711\",\"server_address\":\"127.0.0.1:80\","
		      "\"duration_s\":2.000000,\"queue_s\":0.500000,\"queue\":3,\"connect_s\":0.001000,"
		      "\"bytes_in\":5,\"bytes_out\":5000000000,\"bytes_spliced\":4,\"unacked_in\":11,"
		      "\"unacked_out\":12,\"limited_by\":\"client\",\"tries\":2,\"reason\":\"client_reset\","
		      "\"reason_text\":\"client reset the connection\",\"ts_code\":\"CD\",\"worker\":2,"
		      "\"id\":\"2.7\",\"sample\":100,\"unique_id\":\"x\\\\x22\\\\x0a\","
		      "\"sni\":\"a\\\\x22b.example\",\"sniffed\":\"tls\"");
}

/* The reason has no letter of its own: that of the state stands there. */
static void the_second_letter_is_that_of_the_state(void **state)
{
	(void)state;
	assert_int_equal(session_state_letter(SESSION_QUEUED), 'Q');
	assert_int_equal(session_state_letter(SESSION_FORWARDING), 'D');
	for (int i = SESSION_FREE; i <= SESSION_CLOSING; i++)
		if (i != SESSION_QUEUED && i != SESSION_FORWARDING)
			assert_int_equal(session_state_letter((enum session_state)i), 'C');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_client_did_not_reach_is_a_dash_or_left_out),
		cmocka_unit_test(a_session_tells_all_that_it_has),
		cmocka_unit_test(the_second_letter_is_that_of_the_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * test_session_facts.c - a living session as `show sess` has it: the same fields as a line and as an object.
 */
#include <arpa/inet.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/account/session_facts.h"
#include "weir/account/session_state.h"
#include "weir/base/clock.h"

static const struct session_facts facts = {
	.frontend = "12", .backend = "0.10", .bytes_to_server = 3,
	.bytes_to_client = UINT64_C(5000000000), .age_ns = 12 * NS_PER_MS, .number = 10, .held = {7, 0},
	.flow_state = {FLOW_OPEN, FLOW_ENDED},
	.state = SESSION_FORWARDING, .tries = 1, .pipes = 2,
};

static void assert_shown(const struct session_facts *f, const char *line, const char *object)
{
	struct text out;
	struct json json;

	text_init(&out);
	session_facts_show(f, &out);
	assert_string_equal(out.bytes, line);
	text_free(&out);
	json_init(&json, &out, JSON_CODES);
	session_facts_show_json(f, &json);
	assert_string_equal(out.bytes, object);
	text_free(&out);
}

static void a_session_is_a_line_and_an_object(void **state)
{
	(void)state;
	assert_shown(&facts,
		     "0x10000000a: proto=tcpv4 fe=12 be=0.10 srv=<none> age=0s id=0.10 state=forwarding "
		     "client=- frontend=12 backend=0.10 server=- server_address=- age_ms=12 tries=1 "
		     "bytes_in=3 bytes_out=5000000000 held=7,0 flows=open,ended pipes=2\n",
		     "{\"id\":\"0.10\",\"state\":\"forwarding\",\"client\":\"-\",\"frontend\":12,"
		     "\"backend\":\"0.10\",\"server\":\"-\",\"server_address\":\"-\","
		     "\"age_ms\":12,\"tries\":1,\"bytes_in\":3,\"bytes_out\":5000000000,"
		     "\"held\":\"7,0\",\"flows\":\"open,ended\",\"pipes\":2}");
}

/* A path may hold what looks like the next field. */
static void a_field_ends_where_it_ends(void **state)
{
	static const char path[] = "/tmp/a tries=9 b";
	struct session_facts f = facts;
	struct addr a = {.len = 0};

	(void)state;
	a.un.sun_family = AF_UNIX;
	memcpy(a.un.sun_path, path, sizeof(path));
	a.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(path));
	f.address = a;
	f.server[0] = 'a';
	f.unique_id_len = 3;
	memcpy(f.unique_id, "x\"\n", 3);
	assert_shown(&f,
		     "0x10000000a: proto=tcpv4 fe=12 be=0.10 srv=a age=0s id=0.10 state=forwarding client=- "
		     "frontend=12 backend=0.10 server=a server_address=unix:/tmp/a tries=9 b age_ms=12 "
		     "tries=1 bytes_in=3 bytes_out=5000000000 held=7,0 flows=open,ended pipes=2 "
		     "unique_id=x\\x22\\x0a\n",
		     "{\"id\":\"0.10\",\"state\":\"forwarding\",\"client\":\"-\",\"frontend\":12,"
		     "\"backend\":\"0.10\",\"server\":\"a\",\"server_address\":\"unix:/tmp/a tries=9 b\","
		     "\"age_ms\":12,\"tries\":1,\"bytes_in\":3,\"bytes_out\":5000000000,"
		     "\"held\":\"7,0\",\"flows\":\"open,ended\",\"pipes\":2,"
		     "\"unique_id\":\"x\\\\x22\\\\x0a\"}");
}

static void a_session_in_full_says_what_it_waits_for(void **state)
{
	struct session_facts f = facts;
	struct text out;
	struct json json;

	(void)state;
	f.detailed = true;
	f.idle_ns = NS_PER_SEC;
	f.left_ns = -1;
	f.age_ns = 10 * NS_PER_SEC;
	f.tcp[0] = (struct tcp_facts){.known = true, .state = 1, .rtt_us = 25, .window_us = 9000000};
	text_init(&out);
	session_facts_show_detail(&f, &out);
	assert_string_equal(out.bytes,
			    "id: 0.10\nstate: forwarding\nclient: -\nfrontend: 12\nbackend: 0.10\nserver: -\n"
			    "server_address: -\nage_ms: 10000\ntries: 1\nbytes_in: 3\nbytes_out: 5000000000\n"
			    "held: 7,0\nflows: open,ended\npipes: 2\n"
			    "waits_for: the server to read: 7 bytes are held here\nlimited_by: client\n"
			    "idle_s: 1.000\nrate_in: 0\nrate_out: 500000000\nclient_tcp: ESTABLISHED\n"
			    "client_rtt_us: 25\nclient_rtt_var_us: 0\nclient_min_rtt_us: 0\nclient_cwnd: 0\n"
			    "client_unacked: 0\nclient_lost: 0\nclient_retransmits: 0\n"
			    "client_unsent_bytes: 0\nclient_delivery_rate: 0\nclient_busy_us: 0\n"
			    "client_window_limited_us: 9000000\nclient_send_buffer_limited_us: 0\n"
			    "client_since_sent_ms: 0\nclient_since_received_ms: 0\n");
	text_free(&out);
	json_init(&json, &out, JSON_CODES);
	session_facts_show_detail_json(&f, &json);
	assert_non_null(strstr(out.bytes, "\"idle_s\":1.000,\"rate_in\":0,"));
	text_free(&out);
}

static void each_state_waits_for_something(void **state)
{
	static const struct {
		enum session_state state;
		const char *wait;
	} rows[] = {
		{SESSION_HANDSHAKE, "the client to send its PROXY header"},
		{SESSION_HELD, "another session of its source to end"},
		{SESSION_SNIFFING, "the client to send its TLS hello or RDP request"},
		{SESSION_QUEUED, "a place at a server of 0.10"},
		{SESSION_CONNECTING, "0.10/a to answer the connect"},
		{SESSION_WAITING, "the pause after a failed connect to end"},
		{SESSION_CLOSING, "the last bytes to be delivered"},
	};
	struct session_facts f = facts;
	char wait[SESSION_WAIT_MAX];

	(void)state;
	f.server[0] = 'a';
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		f.state = (uint8_t)rows[i].state;
		assert_string_equal(session_facts_wait(&f, wait), rows[i].wait);
	}
	f.state = SESSION_FORWARDING;
	f.held[FLOW_TO_CLIENT] = 1;
	assert_string_equal(session_facts_wait(&f, wait), "the server and the client to read");
	f.held[FLOW_TO_SERVER] = 0;
	assert_string_equal(session_facts_wait(&f, wait), "the client to read: 1 bytes are held here");
	f.held[FLOW_TO_CLIENT] = 0;
	assert_string_equal(session_facts_wait(&f, wait), "the client or the server to send");
	f.flow_state[FLOW_TO_CLIENT] = FLOW_DONE;
	assert_string_equal(session_facts_wait(&f, wait),
			    "the client to send or to close: the server has closed its side");
	f.flow_state[FLOW_TO_SERVER] = FLOW_DONE;
	assert_string_equal(session_facts_wait(&f, wait),
			    "the server to send or to close: the client has closed its side");
}

/* The facts of a session with an address; `text` as for inet_pton(). */
static struct session_facts with_client(uint16_t family, const char *text, uint16_t port)
{
	struct session_facts f = facts;

	f.client.family = family;
	f.client.port = port;
	f.entry = 6;
	if (family != AF_UNIX)
		assert_int_equal(inet_pton(family, text, f.client.ip), 1);
	return f;
}

static void assert_begins(const struct session_facts *f, const char *begin)
{
	struct text out;

	text_init(&out);
	session_facts_show(f, &out);
	assert_false(out.failed);
	if (strncmp(out.bytes, begin, strlen(begin)) != 0)
		fail_msg("'%s' does not begin with '%s'", out.bytes, begin);
	text_free(&out);
}

/* HAProxy writes IPv6 without brackets. */
static void a_line_begins_with_haproxys_fields(void **state)
{
	struct session_facts f = with_client(AF_INET, "10.0.0.7", 4711);

	(void)state;
	f.worker = 2;
	f.age_ns = 3723 * NS_PER_SEC;
	assert_begins(&f, "0x30000000a: proto=tcpv4 src=10.0.0.7:4711 fe=12 be=0.10 srv=<none> age=1h2m "
			  "id=2.10 ");
	f = with_client(AF_INET6, "2001:db8::1", 80);
	f.age_ns = 86400 * NS_PER_SEC + 5 * NS_PER_SEC;
	assert_begins(&f, "0x10000000a: proto=tcpv6 src=2001:db8::1:80 fe=12 be=0.10 srv=<none> age=1d5s "
			  "id=");
	f = with_client(AF_UNIX, NULL, 0);
	assert_begins(&f, "0x10000000a: proto=unix_stream src=unix:7 fe=12 ");
	/* The client is the one that a PROXY header names. */
	f = with_client(AF_INET, "10.0.0.7", 1);
	f.entry_is_unix = true;
	assert_begins(&f, "0x10000000a: proto=unix_stream src=10.0.0.7:1 fe=12 ");
}

static void a_key_names_the_worker(void **state)
{
	(void)state;
	assert_int_equal(session_worker(session_key(0, 0)), 0);
	assert_int_equal(session_worker(session_key(63, UINT32_MAX)), 63);
	assert_true(session_key(0, 0) != 0);
	assert_int_equal(session_worker(UINT32_MAX), UINT_MAX); /* of no session */
}

static void a_session_is_shown_in_full(void **state)
{
	struct session_facts f = with_client(AF_INET, "10.0.0.7", 4711);
	struct text out;

	(void)state;
	f.age_ns = 2 * NS_PER_SEC;
	f.tries = 3;
	text_init(&out);
	session_facts_show_large(&f, INT64_C(1000000000) * 1000000 + 2000123, &out);
	assert_non_null(strstr(out.bytes, "01:46:40.000123] id=10 proto=tcpv4 source=10.0.0.7:4711\n"
					  "  conn_retries=2\n"
					  "  frontend=12 (mode=tcp), listener=? (id=7)\n"
					  "  backend=0.10 (mode=tcp)\n"
					  "  server=<NONE>\n"
					  "  task (tmask=0x1 age=2s)\n"
					  "  weir: id=0.10 state=forwarding client=10.0.0.7:4711 "));
	assert_memory_equal(out.bytes, "0x10000000a: [09/Sep/2001:", 26);
	text_free(&out);
}

static void each_socket_is_a_line(void **state)
{
	static const char client[] =
		"     12 : tmask=0x1 owner=0x10000000a back=0 fam=ipv4 rport=4711 fe=12\n";
	static const char server[] =
		"     13 : tmask=0x1 owner=0x10000000a back=1 fam=ipv4 rport=80 sv=0.10/a\n";
	struct session_facts f = with_client(AF_INET, "10.0.0.7", 4711);
	char both[300];
	struct text out;

	(void)state;
	f.fds[0] = 12;
	f.fds[1] = 13;
	f.server[0] = 'a';
	f.address.len = sizeof(f.address.in);
	f.address.in.sin_family = AF_INET;
	f.address.in.sin_port = htons(80);
	(void)snprintf(both, sizeof(both), "%s%s", client, server);
	text_init(&out);
	session_facts_show_fds(&f, -1, &out);
	assert_string_equal(out.bytes, both);
	text_free(&out);
	session_facts_show_fds(&f, 13, &out);
	assert_string_equal(out.bytes, server);
	text_free(&out);
	f.fds[1] = -1;
	session_facts_show_fds(&f, -1, &out);
	assert_string_equal(out.bytes, client);
	text_free(&out);
	session_facts_show_fds(&f, 14, &out);
	assert_int_equal(out.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_is_a_line_and_an_object),
		cmocka_unit_test(a_field_ends_where_it_ends),
		cmocka_unit_test(a_session_in_full_says_what_it_waits_for),
		cmocka_unit_test(each_state_waits_for_something),
		cmocka_unit_test(a_line_begins_with_haproxys_fields),
		cmocka_unit_test(a_key_names_the_worker),
		cmocka_unit_test(a_session_is_shown_in_full),
		cmocka_unit_test(each_socket_is_a_line),
	};

	(void)setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * test_session_facts.c - a living session as `show sess` has it: the same fields as a line and as an object.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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
		     "session id=0.10 state=forwarding client=- frontend=12 backend=0.10 server=- "
		     "server_address=- age_ms=12 tries=1 bytes_in=3 bytes_out=5000000000 held=7,0 "
		     "flows=open,ended pipes=2\n",
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
		     "session id=0.10 state=forwarding client=- frontend=12 backend=0.10 server=a "
		     "server_address=unix:/tmp/a tries=9 b age_ms=12 tries=1 bytes_in=3 bytes_out=5000000000 "
		     "held=7,0 flows=open,ended pipes=2 unique_id=x\\x22\\x0a\n",
		     "{\"id\":\"0.10\",\"state\":\"forwarding\",\"client\":\"-\",\"frontend\":12,"
		     "\"backend\":\"0.10\",\"server\":\"a\",\"server_address\":\"unix:/tmp/a tries=9 b\","
		     "\"age_ms\":12,\"tries\":1,\"bytes_in\":3,\"bytes_out\":5000000000,"
		     "\"held\":\"7,0\",\"flows\":\"open,ended\",\"pipes\":2,"
		     "\"unique_id\":\"x\\\\x22\\\\x0a\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_is_a_line_and_an_object),
		cmocka_unit_test(a_field_ends_where_it_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

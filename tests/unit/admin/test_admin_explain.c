/* SPDX-License-Identifier: MIT
 *
 * test_admin_explain.c - `explain`: what would happen to a client, on real frontends and backends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "weir/balance/sticky.h"
#include "why_rig.h"

static void a_client_is_followed_to_its_server(void **state)
{
	(void)state;
	assert_true(server_enter(server_at(0, 1)));
	assert_answer("explain listener=in client=192.0.2.7",
		      "listener: in listens at 127.0.0.1:8080\n"
		      "maxconn: 0 of 1000 sessions of in\n"
		      "deny-from: does not contain the address\n"
		      "use-backend: rule 1, to app: not this port (8080)\n"
		      "use-backend: no rule matches: the backend of in\n"
		      "backend: web, balance = leastconn, servers: 3, clients queued: 0\n"
		      "web/a: 127.0.0.1:8001, UP, weight 1, 0 sessions, 0 queued: takes the client\n"
		      "web/b: 127.0.0.1:8002, UP, weight 1, 1 of 1 sessions, 0 queued: its maxconn is "
		      "reached\n"
		      "web/spare: 127.0.0.1:8003, UP, weight 1, 0 sessions, 0 queued: it is a backup, and "
		      "is not needed now\n"
		      "result: the client goes to web/a\n");
	server_leave(server_at(0, 1));
}

static void a_listener_is_named_by_its_address_too(void **state)
{
	(void)state;
	assert_has("explain listener=127.0.0.1:8443 client=192.0.2.7",
		   "listener: in listens at 127.0.0.1:8443\n");
	assert_answer("explain listener=x client=192.0.2.7",
		      "error: no frontend 'x', and none listens at such an address; see 'show stat -1 1 "
		      "-1'\n");
}

static void the_port_decides_where_a_rule_says_so(void **state)
{
	(void)state;
	assert_has("explain listener=in client=192.0.2.7 port=8443",
		   "use-backend: rule 1, to app: matches\n");
	assert_has("explain listener=in client=192.0.2.7 port=8443", "result: the client goes to app/u\n");
	assert_has("explain listener=in client=192.0.2.7 sni=a.example",
		   "sni: no rule looks at the name of the server that a client requests\n");
}

static void a_client_that_is_kept_out_is_told_by_which_rule(void **state)
{
	(void)state;
	assert_has("explain listener=in client=10.1.2.3:4711",
		   "result: 'deny-from' of in contains the address\n");
	assert_has("explain listener=in client=::ffff:10.1.2.3",
		   "result: 'deny-from' of in contains the address\n");
	assert_has("explain listener=in client=10.1.2.3 json", "\"outcome\":\"denied\"");
	context.state = DAEMON_DRAINING;
	assert_has("explain listener=in client=192.0.2.7", "result: the daemon is draining");
}

static struct frontend *first_frontend(void)
{
	return list_entry(engine.entries.frontends.next, struct frontend, link);
}

static void a_client_that_must_wait_is_told_for_what_and_what_then(void **state)
{
	static const char then[] =
		"result: the client waits in the kernel's queue to be accepted; as things are now, then: the "
		"client goes to one of 2 servers of web\n";
	struct frontend *fe = first_frontend();

	(void)state;
	atomic_store(&fe->sessions, 1000);
	assert_has("explain listener=in client=192.0.2.7", "maxconn: 1000 of 1000 sessions of in: reached\n");
	assert_has("explain listener=in client=192.0.2.7", then);
	assert_has("explain listener=in client=10.1.2.3 json", "\"outcome\":\"backlog\"");
	atomic_store(&fe->sessions, 0);
	rate_set_limit(&fe->rate, 1, clock_mono_ns());
	assert_has("explain listener=in client=192.0.2.7", "rate-limit: 1 per second for clients of in\n");
	rate_force(&fe->rate, clock_mono_ns());
	assert_has("explain listener=in client=192.0.2.7",
		   "rate-limit: 1 per second for clients of in: reached\n");
	assert_has("explain listener=in client=192.0.2.7", then);
	rate_set_limit(&fe->rate, 0, clock_mono_ns());
	atomic_store(&engine.is_accept_paused, true);
	assert_has("explain listener=in client=192.0.2.7",
		   "memory: memory is short: no client is accepted\n");
	assert_has("explain listener=in client=192.0.2.7", then);
	atomic_store(&engine.is_accept_paused, false);
	atomic_store(&engine.sessions, INT_MAX);
	assert_has("explain listener=in client=192.0.2.7", " sessions of the process: reached\n");
	atomic_store(&engine.sessions, 0);
}

static void nobody_comes_in_where_nothing_listens(void **state)
{
	struct frontend *fe = first_frontend();

	(void)state;
	assert_has("explain listener=in client=192.0.2.7 port=81",
		   "result: in listens at 127.0.0.1:8080, not at port 81\n");
	assert_has("explain listener=127.0.0.1:8443 client=192.0.2.7 port=8080",
		   "result: in listens at 127.0.0.1:8443, not at port 8080\n");
	fe->admin = FRONTEND_ADMIN_DISABLED;
	assert_has("explain listener=in client=192.0.2.7",
		   "result: frontend in is disabled; 'enable frontend in' brings it back\n");
	fe->admin = FRONTEND_ADMIN_SHUT;
	assert_has("explain listener=in client=192.0.2.7", "result: frontend in is shut down\n");
	fe->admin = FRONTEND_ADMIN_READY;
}

static int setup_with_any_port(void **state)
{
	int err;

	bind_configs[1].transparent = true;
	err = setup(state);
	bind_configs[1].transparent = false;
	return err;
}

static struct endpoint *first_endpoint(void)
{
	return list_entry(first_frontend()->endpoints.next, struct endpoint, link);
}

/* Where no bind has the port, one that takes any does. */
static void a_listener_that_takes_any_port_is_found(void **state)
{
	(void)state;
	assert_has("explain listener=in client=192.0.2.7 port=81",
		   "listener: in listens at 127.0.0.1:8443\n");
	assert_has("explain listener=in client=192.0.2.7 port=8080",
		   "listener: in listens at 127.0.0.1:8080\n");
}

static void without_a_server_the_frontend_decides(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++)
		server_updates_set_health(&hand.updates, server_at(0, i), false, "check failed");
	updates_by_hand_turn(&hand, clock_mono_ns());
	assert_has("explain listener=in client=192.0.2.7", "web/a: 127.0.0.1:8001, DOWN");
	assert_has("explain listener=in client=192.0.2.7",
		   "result: no server of web is usable: the client is closed (no-server = close)\n");
	assert_has("explain listener=in client=192.0.2.7 json", "\"outcome\":\"no_server\"");
}

static void words_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	assert_has("explain listener=in client=x",
		   "error: 'client' is not an address: names are not looked up");
	assert_has("explain listener=in client=10.0.0.0/8", "it is a network");
	assert_has("explain listener=in client=192.0.2.7 port=0", "error: 'port' must be a number");
	assert_has("explain listener=in client=192.0.2.7 port=65536", "error: 'port' must be a number");
	assert_has("explain listener=in nonsense=1", "error: 'nonsense=1' is none of listener=");
	assert_has("explain listener=in port=80", "error: 'client=' is missing");
	assert_has("explain client=unix port=80", "error: 'listener=' is missing");
}

static void a_client_of_a_unix_socket_can_be_asked_about(void **state)
{
	(void)state;
	assert_has("explain listener=in client=unix",
		   "result: the client goes to one of 2 servers of web\n");
}

static int setup_sticky(void **state)
{
	int err;

	backend_configs[0].sticky =
		(struct config_sticky){.by = CONFIG_STICKY_DST, .size = 10, .expire_ns = NS_PER_SEC};
	err = setup(state);
	backend_configs[0].sticky = (struct config_sticky){.by = CONFIG_STICKY_OFF};
	return err;
}

static void an_address_keeps_its_server(void **state)
{
	const struct sticky_change to = {.to = server_at(0, 1)->name_id, .expires_ns = INT64_MAX};
	const struct addr_brief loopback = {.family = AF_INET, .ip = {127, 0, 0, 1}};
	struct sticky_key k;
	bool evicted;

	(void)state;
	assert_true(sticky_key_of(STICKY_DESTINATIONS, &loopback, &k));
	(void)sticky_table_set(engine.backends[0]->sticky, &k, &to, &evicted);
	assert_has("explain listener=in client=192.0.2.7",
		   "sticky: clients that connect to 127.0.0.1 keep b\n");
	assert_has("explain listener=in client=192.0.2.7 dst=127.0.0.1",
		   "result: the client goes to web/b\n");
	assert_has("explain listener=in client=192.0.2.7 dst=127.0.0.2",
		   "result: in listens at 127.0.0.1:8080, not at the address in 'dst'\n");
	first_endpoint()->addr.in.sin_addr.s_addr = htonl(INADDR_ANY);
	assert_has("explain listener=in client=192.0.2.7", "sticky: the address that the client connects to");
	assert_has("explain listener=in client=192.0.2.7 dst=127.0.0.1",
		   "result: the client goes to web/b\n");
	assert_has("explain listener=in client=192.0.2.7 dst=127.0.0.2",
		   "result: the client goes to one of 2 servers of web\n");
	assert_has("explain listener=in client=192.0.2.7 dst=unix", "error: 'dst' is not an address");
	assert_has("explain listener=in client=192.0.2.7 dst=x", "error: 'dst' is not an address: names");
}

static void the_answer_as_json_has_the_same_steps(void **state)
{
	(void)state;
	assert_has("explain listener=in client=192.0.2.7 json",
		   "{\"step\":\"web/spare\",\"verdict\":\"backup\",\"text\":");
	assert_has("explain listener=in client=192.0.2.7 json",
		   "{\"step\":\"result\",\"outcome\":\"server\",");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_client_is_followed_to_its_server),
		TEST(a_listener_is_named_by_its_address_too),
		TEST(the_port_decides_where_a_rule_says_so),
		TEST(a_client_that_is_kept_out_is_told_by_which_rule),
		TEST(a_client_that_must_wait_is_told_for_what_and_what_then),
		TEST(nobody_comes_in_where_nothing_listens),
		cmocka_unit_test_setup_teardown(a_listener_that_takes_any_port_is_found,
						setup_with_any_port, teardown),
		TEST(without_a_server_the_frontend_decides),
		TEST(words_that_make_no_sense_are_refused),
		TEST(a_client_of_a_unix_socket_can_be_asked_about),
		cmocka_unit_test_setup_teardown(an_address_keeps_its_server, setup_sticky, teardown),
		TEST(the_answer_as_json_has_the_same_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

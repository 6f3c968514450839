/* SPDX-License-Identifier: MIT
 *
 * test_tcp_facts.c - what the kernel knows of a connection: of one that a slow reader holds back, and of what
 * is none.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/net/tcp_facts.h"
#include "weir/sys/sys.h"

static void connect_pair(int fds[2])
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(a);

	assert_true(listener >= 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&a, &len), 0);
	fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fds[0] >= 0);
	assert_int_equal(connect(fds[0], (struct sockaddr *)&a, sizeof(a)), 0);
	fds[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fds[1] >= 0);
	close(listener);
}

static void a_reader_that_does_not_read_is_seen(void **state)
{
	static const char bytes[65536];
	struct tcp_facts facts;
	int fds[2];

	(void)state;
	connect_pair(fds);
	tcp_facts_take(fds[0], &facts);
	assert_true(facts.known);
	assert_string_equal(tcp_facts_state_word(facts.state), "ESTABLISHED");
	assert_int_equal(facts.window_us, 0);
	while (send(fds[0], bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		;
	do
		tcp_facts_take(fds[0], &facts);
	while (facts.window_us < 1000); /* the test's time limit ends this */
	assert_true(facts.busy_us >= facts.window_us);
	assert_true(facts.unsent_bytes > 0);
	close(fds[0]);
	close(fds[1]);
}

static void what_is_no_tcp_socket_has_no_facts(void **state)
{
	struct tcp_facts facts = {.known = true, .rtt_us = 7};
	int fds[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	tcp_facts_take(fds[0], &facts);
	assert_false(facts.known);
	assert_int_equal(facts.rtt_us, 0);
	close(fds[0]);
	close(fds[1]);
}

static void every_state_has_a_word(void **state)
{
	(void)state;
	assert_string_equal(tcp_facts_state_word(0), "?");
	assert_string_equal(tcp_facts_state_word(8), "CLOSE_WAIT");
	assert_string_equal(tcp_facts_state_word(11), "CLOSING");
	assert_string_equal(tcp_facts_state_word(12), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_that_does_not_read_is_seen),
		cmocka_unit_test(what_is_no_tcp_socket_has_no_facts),
		cmocka_unit_test(every_state_has_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

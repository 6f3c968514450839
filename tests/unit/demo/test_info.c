/* SPDX-License-Identifier: MIT
 *
 * test_info.c - an answer of `show info` as numbers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "demo/info.h"

static const char answer[] =
    "version: 0.1.0\npid: 42\nworkers: 2\ndriver: epoll\nsessions: 7\naccepted: 1000\n"
    "retries: 3\nbytes_to_server: 10\nbytes_to_client: 20000000000\nbytes_spliced: 5\n"
    "generation: 4\ntrial_left_s: 5\nreloads: 1\nreloads_refused: 2\nrollbacks: 3\n"
    "frontend.demo.sessions: 99\n"
    "server.demo/b1: up sessions=4 total=600 failures=0 address=127.0.0.1:1\n"
    "server.demo/b3: unresolved sessions=0 total=12 failures=34 address=-\n";

static void info_reads_an_answer(void **state)
{
	struct info i;

	(void)state;
	memset(&i, 0xff, sizeof(i));
	assert_true(info_parse(answer, &i));
	assert_string_equal(i.driver, "epoll");
	assert_int_equal(i.pid, 42);
	assert_int_equal(i.workers, 2);
	assert_int_equal(i.sessions, 7);
	assert_int_equal(i.accepted, 1000);
	assert_int_equal(i.retries, 3);
	assert_true(i.bytes_to_client == UINT64_C(20000000000));
	assert_int_equal(i.bytes_spliced, 5);
	assert_int_equal(i.generation, 4);
	assert_int_equal(i.trial_left_s, 5);
	assert_int_equal(i.reloads, 1);
	assert_int_equal(i.reloads_refused, 2);
	assert_int_equal(i.rollbacks, 3);
	assert_string_equal(i.servers[0].state, "up");
	assert_int_equal(i.servers[0].sessions, 4);
	assert_int_equal(i.servers[0].total, 600);
	assert_string_equal(i.servers[2].state, "unresolved");
	assert_int_equal(i.servers[2].failures, 34);
}

static void info_takes_what_is_missing_as_0(void **state)
{
	struct info i;

	(void)state;
	memset(&i, 0xff, sizeof(i));
	assert_true(info_parse("driver: x\n", &i));
	assert_int_equal(i.sessions, 0);
	assert_string_equal(i.servers[1].state, "");
	assert_int_equal(i.servers[1].total, 0);
}

static void info_refuses_what_is_no_answer(void **state)
{
	struct info i;

	(void)state;
	assert_false(info_parse("", &i));
	assert_false(info_parse("error: unknown command\n", &i));
	assert_false(info_parse("a driver: epoll\n", &i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(info_reads_an_answer),
	    cmocka_unit_test(info_takes_what_is_missing_as_0),
	    cmocka_unit_test(info_refuses_what_is_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

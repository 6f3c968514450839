/* SPDX-License-Identifier: MIT
 *
 * test_probe_redis.c - answers to Redis checks: whole, cut anywhere, byte by byte, and with any byte wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "health/probe_redis.h"

#define ANY	 CONFIG_CHECK_ROLE_ANY
#define MASTER	 CONFIG_CHECK_ROLE_PRIMARY
#define REPLICA	 CONFIG_CHECK_ROLE_STANDBY
#define MORE	 PROBE_ANSWER_MORE
#define GOOD	 PROBE_ANSWER_GOOD
#define REFUSED	 PROBE_ANSWER_REFUSED
#define BROKEN	 PROBE_ANSWER_BROKEN
#define PONG	 "+PONG\r\n"
#define NOT_ONE	 "the answer is not that of a Redis server"
#define EARLY	 "the answer ends too early"
#define NO_RIGHT "role= needs a default user that may run ROLE without a password"
#define MASTER_ROLE  PONG "*3\r\n$6\r\nmaster\r\n"
#define REPLICA_ROLE PONG "*5\r\n$5\r\nslave\r\n"

/* What is known while the connection is open; what is not known then is BROKEN at its end. */
static const struct row {
	enum config_check_role role;
	const char *text;
	enum probe_answer answer;
	const char *detail; /* at the end */
} rows[] = {
	{ANY, PONG, GOOD, ""},
	{ANY, "+PONG\n", GOOD, ""},
	{ANY, PONG "whatever follows", GOOD, ""},
	{ANY, "-NOAUTH Authentication required.\r\n", GOOD, "asks for a password"},
	{ANY, "-NOPERM this user has no permissions\r\n", GOOD, "does not permit PING"},
	{ANY, "-LOADING Redis is loading the dataset in memory\r\n", REFUSED,
	 "LOADING Redis is loading the dataset in memory"},
	{ANY, "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n",
	 REFUSED,
	 "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to \\x27"},
	{ANY, "-DENIED Redis is running in protected mode because protected mode is enabled\r\n", REFUSED,
	 "DENIED Redis is running in protected mode because protected mode is enabled"},
	{ANY, "-ERR max number of clients reached\r\n", REFUSED, "ERR max number of clients reached"},
	{ANY, "-NOAUTHORITY\r\n", REFUSED, "NOAUTHORITY"},
	{ANY, "-\x1b[2J\"\r\n", REFUSED, "\\x1b[2J\\x22"},
	{ANY, "-\r\n", REFUSED, "an error without words"},
	{ANY, "+PONGO\r\n", BROKEN, NOT_ONE},
	{ANY, "+PONG\r\r\n", BROKEN, NOT_ONE},
	{ANY, "+OK\r\n", BROKEN, NOT_ONE},
	{ANY, "\r\n", BROKEN, NOT_ONE},
	{ANY, "\n", BROKEN, NOT_ONE},
	{ANY, "$4\r\nPONG\r\n", BROKEN, NOT_ONE},
	{ANY, "SSH-2.0-x\r\n", BROKEN, NOT_ONE},
	{ANY, "*1\r\n$4\r\nPING\r\n", BROKEN, NOT_ONE}, /* what was asked, from an echo server */
	{ANY, "", MORE, "connection closed without an answer"},
	{ANY, "+PON", MORE, EARLY},
	{ANY, "+PONG\r", MORE, EARLY},
	{ANY, "-LOADING", MORE, EARLY},
	{MASTER, PONG, MORE, EARLY},
	{MASTER, MASTER_ROLE, GOOD, "master"},
	{MASTER, MASTER_ROLE ":3129659\r\n*0\r\n", GOOD, "master"},
	{MASTER, REPLICA_ROLE, REFUSED, "is a replica, not a master"},
	{REPLICA, REPLICA_ROLE, GOOD, "replica"},
	{REPLICA, PONG "*5\n$7\nreplica\n", GOOD, "replica"},
	{REPLICA, MASTER_ROLE, REFUSED, "is a master, not a replica"},
	{MASTER, PONG "*2\r\n$8\r\nsentinel\r\n", REFUSED, "its role is 'sentinel'"},
	{MASTER, PONG "*1\r\n$32\r\n\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\r\n",
	 REFUSED,
	 "its role is '\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01'"},
	{MASTER, "-NOAUTH x\r\n-NOAUTH x\r\n", REFUSED, NO_RIGHT},
	{MASTER, PONG "-NOPERM User default has no permissions to run it\r\n", REFUSED, NO_RIGHT},
	{MASTER, "-NOPERM x\r\n*3\r\n$6\r\nmaster\r\n", GOOD, "master"},
	{MASTER, "-LOADING x\r\n*3\r\n$6\r\nmaster\r\n", REFUSED, "LOADING x"},
	{MASTER, PONG "-ERR unknown command 'ROLE'\r\n", REFUSED, "ERR unknown command \\x27ROLE\\x27"},
	{MASTER, PONG PONG, BROKEN, NOT_ONE},
	{MASTER, PONG "*0\r\n", BROKEN, NOT_ONE},
	{MASTER, PONG "*-1\r\n", BROKEN, NOT_ONE},
	{MASTER, PONG "*\r\n", BROKEN, NOT_ONE},
	{MASTER, PONG "*1\r1\r\n", BROKEN, NOT_ONE},
	{MASTER, PONG "*99999999999999999999999999999999\r\n", BROKEN, NOT_ONE},
	{MASTER, PONG "*3\r\n:6\r\n", BROKEN, NOT_ONE},
	{MASTER, PONG "*3\r\n$33\r\n", BROKEN, NOT_ONE},
	{MASTER, PONG "*3\r\n$06\r\n", BROKEN, NOT_ONE},
	{MASTER, PONG "*3\r\n$-1\r\n", BROKEN, NOT_ONE},
	{MASTER, PONG "*3\r\n$\r\n", BROKEN, NOT_ONE},
	{MASTER, PONG "*3\r\n$7\r\nmaster\r\n", BROKEN, NOT_ONE},
	{MASTER, PONG "*3\r\n$5\r\nmaster\r\n", BROKEN, NOT_ONE},
	{MASTER, PONG "*3\r\n$6\r\nmaster", MORE, EARLY},
};

/* Pushes the answer in pieces of at most `first`, then `rest` bytes. */
static void walk(const struct row *row, size_t first, size_t rest)
{
	const size_t len = strlen(row->text);
	struct probe_redis r;
	size_t at = 0;

	probe_redis_init(&r, row->role);
	for (size_t piece = first; at < len; piece = rest) {
		const size_t n = piece < len - at ? piece : len - at;

		(void)probe_redis_push(&r, (const uint8_t *)row->text + at, n); /* is asked below */
		at += n;
	}
	if (r.answer != row->answer)
		fail_msg("row %zu cut at %zu: answer %d", (size_t)(row - rows), first, r.answer);
	assert_int_equal(probe_redis_end(&r), row->answer == MORE ? BROKEN : row->answer);
	assert_string_equal(r.detail, row->detail);
}

static void answers_are_judged_the_same_in_any_pieces(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const size_t len = strlen(rows[i].text);

		for (size_t cut = 1; cut <= len + 1; cut++) {
			walk(&rows[i], cut, len + 1);
			walk(&rows[i], cut, 1);
		}
	}
}

static enum probe_answer answer_to(enum config_check_role role, const char *text, size_t len)
{
	struct probe_redis r;

	probe_redis_init(&r, role);
	(void)probe_redis_push(&r, (const uint8_t *)text, len); /* is asked at the end */
	return probe_redis_end(&r);
}

/* Cut anywhere before its last line ends, a good answer is none. */
static void good_answers_are_needed_whole(void **state)
{
	(void)state;
	for (size_t len = 0; len < strlen(PONG); len++)
		assert_int_equal(answer_to(ANY, PONG, len), BROKEN);
	for (size_t len = 0; len < strlen(MASTER_ROLE); len++)
		assert_int_equal(answer_to(MASTER, MASTER_ROLE, len), BROKEN);
	for (size_t len = 0; len < strlen(REPLICA_ROLE); len++)
		assert_int_equal(answer_to(REPLICA, REPLICA_ROLE, len), BROKEN);
}

/* A wrong byte at any place; only "*3" may be another number, and the last line may end sooner. */
static void no_byte_of_a_good_answer_may_be_another(void **state)
{
	char text[] = MASTER_ROLE;
	const size_t array = strlen(PONG) + 1;

	(void)state;
	for (size_t at = 0; at < strlen(text); at++) {
		const char right = text[at];

		for (unsigned byte = 0; byte < 256; byte++) {
			text[at] = (char)byte;
			if (text[at] == right || (at == array && byte >= '1' && byte <= '9') ||
			    (at == array + 1 && byte >= '0' && byte <= '9') ||
			    (at == strlen(MASTER_ROLE) - 2 && byte == '\n'))
				assert_int_equal(answer_to(MASTER, text, strlen(MASTER_ROLE)), GOOD);
			else if (answer_to(MASTER, text, strlen(MASTER_ROLE)) == GOOD)
				fail_msg("byte %zu may be \\x%02x", at, byte);
		}
		text[at] = right;
	}
}

static void endless_lines_are_no_answer(void **state)
{
	static const char *const begins[] = {"-", PONG "-", PONG "*1", PONG "*1\r\n$1", PONG "*1\r\n$9\r\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(begins); i++) {
		struct probe_redis r;

		probe_redis_init(&r, MASTER);
		(void)probe_redis_push(&r, (const uint8_t *)begins[i], strlen(begins[i])); /* not yet */
		assert_int_equal(r.answer, MORE);
		for (size_t n = 0; n < 70000; n++)
			(void)probe_redis_push(&r, (const uint8_t *)"1", 1); /* is asked at the end */
		assert_int_equal(probe_redis_end(&r), BROKEN);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_judged_the_same_in_any_pieces),
		cmocka_unit_test(good_answers_are_needed_whole),
		cmocka_unit_test(no_byte_of_a_good_answer_may_be_another),
		cmocka_unit_test(endless_lines_are_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

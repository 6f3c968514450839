/* SPDX-License-Identifier: MIT
 *
 * test_blame.c - each end of a session has one party that is to blame, and the right one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/account/blame.h"

static void only_a_normal_end_is_nobodys(void **state)
{
	(void)state;
	for (int i = 0; i < CLOSE_REASONS; i++)
		assert_int_equal(blame_of((enum close_reason)i) == BLAME_NOBODY, i == CLOSE_NORMAL);
}

static void each_party_has_its_ends(void **state)
{
	static const struct {
		enum close_reason reason;
		enum blame blame;
	} cases[] = {
		{CLOSE_CLIENT_GONE, BLAME_CLIENT},	 {CLOSE_CLIENT_RESET, BLAME_CLIENT},
		{CLOSE_CLIENT_TIMEOUT, BLAME_CLIENT},	 {CLOSE_PROXY_TIMEOUT, BLAME_CLIENT},
		{CLOSE_PROXY_BAD_V1, BLAME_CLIENT},	 {CLOSE_SERVER_RESET, BLAME_SERVER},
		{CLOSE_SERVER_TIMEOUT, BLAME_SERVER},	 {CLOSE_CONNECT_REFUSED, BLAME_SERVER},
		{CLOSE_NO_SERVER, BLAME_SERVER},	 {CLOSE_SERVER_DOWN, BLAME_SERVER},
		{CLOSE_CLIENT_LOST, BLAME_NETWORK},	 {CLOSE_SERVER_LOST, BLAME_NETWORK},
		{CLOSE_CONNECT_TIMEOUT, BLAME_NETWORK},	 {CLOSE_CONNECT_FAILED, BLAME_NETWORK},
		{CLOSE_QUEUE_FULL, BLAME_RULES},	 {CLOSE_QUEUE_TIMEOUT, BLAME_RULES},
		{CLOSE_DENIED, BLAME_RULES},		 {CLOSE_SOURCE_LIMIT, BLAME_RULES},
		{CLOSE_SOURCE_RATE, BLAME_RULES},	 {CLOSE_NO_ROUTE, BLAME_RULES},
		{CLOSE_LIFETIME, BLAME_RULES},		 {CLOSE_HALF_CLOSED_TIMEOUT, BLAME_RULES},
		{CLOSE_PROXY_UNTRUSTED, BLAME_RULES},	 {CLOSE_NO_RESOURCE, BLAME_SHORTAGE},
		{CLOSE_NO_SOCKET, BLAME_SHORTAGE},	 {CLOSE_INTERNAL, BLAME_SHORTAGE},
		{CLOSE_KILLED, BLAME_OPERATOR},		 {CLOSE_REMOVED, BLAME_OPERATOR},
		{CLOSE_DRAINED, BLAME_OPERATOR},	 {CLOSE_STOPPED, BLAME_OPERATOR},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(blame_of(cases[i].reason), cases[i].blame);
}

static void each_row_has_its_own_words_and_limit(void **state)
{
	(void)state;
	for (int i = 0; i < BLAMES; i++) {
		const struct blame_row *row = blame_row((enum blame)i);

		assert_true(strlen(row->words) > 3);
		assert_true(strlen(row->help) > 3);
		for (int k = 0; k < i; k++) {
			const struct blame_row *other = blame_row((enum blame)k);

			assert_string_not_equal(row->words, other->words);
			assert_true(row->limit == LIMITED_UNKNOWN || row->limit != other->limit);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_normal_end_is_nobodys),
		cmocka_unit_test(each_party_has_its_ends),
		cmocka_unit_test(each_row_has_its_own_words_and_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

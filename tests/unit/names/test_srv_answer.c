/* SPDX-License-Identifier: MIT
 *
 * test_srv_answer.c - SRV records in a DNS message, whole and broken.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "names/srv_answer.h"

/* _x.test: two targets, the second by a compression pointer into the first; A and AAAA of the first; an OPT
 * record. */
static const uint8_t message[] =
	"\x12\x34\x81\x80\0\1\0\3\0\0\0\3"
	"\2_x\4test\0\0\x21\0\1"
	"\xc0\x0c\0\x21\0\1\0\0\0\x3c\0\x0e\0\1\0\x0a\x1f\x90\1A\4test\0" /* 1 10 8080 a.test */
	"\xc0\x0c\0\x21\0\1\0\0\0\x1e\0\x0a\0\2\0\0\0\x50\1b\xc0\x2d" /* 2 0 80 b.test */
	"\xc0\x0c\0\x21\0\1\0\0\0\x3c\0\7\0\0\0\0\0\x50\0" /* 0 0 80 . */
	"\1a\4test\0\0\1\0\1\0\0\0\x14\0\4\x0a\0\0\1"
	"\1a\4test\0\0\x1c\0\1\0\0\0\x3c\0\x10\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"
	"\0\0\x29\4\xd0\0\0\0\0\0\0";
#define LEN (sizeof(message) - 1)

static void targets_and_their_addresses_are_read(void **state)
{
	struct srv_answer a;

	(void)state;
	assert_int_equal(srv_answer_read(&a, message, LEN), 0);
	assert_int_equal(a.target_count, 2);
	assert_string_equal(a.targets[0].host, "a.test");
	assert_int_equal(a.targets[0].port, 8080);
	assert_int_equal(a.targets[0].priority, 1);
	assert_int_equal(a.targets[0].weight, 10);
	assert_string_equal(a.targets[1].host, "b.test");
	assert_int_equal(a.targets[1].port, 80);
	assert_int_equal(a.extra_count, 2);
	assert_string_equal(a.extras[0].host, "a.test");
	assert_int_equal(ntohl(a.extras[0].addr.in.sin_addr.s_addr), 0x0a000001);
	assert_int_equal(a.extras[1].addr.in6.sin6_addr.s6_addr[15], 1);
	assert_int_equal(a.ttl_s, 20);
	srv_answer_free(&a);
}

/* No byte beyond the message is read: each copy ends where its memory ends. */
static void message_cut_anywhere_is_refused_or_has_less(void **state)
{
	(void)state;
	for (size_t len = 0; len < LEN; len++) {
		uint8_t *copy = malloc(len > 0 ? len : 1);
		struct srv_answer a;
		int err;

		assert_non_null(copy);
		memcpy(copy, message, len);
		err = srv_answer_read(&a, copy, len);
		assert_true(err == 0 || err == -EBADMSG);
		if (err == 0)
			assert_int_equal(a.target_count, 2);
		srv_answer_free(&a);
		free(copy);
	}
}

static void any_byte_may_be_wrong(void **state)
{
	(void)state;
	for (size_t at = 0; at < LEN; at++) {
		for (int value = 0; value < 256; value++) {
			uint8_t copy[sizeof(message)];
			struct srv_answer a;

			memcpy(copy, message, LEN);
			copy[at] = (uint8_t)value;
			if (srv_answer_read(&a, copy, LEN) == 0)
				assert_true(a.target_count <= 3);
			srv_answer_free(&a);
		}
	}
}

static void name_that_points_at_itself_ends(void **state)
{
	static const uint8_t loop[] = "\0\0\x81\x80\0\1\0\0\0\0\0\0\xc0\x0c\0\x21\0\1";
	static const uint8_t ahead[] = "\0\0\x81\x80\0\1\0\0\0\0\0\0\xc0\x0e\0\x21\0\1";
	struct srv_answer a;

	(void)state;
	assert_int_equal(srv_answer_read(&a, loop, sizeof(loop) - 1), -EBADMSG);
	assert_int_equal(srv_answer_read(&a, ahead, sizeof(ahead) - 1), -EBADMSG);
}

static void name_that_no_host_has_is_no_target(void **state)
{
	uint8_t copy[sizeof(message)];
	struct srv_answer a;

	(void)state;
	memcpy(copy, message, LEN);
	copy[44] = ' '; /* the label of the first target */
	assert_int_equal(message[44], 'A');
	assert_int_equal(srv_answer_read(&a, copy, LEN), 0);
	assert_int_equal(a.target_count, 1);
	assert_string_equal(a.targets[0].host, "b.test");
	srv_answer_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets_and_their_addresses_are_read),
		cmocka_unit_test(message_cut_anywhere_is_refused_or_has_less),
		cmocka_unit_test(any_byte_may_be_wrong),
		cmocka_unit_test(name_that_points_at_itself_ends),
		cmocka_unit_test(name_that_no_host_has_is_no_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * test_name_state.c - which addresses of a name count, how long they are held, and when it is asked again.
 * The time is this file's.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "names/name_state.h"
#include "weir/base/clock.h"

#define S NS_PER_SEC

static struct name_state state;
static const struct name_terms terms = {
	.hold_ns = {0, 10 * S, 20 * S, 30 * S, 40 * S}, /* NAME_NX, _TIMEOUT, _REFUSED, _OTHER */
	.hold_obsolete_ns = 5 * S,
};

static int setup(void **unused)
{
	(void)unused;
	state = (struct name_state){0};
	return 0;
}

static int teardown(void **unused)
{
	(void)unused;
	name_state_free(&state);
	return 0;
}

/* 10.0.0.N, port 80; or with a negative N fd00::N. */
static struct name_found found(int n, uint64_t origin)
{
	struct name_found f = {.address.weight = 1, .origin = origin};
	struct addr *a = &f.address.addr;

	if (n >= 0) {
		a->in.sin_family = AF_INET;
		a->in.sin_port = htons(80);
		a->in.sin_addr.s_addr = htonl(0x0a000000u + (unsigned)n);
		a->len = sizeof(a->in);
	} else {
		a->in6.sin6_family = AF_INET6;
		a->in6.sin6_port = htons(80);
		a->in6.sin6_addr.s6_addr[0] = 0xfd;
		a->in6.sin6_addr.s6_addr[15] = (uint8_t)-n;
		a->len = sizeof(a->in6);
	}
	return f;
}

static int number(const struct name_entry *e)
{
	const struct addr *a = &e->found.address.addr;

	return a->sa.sa_family == AF_INET ? (int)(ntohl(a->in.sin_addr.s_addr) & 0xff)
					  : -a->in6.sin6_addr.s6_addr[15];
}

/* A round at `at_s`: `list` ends with 0, its addresses have the origin 1 (IPv4) or 2 (IPv6). */
static void take(int64_t at_s, const int *list, const struct name_gap *gaps, size_t gap_count)
{
	struct name_found f[16];
	struct name_result r = {.found = f, .gaps = gaps, .gap_count = gap_count};

	for (; list != NULL && list[r.found_count] != 0; r.found_count++) {
		f[r.found_count] = found(list[r.found_count], list[r.found_count] > 0 ? 1 : 2);
		f[r.found_count].address.rank = (uint16_t)r.found_count;
	}
	assert_int_equal(name_state_take(&state, &r, at_s * S), 0);
	(void)name_state_expire(&state, &terms, at_s * S);
}

static void take_good(int64_t at_s, const int *list)
{
	take(at_s, list, NULL, 0);
	assert_int_equal(state.outcome, NAME_GOOD);
}

static void take_bad(int64_t at_s, enum name_outcome outcome)
{
	const struct name_gap gaps[] = {{1, outcome}, {2, outcome}};

	take(at_s, NULL, gaps, 2);
	assert_int_equal(state.outcome, outcome);
}

/* The addresses are these; the list ends with 0. */
static void assert_has(const int *list)
{
	size_t n = 0;

	for (; list[n] != 0; n++) {
		assert_true(n < state.count);
		assert_int_equal(number(&state.entries[n]), list[n]);
	}
	assert_int_equal(state.count, n);
}

static void expire(int64_t at_s)
{
	(void)name_state_expire(&state, &terms, at_s * S);
}

#define LIST(...) ((const int[]){__VA_ARGS__, 0})
#define NONE	  ((const int[]){0})

static void list_is_sorted_without_duplicates(void **unused)
{
	(void)unused;
	take_good(1, LIST(7, -3, 2, 7, 9, -3));
	assert_has(LIST(2, 7, 9, -3));
	assert_int_equal(state.entries[1].found.address.rank, 0);
	assert_true(state.changed);
	take_good(2, LIST(9, 2, 7, -3));
	assert_false(state.changed);
	assert_int_equal(state.entries[2].found.address.rank, 0);
}

static void lowest_priority_wins_then_the_greatest_weight(void **unused)
{
	struct name_found f[3] = {found(1, 1), found(1, 2), found(1, 3)};
	const struct name_result r = {.found = f, .found_count = 3};

	(void)unused;
	f[0].address.priority = 2;
	f[1].address.priority = 1;
	f[1].address.weight = 5;
	f[2].address.priority = 1;
	f[2].address.weight = 9;
	assert_int_equal(name_state_take(&state, &r, S), 0);
	assert_int_equal(state.count, 1);
	assert_int_equal(state.entries[0].found.address.weight, 9);
	f[2].address.weight = 3;
	assert_int_equal(name_state_take(&state, &r, 2 * S), 0);
	assert_int_equal(state.entries[0].found.address.weight, 5);
}

static void good_answer_replaces_after_the_hold_of_what_is_obsolete(void **unused)
{
	(void)unused;
	take_good(1, LIST(1, 2));
	take_good(2, LIST(2, 3));
	assert_has(LIST(1, 2, 3));
	assert_int_equal(name_state_hold_end(&state, &terms), 7 * S);
	take_good(6, LIST(2, 3));
	assert_has(LIST(1, 2, 3));
	expire(7);
	assert_has(LIST(2, 3));
	assert_int_equal(name_state_hold_end(&state, &terms), CLOCK_NEVER);
}

static void bad_answer_holds_from_the_first_one_on(void **unused)
{
	(void)unused;
	for (int outcome = NAME_NX; outcome < NAME_OUTCOMES; outcome++) {
		const int64_t hold_s = terms.hold_ns[outcome] / S;

		take_good(100, LIST(1));
		take_bad(101, (enum name_outcome)outcome);
		take_bad(101 + hold_s - 1, (enum name_outcome)outcome);
		assert_has(LIST(1));
		assert_int_equal(state.bad_since_ns, 101 * S);
		assert_int_equal(name_state_hold_end(&state, &terms), (101 + hold_s) * S);
		expire(101 + hold_s);
		assert_has(NONE);
		assert_int_equal(state.outcome, outcome);
	}
	take_good(200, LIST(1));
	assert_has(LIST(1));
	assert_int_equal(state.bad_since_ns, 0);
}

static void hold_is_that_of_the_latest_outcome(void **unused)
{
	(void)unused;
	take_good(1, LIST(1));
	take_bad(2, NAME_TIMEOUT);
	take_bad(13, NAME_NX); /* would have ended at 12 */
	assert_has(NONE);
	take_good(20, LIST(1));
	take_bad(21, NAME_NX);
	take_bad(22, NAME_OTHER);
	expire(60);
	assert_has(LIST(1));
	expire(61);
	assert_has(NONE);
}

static void good_answer_ends_a_hold(void **unused)
{
	(void)unused;
	take_good(1, LIST(1));
	take_bad(2, NAME_NX);
	take_good(11, LIST(1));
	take_bad(12, NAME_NX);
	expire(21);
	assert_has(LIST(1));
	expire(22);
	assert_has(NONE);
}

static void family_without_an_answer_keeps_its_addresses(void **unused)
{
	const struct name_gap silent = {2, NAME_TIMEOUT}, none = {2, NAME_NX};

	(void)unused;
	take_good(1, LIST(1, -1));
	take(2, LIST(3), &silent, 1);
	assert_int_equal(state.outcome, NAME_GOOD);
	assert_int_equal(state.failures, 1);
	expire(21);
	assert_has(LIST(3, -1)); /* 1 is obsolete */
	expire(22);
	assert_has(LIST(3));
	take_good(30, LIST(3, -1));
	take(31, LIST(3), &none, 1); /* there are no AAAA records any more: an answer */
	assert_int_equal(state.failures, 0);
	expire(36);
	assert_has(LIST(3));
}

static void question_that_others_depend_on_holds_them_all(void **unused)
{
	const struct name_gap all = {0, NAME_REFUSED};

	(void)unused;
	take_good(1, LIST(1, -1));
	take(2, NULL, &all, 1);
	assert_int_equal(state.outcome, NAME_REFUSED);
	assert_has(LIST(1, -1));
	expire(32);
	assert_has(NONE);
}

static void nothing_at_all_is_a_name_that_does_not_exist(void **unused)
{
	const struct name_gap mixed[] = {{1, NAME_NX}, {2, NAME_TIMEOUT}};

	(void)unused;
	take(1, NULL, NULL, 0);
	assert_int_equal(state.outcome, NAME_NX);
	take(2, NULL, mixed, 2); /* perhaps it has an address */
	assert_int_equal(state.outcome, NAME_TIMEOUT);
}

static void answers_beyond_the_bound_are_left_out(void **unused)
{
	struct name_found *many = calloc(2 * NAME_ADDRESSES_MAX, sizeof(*many));
	const struct name_result r = {.found = many, .found_count = 2 * NAME_ADDRESSES_MAX};

	(void)unused;
	assert_non_null(many);
	for (int i = 0; i < 2 * NAME_ADDRESSES_MAX; i++) {
		many[i] = found(1, 1);
		many[i].address.addr.in.sin_addr.s_addr = htonl(0x0a000000u + (unsigned)i);
	}
	assert_int_equal(name_state_take(&state, &r, S), 0);
	assert_int_equal(state.count, NAME_ADDRESSES_MAX);
	free(many);
}

static void next_query_is_due_as_ttl_and_interval_say(void **unused)
{
	const struct name_terms short_interval = {.interval_ns = 100 * NS_PER_MS};
	const struct name_terms long_one = {.interval_ns = 60 * S};

	(void)unused;
	assert_int_equal(name_state_ttl_wait(&terms, 0), 500 * NS_PER_MS);
	assert_int_equal(name_state_ttl_wait(&terms, 7), 7 * S);
	assert_int_equal(name_state_ttl_wait(&terms, UINT32_MAX), 3600 * S);
	assert_int_equal(name_state_ttl_wait(&long_one, 7), 7 * S);
	assert_int_equal(name_state_ttl_wait(&long_one, 300), 60 * S);
	assert_int_equal(name_state_ttl_wait(&short_interval, 300), 500 * NS_PER_MS);
}

static void failures_are_retried_sooner_than_the_ttl_and_then_less_often(void **unused)
{
	const struct name_gap silent = {2, NAME_TIMEOUT};

	(void)unused;
	take_good(1, LIST(1));
	assert_int_equal(name_state_wait(&state, &terms, 300 * S), 300 * S);
	take_bad(2, NAME_OTHER);
	assert_int_equal(name_state_wait(&state, &terms, 300 * S), S);
	take_bad(3, NAME_OTHER);
	assert_int_equal(name_state_wait(&state, &terms, 300 * S), 2 * S);
	for (int i = 0; i < 20; i++)
		take_bad(4 + i, NAME_OTHER);
	assert_int_equal(name_state_wait(&state, &terms, 300 * S), 60 * S);
	take(40, LIST(1), &silent, 1);
	assert_int_equal(name_state_wait(&state, &terms, 7 * S), 7 * S);
	take_good(41, LIST(1));
	assert_int_equal(name_state_wait(&state, &terms, 300 * S), 300 * S);
}

#define STATE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STATE_TEST(list_is_sorted_without_duplicates),
		STATE_TEST(lowest_priority_wins_then_the_greatest_weight),
		STATE_TEST(good_answer_replaces_after_the_hold_of_what_is_obsolete),
		STATE_TEST(bad_answer_holds_from_the_first_one_on),
		STATE_TEST(hold_is_that_of_the_latest_outcome),
		STATE_TEST(good_answer_ends_a_hold),
		STATE_TEST(family_without_an_answer_keeps_its_addresses),
		STATE_TEST(question_that_others_depend_on_holds_them_all),
		STATE_TEST(nothing_at_all_is_a_name_that_does_not_exist),
		STATE_TEST(answers_beyond_the_bound_are_left_out),
		STATE_TEST(next_query_is_due_as_ttl_and_interval_say),
		STATE_TEST(failures_are_retried_sooner_than_the_ttl_and_then_less_often),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

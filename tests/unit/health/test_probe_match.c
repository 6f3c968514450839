/* SPDX-License-Identifier: MIT
 *
 * test_probe_match.c - strings in an answer that is cut anywhere, against a search in the whole.
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
#include "weir/config/config.h"
#include "health/probe_match.h"

#define ROUNDS 20000

static uint64_t seed = 7;

static unsigned below(unsigned n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(seed >> 33) % n;
}

static void string_is_found_where_a_search_finds_it(void **state)
{
	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		uint8_t text[48], wanted[6];
		const size_t len = below(sizeof(text)) + 1, want = below(sizeof(wanted)) + 1;
		const uint8_t *at;
		struct probe_match m;
		size_t used = 0;

		/* Two letters: beginnings that repeat themselves are the hard ones. */
		for (size_t i = 0; i < len; i++)
			text[i] = (uint8_t)('a' + below(2));
		for (size_t i = 0; i < want; i++)
			wanted[i] = (uint8_t)('a' + below(2));
		assert_int_equal(probe_match_init(&m, wanted, want), 0);
		for (size_t done = 0; done < len && !m.found;) {
			const size_t piece = below((unsigned)(len - done)) + 1;

			used += probe_match_push(&m, text + done, piece);
			done += piece;
		}
		at = memmem(text, len, wanted, want);
		assert_int_equal(m.found, at != NULL);
		assert_int_equal(used, at != NULL ? (size_t)(at - text) + want : len);
		probe_match_free(&m);
	}
}

static void empty_string_is_found_at_once_and_a_reset_forgets(void **state)
{
	const uint8_t bytes[] = {0, 0xff, 0};
	struct probe_match m;

	(void)state;
	assert_int_equal(probe_match_init(&m, bytes, 0), 0);
	assert_true(m.found);
	probe_match_free(&m);
	assert_int_equal(probe_match_init(&m, bytes, sizeof(bytes)), 0);
	assert_int_equal(probe_match_push(&m, bytes, 2), 2);
	probe_match_reset(&m);
	assert_int_equal(probe_match_push(&m, bytes + 2, 1), 1);
	assert_false(m.found);
	assert_int_equal(probe_match_push(&m, bytes, 3), 3); /* 0 0 ff 0: the first 0 is none of it */
	assert_true(m.found);
	probe_match_free(&m);
}

static struct config_check_step expect_of(const char *text)
{
	const bool negate = text[0] == '!';

	text += negate;
	return (struct config_check_step){.expect = true,
					  .negate = negate,
					  .bytes = (uint8_t *)(uintptr_t)text,
					  .len = strlen(text)};
}

/* Rows of expects, what comes, how far it is looked at, and the result before and at the end. HAProxy 2.6
 * was asked the same with tcp-check. */
static const struct row {
	const char *expects[3];
	const char *answer;
	size_t used;
	enum probe_expected before, after;
	size_t fault;
} rows[] = {
	{{"OK"}, "xOKx", 3, PROBE_EXPECT_GOOD, PROBE_EXPECT_GOOD, 0},
	{{"OK"}, "xO", 2, PROBE_EXPECT_MORE, PROBE_EXPECT_MISSING, 0},
	{{"OK"}, "", 0, PROBE_EXPECT_MORE, PROBE_EXPECT_MISSING, 0},
	{{"AA", "BB"}, "AA BB", 5, PROBE_EXPECT_GOOD, PROBE_EXPECT_GOOD, 0},
	{{"AA", "BB"}, "BB AA rest", 5, PROBE_EXPECT_GOOD, PROBE_EXPECT_GOOD, 0},
	{{"AA", "BB"}, "BB A", 4, PROBE_EXPECT_MORE, PROBE_EXPECT_MISSING, 0},
	{{"AA", "BB"}, "AA B", 4, PROBE_EXPECT_MORE, PROBE_EXPECT_MISSING, 1},
	{{"AB", "BC"}, "ABC", 3, PROBE_EXPECT_GOOD, PROBE_EXPECT_GOOD, 0},
	{{"!ERR"}, "fine", 4, PROBE_EXPECT_MORE, PROBE_EXPECT_GOOD, 0},
	{{"!ERR"}, "", 0, PROBE_EXPECT_MORE, PROBE_EXPECT_GOOD, 0},
	{{"!ERR"}, "an ERR here", 6, PROBE_EXPECT_UNWANTED, PROBE_EXPECT_UNWANTED, 0},
	{{"OK", "!ERR"}, "OK then more", 12, PROBE_EXPECT_MORE, PROBE_EXPECT_GOOD, 0},
	{{"OK", "!ERR"}, "OK then ERR", 11, PROBE_EXPECT_UNWANTED, PROBE_EXPECT_UNWANTED, 1},
	{{"!ERR", "OK"}, "nothing", 7, PROBE_EXPECT_MORE, PROBE_EXPECT_MISSING, 1},
};

static void walk(const struct row *row, size_t cut)
{
	const size_t len = strlen(row->answer);
	struct config_check_step steps[3];
	struct probe_expect x;
	enum probe_expected now = PROBE_EXPECT_MORE;
	size_t count = 0, used, total = 0;

	while (count < ARRAY_LEN(steps) && row->expects[count] != NULL) {
		steps[count] = expect_of(row->expects[count]);
		count++;
	}
	assert_int_equal(probe_expect_init(&x, steps, count), 0);
	if (cut <= len) {
		now = probe_expect_push(&x, (const uint8_t *)row->answer, cut, &used);
		total += used;
		if (now == PROBE_EXPECT_MORE) {
			now = probe_expect_push(&x, (const uint8_t *)row->answer + cut, len - cut, &used);
			total += used;
		}
	}
	assert_int_equal(now, row->before);
	assert_int_equal(total, row->used);
	assert_int_equal(probe_expect_end(&x), row->after);
	assert_int_equal(x.fault, row->fault);
	probe_expect_reset(&x);
	assert_int_equal(probe_expect_push(&x, (const uint8_t *)"", 0, &used), PROBE_EXPECT_MORE);
	probe_expect_free(&x);
}

static void expects_between_two_sends_look_at_the_same_bytes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t cut = 0; cut <= strlen(rows[i].answer); cut++)
			walk(&rows[i], cut);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(string_is_found_where_a_search_finds_it),
		cmocka_unit_test(empty_string_is_found_at_once_and_a_reset_forgets),
		cmocka_unit_test(expects_between_two_sends_look_at_the_same_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * test_tally.c - what is counted of one thing: the table, rates, and sums of what two writers have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/account/tally.h"

#define BEGIN_NS (1000 * NS_PER_SEC)

static struct tally tallies[2];
static struct tally_sum sum;

static int setup(void **state)
{
	(void)state;
	memset(tallies, 0, sizeof(tallies));
	return 0;
}

/* What both have counted, added up. */
static const struct tally_sum *take(void)
{
	struct tally_sum one;

	tally_take(&tallies[0], BEGIN_NS, &sum);
	tally_take(&tallies[1], BEGIN_NS, &one);
	tally_add(&sum, &one);
	return &sum;
}

static void a_count_is_of_its_second_and_of_the_one_before(void **state)
{
	struct tally *t = &tallies[0];

	(void)state;
	tally_begin_second(t, BEGIN_NS, 0);
	assert_int_equal(tally_count_in(t, 1000), 1);
	tally_count_one(t, BEGIN_NS + NS_PER_SEC - 1);
	assert_int_equal(tally_second(t), 1000);
	assert_int_equal(tally_count_in(t, 1000), 2);
	tally_begin_second(t, BEGIN_NS + NS_PER_SEC, 5);
	assert_int_equal(tally_count_in(t, 1000), 2);
	assert_int_equal(tally_count_in(t, 1001), 1);
	assert_int_equal(tally_count_in(t, 1002), 0);
	assert_int_equal(counter_get(&t->rate_max), 5);
	assert_int_equal(counter_get(&t->total), 3);
}

static void late_bytes_are_counted_later(void **state)
{
	(void)state;
	tally_count_bytes(&tallies[0], 1, 2, false);
	tally_count_bytes(&tallies[0], 10, 20, true);
	assert_int_equal(take()->bytes_to_server, 1);
	assert_int_equal(take()->bytes_to_client, 2);
	for (int i = 0; i < 2; i++) {
		tally_count_late(&tallies[0]);
		assert_int_equal(take()->bytes_to_server, 11);
		assert_int_equal(take()->bytes_to_client, 22);
	}
}

static void spliced_bytes_are_late_with_the_others(void **state)
{
	(void)state;
	tally_count_spliced(&tallies[0], 7, false);
	tally_count_bytes(&tallies[0], 10, 20, true);
	tally_count_spliced(&tallies[0], 8, true);
	assert_int_equal(take()->bytes_spliced, 7);
	for (int i = 0; i < 2; i++) {
		tally_count_late(&tallies[0]);
		assert_int_equal(take()->bytes_spliced, 15);
	}
}

static void a_wait_is_counted_with_its_time(void **state)
{
	(void)state;
	tally_count_wait(&tallies[0], 5);
	tally_count_wait(&tallies[1], 6);
	assert_int_equal(take()->queued, 2);
	assert_int_equal(take()->queue_ns, 11);
}

static void totals_do_not_fall(void **state)
{
	struct tally_sum now = {.total = 5, .sessions = 1, .sessions_max = 2, .bytes_to_client = 9};
	struct tally_sum before = {.total = 6, .sessions = 7, .sessions_max = 8, .bytes_to_client = 3};

	(void)state;
	before.closes[CLOSE_NORMAL] = 4;
	now.closes[CLOSE_KILLED] = 1;
	tally_keep_totals(&now, &before);
	assert_int_equal(now.total, 6);
	assert_int_equal(now.bytes_to_client, 9);
	assert_int_equal(now.sessions, 1);
	assert_int_equal(now.sessions_max, 2);
	assert_int_equal(now.closes[CLOSE_NORMAL], 4);
	assert_int_equal(now.closes[CLOSE_KILLED], 1);
}

static void a_reason_is_counted_where_it_belongs(void **state)
{
	(void)state;
	for (int i = 0; i < CLOSE_REASONS; i++)
		tally_count_reason(&tallies[0], (enum close_reason)i);
	assert_int_equal(take()->client_aborts, 3);
	assert_int_equal(take()->server_aborts, 2);
	assert_int_equal(take()->internal_errors, 4);
	assert_int_equal(take()->lifetime_ends, 1);
	assert_int_equal(take()->removed_ends, 1);
	assert_int_equal(take()->drained_ends, 1);
	tally_count_reason(&tallies[1], CLOSE_KILLED);
	for (int i = 0; i < CLOSE_REASONS; i++)
		assert_int_equal(take()->closes[i], i == CLOSE_KILLED ? 2 : 1);
}

static void who_slowed_a_session_down_is_counted_apart(void **state)
{
	(void)state;
	for (unsigned i = LIMITED_UNKNOWN; i < LIMITS; i++)
		for (unsigned n = 0; n < 1 + i; n++)
			tally_count_limit(&tallies[0], (enum limited_by)i);
	assert_int_equal(take()->limited_by_none, 1 + LIMITED_NONE);
	assert_int_equal(take()->limited_by_client, 1 + LIMITED_CLIENT);
	assert_int_equal(take()->limited_by_server, 1 + LIMITED_SERVER);
	assert_int_equal(take()->limited_by_network, 1 + LIMITED_NETWORK);
	assert_int_equal(take()->limited_by_us, 1 + LIMITED_US);
}

/* Gives both writers' fields of the row in `field` 5 and 7, and tells what they come to. */
#define SET_FIELD(field)                                                                                     \
	(counter_set(&tallies[0].field, 5), counter_set(&tallies[1].field, 7))
#define SET_TOTAL(field) (SET_FIELD(field), 5 + 7)
#define SET_GAUGE(field) (SET_FIELD(field), 5 + 7)
#define SET_MAX(field)	 (SET_FIELD(field), 7)
#define SET_RATE(field)	 0

static void each_row_is_read_and_added_up_by_its_kind(void **state)
{
	const uint64_t expected[] = {
#define TALLY(field, kind, unit, shown, column, metric, help) SET_##kind(field),
#include "weir/account/tallies.tbl.h"
#undef TALLY
	};
	const struct tally_row *row;
	size_t i;

	(void)state;
	for (i = 0; (row = tally_row(i)) != NULL; i++)
		assert_int_equal(tally_at(take(), row->offset), expected[i]);
	assert_int_equal(i, sizeof(expected) / sizeof(expected[0]));
}

static void a_cleared_tally_is_as_new(void **state)
{
	static const uint64_t us[TALLY_TIMES] = {1, 2, 3};
	static const struct tally new;
	struct tally *t = &tallies[0];

	(void)state;
#define TALLY(field, kind, unit, shown, column, metric, help) (void)SET_##kind(field);
#include "weir/account/tallies.tbl.h"
#undef TALLY
	tally_begin_second(t, BEGIN_NS, 5);
	tally_begin_second(t, BEGIN_NS + NS_PER_SEC, 5);
	tally_count_bytes(t, 1, 2, true);
	tally_count_spliced(t, 1, true);
	tally_count_reason(t, CLOSE_KILLED);
	tally_count_times(t, us);
	counter_set(&t->own_max, 3);
	tally_clear(t);
	assert_memory_equal(t, &new, sizeof(new));
}

static bool ends_with(const char *text, const char *end)
{
	return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

static void each_row_has_a_unit_a_help_text_and_a_metric_of_its_own(void **state)
{
	const struct tally_row *row;

	(void)state;
	for (size_t i = 0; (row = tally_row(i)) != NULL; i++) {
		assert_in_range(strspn(row->unit, "abcdefghijklmnopqrstuvwxyz"), 1, strlen(row->unit));
		assert_true(strlen(row->help) > 3);
		assert_int_equal(strspn(row->metric, "abcdefghijklmnopqrstuvwxyz_"), strlen(row->metric));
		assert_int_equal(ends_with(row->metric, "_total"), row->kind == TALLY_KIND_TOTAL);
		for (size_t k = 0; k < i; k++) {
			assert_string_not_equal(row->metric, tally_row(k)->metric);
			assert_string_not_equal(row->help, tally_row(k)->help);
			assert_true(strcmp(row->column, "none") == 0 ||
				    strcmp(row->column, tally_row(k)->column) != 0);
		}
	}
}

static void totals_are_counted_from_a_base(void **state)
{
	const struct tally_sum base = {.total = 5, .retries = 9, .sessions = 100, .sessions_max = 30,
				       .last_ns = 70, .times_max_us = {8},
				       .closes = {[CLOSE_KILLED] = 3}};
	struct tally_sum now = {.total = 7, .retries = 3, .sessions = 2, .sessions_max = 4, .last_ns = 70,
				.rate = 6, .times_max_us = {2}, .closes = {[CLOSE_KILLED] = 5}};

	(void)state;
	tally_subtract(&now, &base);
	assert_int_equal(now.total, 2);
	assert_int_equal(now.retries, 3); /* it began anew */
	assert_int_equal(now.sessions, 2);
	assert_int_equal(now.sessions_max, 4);
	assert_int_equal(now.rate, 6);
	assert_int_equal(now.closes[CLOSE_KILLED], 2);
	assert_int_equal(now.last_ns, 0); /* none since then */
	now.last_ns = 71;
	tally_subtract(&now, &base);
	assert_int_equal(now.last_ns, 71);
	tally_keep_maxima(&now, &base);
	assert_int_equal(now.total, 2);
	assert_int_equal(now.sessions_max, 30);
	assert_int_equal(now.times_max_us[0], 8);
}

#define TALLY_TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TALLY_TEST(a_count_is_of_its_second_and_of_the_one_before),
		TALLY_TEST(late_bytes_are_counted_later),
		TALLY_TEST(spliced_bytes_are_late_with_the_others),
		TALLY_TEST(a_wait_is_counted_with_its_time),
		TALLY_TEST(totals_do_not_fall),
		TALLY_TEST(a_reason_is_counted_where_it_belongs),
		TALLY_TEST(who_slowed_a_session_down_is_counted_apart),
		TALLY_TEST(each_row_is_read_and_added_up_by_its_kind),
		TALLY_TEST(a_cleared_tally_is_as_new),
		TALLY_TEST(totals_are_counted_from_a_base),
		TALLY_TEST(each_row_has_a_unit_a_help_text_and_a_metric_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

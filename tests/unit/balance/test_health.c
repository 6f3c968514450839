/* SPDX-License-Identifier: MIT
 *
 * test_health.c - HAProxy's counter of checks, against tables that are written out.
 *
 * The numbers were worked out by hand from set_server_check_status() and srv_getinter() of HAProxy 2.6.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "weir/balance/health.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/config/config.h"

/* Each row begins with a new server. `checks`: '+' good, '-' bad. Behind each of them: the counter, and U or
 * D for what the server is. */
static const struct row {
	unsigned rise, fall;
	const char *checks;
	const char *counter;
	const char *state;
} rows[] = {
	/* The start: up, one failure takes it down, one success makes it fully up. */
	{1, 1, "-", "0", "D"},
	{1, 3, "-", "0", "D"},
	{2, 3, "-", "0", "D"},
	{3, 1, "-", "0", "D"},
	{3, 3, "-", "0", "D"},
	{1, 1, "+", "1", "U"},
	{1, 3, "+", "3", "U"},
	{2, 3, "+", "4", "U"},
	{3, 1, "+", "3", "U"},
	{3, 3, "+", "5", "U"},
	/* From fully up it takes `fall` failures in a row. */
	{1, 1, "+-", "10", "UD"},
	{1, 2, "+--", "210", "UUD"},
	{1, 3, "+---", "3210", "UUUD"},
	{2, 1, "+-", "20", "UD"},
	{2, 2, "+--", "320", "UUD"},
	{2, 3, "+---", "4320", "UUUD"},
	{3, 1, "+-", "30", "UD"},
	{3, 3, "+---", "5430", "UUUD"},
	{2, 5, "+-----", "654320", "UUUUUD"},
	/* From fully down it takes `rise` successes in a row; then it is fully up. */
	{1, 3, "-+", "03", "DU"},
	{2, 3, "-++", "014", "DDU"},
	{3, 1, "-+++", "0123", "DDDU"},
	{3, 3, "-+++", "0125", "DDDU"},
	{4, 2, "-++++", "01235", "DDDDU"},
	/* One success on the way down makes it fully up again. */
	{2, 3, "+--+---", "4324320", "UUUUUUD"},
	{1, 2, "+-+-+--", "2121210", "UUUUUUD"},
	{3, 3, "+--+--+--", "543543543", "UUUUUUUUU"},
	/* One failure on the way up makes it fully down again. */
	{2, 3, "-+-+-++", "0101014", "DDDDDDU"},
	{3, 3, "-++-++-+++", "0120120125", "DDDDDDDDDU"},
	/* The ends of the scale. */
	{2, 3, "+++++", "44444", "UUUUU"},
	{2, 3, "-----", "00000", "DDDDD"},
	{1, 1, "-+-+-+", "010101", "DUDUDU"},
};

static void walk(const struct row *row)
{
	struct health h;
	bool up = true;

	health_init(&h, row->rise, row->fall);
	assert_int_equal(h.health, row->rise);
	assert_true(health_is_up(&h));
	for (size_t i = 0; row->checks[i] != '\0'; i++) {
		const enum health_change got = row->checks[i] == '+' ? health_good(&h) : health_bad(&h);
		const bool now = row->state[i] == 'U';
		const enum health_change wanted =
			now == up ? HEALTH_SAME : (now ? HEALTH_WENT_UP : HEALTH_WENT_DOWN);

		if (h.health != (unsigned)(row->counter[i] - '0') || health_is_up(&h) != now || got != wanted)
			fail_msg("rise %u, fall %u, check %zu of %s: counter %u, %s", row->rise, row->fall,
				 i + 1, row->checks, h.health, health_is_up(&h) ? "up" : "down");
		up = now;
	}
}

static void counter_walks_as_haproxys_does(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		walk(&rows[i]);
}

/* Intervals in milliseconds; 0 = not given. rise 2, fall 3: fully up is 4. */
static const struct wait {
	unsigned counter;
	int inter, fast, down;
	int wanted;
} waits[] = {
	{4, 2000, 0, 0, 2000},   {3, 2000, 0, 0, 2000},    {2, 2000, 0, 0, 2000},   {1, 2000, 0, 0, 2000},
	{0, 2000, 0, 0, 2000},   {4, 2000, 500, 0, 2000},  {3, 2000, 500, 0, 500},  {2, 2000, 500, 0, 500},
	{1, 2000, 500, 0, 500},  {0, 2000, 500, 0, 2000},  {4, 2000, 0, 9000, 2000}, {3, 2000, 0, 9000, 2000},
	{1, 2000, 0, 9000, 2000}, {0, 2000, 0, 9000, 9000}, {4, 2000, 500, 9000, 2000},
	{3, 2000, 500, 9000, 500}, {2, 2000, 500, 9000, 500}, {1, 2000, 500, 9000, 500},
	{0, 2000, 500, 9000, 9000},
};

static void interval_is_fast_only_on_the_way_and_down_only_at_the_bottom(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
		const struct wait *w = &waits[i];
		const struct health h = {.rise = 2, .fall = 3, .health = w->counter};
		const struct config_check c = {.interval_ns = w->inter * NS_PER_MS,
					       .fast_ns = w->fast * NS_PER_MS,
					       .down_ns = w->down * NS_PER_MS};

		if (health_interval_ns(&h, &c) != w->wanted * NS_PER_MS)
			fail_msg("row %zu: %lld ns", i, (long long)health_interval_ns(&h, &c));
	}
}

/* With rise 2 and fall 1 the start is fully up already; with fall 2 it is not, and is asked fast. */
static void start_is_asked_fast_until_the_first_success(void **state)
{
	const struct config_check c = {.interval_ns = 2000, .fast_ns = 100, .down_ns = 9000};
	struct health h;

	(void)state;
	health_init(&h, 2, 1);
	assert_int_equal(health_interval_ns(&h, &c), 2000);
	health_init(&h, 2, 2);
	assert_int_equal(health_interval_ns(&h, &c), 100);
	assert_int_equal(health_good(&h), HEALTH_SAME);
	assert_int_equal(health_interval_ns(&h, &c), 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counter_walks_as_haproxys_does),
		cmocka_unit_test(interval_is_fast_only_on_the_way_and_down_only_at_the_bottom),
		cmocka_unit_test(start_is_asked_fast_until_the_first_success),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * test_stat_pace.c - how fast the process works, by clocks that the test turns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/clock.h"
#include "weir/engine/engine.h"
#include "weir/stats/stat_pace.h"

static struct engine engine;

/* Two workers. */
static struct counters counted;

const struct counters *engine_counters(const struct engine *e, unsigned worker)
{
	assert_true(worker < e->worker_count);
	return &counted;
}

static void pace_is_measured_over_a_second_or_more(void **state)
{
	struct stat_pace p;

	(void)state;
	memset(&counted, 0, sizeof(counted));
	engine.worker_count = 2;
	stat_pace_init(&p, 100 * NS_PER_SEC, NS_PER_SEC);
	assert_int_equal(p.idle_percent, 100);
	counter_set(&counted.bytes_to_server, 3000);
	stat_pace_measure(&p, &engine, 101 * NS_PER_SEC - 1, 2 * NS_PER_SEC);
	assert_int_equal(p.idle_percent, 100); /* too early */
	assert_int_equal(p.bytes_per_s, 0);
	stat_pace_measure(&p, &engine, 102 * NS_PER_SEC, 2 * NS_PER_SEC);
	assert_int_equal(p.idle_percent, 75); /* one of four seconds */
	assert_int_equal(p.bytes_per_s, 3000); /* both workers, in two seconds */
	stat_pace_measure(&p, &engine, 103 * NS_PER_SEC, 7 * NS_PER_SEC);
	assert_int_equal(p.idle_percent, 0);
	assert_int_equal(p.bytes_per_s, 0);
	engine.worker_count = 0;
}

/* 64 workers that were never asked about, half of whose time went by in work. */
static void months_are_measured_too(void **state)
{
	const int64_t year_ns = 365 * 86400 * NS_PER_SEC;
	struct stat_pace p;

	(void)state;
	memset(&counted, 0, sizeof(counted));
	engine.worker_count = 64;
	stat_pace_init(&p, NS_PER_SEC, 0);
	stat_pace_measure(&p, &engine, NS_PER_SEC + year_ns, 32 * year_ns);
	assert_int_equal(p.idle_percent, 50);
	engine.worker_count = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pace_is_measured_over_a_second_or_more),
		cmocka_unit_test(months_are_measured_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

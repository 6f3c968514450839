/* SPDX-License-Identifier: MIT
 *
 * test_stat_base.c - the base of `clear counters`; and without memory there are no statistics.
 */
#include <ev.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../base/alloc_fail.h"
#include "../engine/objects_by_hand.h"
#include "weir/stats/question.h"
#include "weir/stats/stat_base.h"

static struct engine engine;
static struct config config;

static int setup(void **state)
{
	(void)state;
	memset(&engine, 0, sizeof(engine));
	objects_by_hand(&engine, &config);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	objects_by_hand_free(&engine);
	return 0;
}

static void a_base_is_of_one_object(void **state)
{
	const struct stat_counts was = {.total = 3, .failures = 9, .redispatches = 1};
	struct stat_counts now = {.total = 5, .failures = 2, .redispatches = 1, .chosen = 4};
	struct stat_bases bases;
	uint32_t slot, again;

	(void)state;
	assert_int_equal(stat_bases_init(&bases, &engine.live.objects), 0);
	assert_int_equal(slot_space_take(&engine.live.objects, &slot), 0);
	assert_int_equal(stat_base_at(&bases, slot)->counts.total, 0);
	stat_base_at(&bases, slot)->counts = was;
	stat_counts_subtract(&now, &stat_base_at(&bases, slot)->counts);
	assert_int_equal(now.total, 2);
	assert_int_equal(now.failures, 2); /* they began anew */
	assert_int_equal(now.redispatches, 0);
	assert_int_equal(now.chosen, 4);
	slot_space_put(&engine.live.objects, slot);
	assert_int_equal(slot_space_take(&engine.live.objects, &again), 0);
	assert_int_equal(again, slot);
	assert_int_equal(stat_base_at(&bases, again)->counts.total, 0);
	slot_space_put(&engine.live.objects, again);
	stat_bases_free(&bases);
}

/* Every allocation fails in turn, and nothing is left. */
static void without_memory_there_are_no_stats(void **state)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	struct stats *s = NULL;
	uint32_t slot;
	long failures = 0;

	(void)state;
	assert_int_equal(slot_space_take(&engine.live.objects, &slot), 0);
	for (; s == NULL; failures++) {
		const long before = allocated;

		until_failure = failures;
		s = stats_new(loop, &engine);
		until_failure = -1;
		if (s == NULL)
			assert_int_equal(allocated, before);
	}
	assert_in_range(failures, 4, 100); /* the first run that needed no more is counted */
	assert_non_null(stats_bases(s));
	stats_free(s);
	slot_space_put(&engine.live.objects, slot);
	ev_loop_destroy(loop);
}

#define BASE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BASE_TEST(a_base_is_of_one_object),
		BASE_TEST(without_memory_there_are_no_stats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

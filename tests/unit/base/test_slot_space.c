/* SPDX-License-Identifier: MIT
 *
 * test_slot_space.c - numbers are reused from below, each has an entry in each table, and a number that
 * cannot be had changes nothing.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "weir/base/counted.h"
#include "weir/base/slot_space.h"

#define MANY   3000u
#define TABLES 3

static uint64_t seed = 88172645463325252u;

static uint32_t random_below(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % below;
}

static uint32_t take(struct slot_space *s)
{
	uint32_t n = UINT32_MAX;

	assert_int_equal(slot_space_take(s, &n), 0);
	return n;
}

static void give_back_all(struct slot_space *s)
{
	for (uint32_t i = 0; i < slot_space_peak(s); i++)
		if (s->taken[i / 64] >> i % 64 & 1)
			slot_space_put(s, i);
	assert_int_equal(s->count, 0);
	slot_space_free(s);
}

static void the_lowest_free_number_is_taken(void **state)
{
	struct slot_space s;

	(void)state;
	slot_space_init(&s);
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(take(&s), i);
	slot_space_put(&s, 700);
	slot_space_put(&s, 63);
	slot_space_put(&s, 64);
	assert_int_equal(take(&s), 63);
	assert_int_equal(take(&s), 64);
	assert_int_equal(take(&s), 700);
	assert_int_equal(take(&s), MANY);
	give_back_all(&s);
}

/* Against a plain array of booleans. */
static void numbers_that_come_and_go_follow_the_model(void **state)
{
	static bool taken[MANY];
	struct slot_space s;
	uint32_t peak = 0, count = 0;

	(void)state;
	memset(taken, 0, sizeof(taken));
	slot_space_init(&s);
	for (unsigned step = 0; step < 50000; step++) {
		const uint32_t at = random_below(300);

		if (taken[at]) {
			slot_space_put(&s, at);
			taken[at] = false;
			count--;
		} else {
			uint32_t lowest = 0;

			while (taken[lowest])
				lowest++;
			assert_int_equal(take(&s), lowest);
			taken[lowest] = true;
			count++;
			peak = lowest >= peak ? lowest + 1 : peak;
		}
		assert_int_equal(s.count, count);
		assert_int_equal(slot_space_peak(&s), peak);
	}
	give_back_all(&s);
}

static void tables_follow_the_peak(void **state)
{
	struct slot_space s;
	struct chunks c;

	(void)state;
	slot_space_init(&s);
	chunks_init(&c, 1);
	assert_int_equal(slot_space_add_table(&s, &c), 0);
	assert_false(chunks_has(&c, 0));
	for (unsigned again = 0; again < 1000; again++) { /* 32,000 come and go, 32 at a time */
		for (uint32_t i = 0; i < CHUNKS_FIRST; i++)
			assert_int_equal(take(&s), i);
		for (uint32_t i = 0; i < CHUNKS_FIRST; i++)
			slot_space_put(&s, i);
	}
	assert_int_equal(slot_space_peak(&s), CHUNKS_FIRST);
	assert_true(chunks_has(&c, CHUNKS_FIRST - 1));
	assert_false(chunks_has(&c, CHUNKS_FIRST));
	slot_space_remove_table(&s, &c);
	chunks_free(&c);
	give_back_all(&s);
}

static void a_table_added_late_has_an_entry_for_each_number(void **state)
{
	struct slot_space s;
	struct chunks c, other;

	(void)state;
	slot_space_init(&s);
	chunks_init(&c, 8);
	chunks_init(&other, 8);
	slot_space_remove_table(&s, &other); /* was never added */
	for (uint32_t i = 0; i < MANY; i++)
		(void)take(&s);
	for (uint32_t i = 0; i < MANY - 1; i++) /* only the last is left */
		slot_space_put(&s, i);
	assert_int_equal(slot_space_add_table(&s, &c), 0);
	for (uint32_t i = 0; i < slot_space_peak(&s); i++)
		assert_true(chunks_has(&c, i));
	for (uint32_t i = 0; i < 2 * MANY; i++)
		assert_true(chunks_has(&c, take(&s)));
	slot_space_remove_table(&s, &c);
	slot_space_remove_table(&s, &c);
	while (chunks_has(&c, s.count))
		(void)take(&s); /* grows without the table that left */
	assert_false(chunks_has(&c, take(&s)));
	chunks_free(&c);
	chunks_free(&other);
	give_back_all(&s);
}

static void all_numbers_taken_is_an_error(void **state)
{
	struct slot_space s;
	uint32_t n = 7;

	(void)state;
	slot_space_init(&s);
	(void)take(&s);
	/* As if all had been taken one by one, which takes minutes. */
	s.words = CHUNKS_LIMIT / 64 + 1;
	s.taken = realloc(s.taken, s.words * sizeof(*s.taken));
	assert_non_null(s.taken);
	memset(s.taken, 0xff, s.words * sizeof(*s.taken));
	s.taken[s.words - 1] = (UINT64_C(1) << CHUNKS_LIMIT % 64) - 1;
	assert_int_equal(slot_space_take(&s, &n), -ENOSPC);
	assert_int_equal(n, 7);
	assert_int_equal(slot_space_peak(&s), 1);
	slot_space_put(&s, CHUNKS_LIMIT - 1);
	slot_space_free(&s);
}

/* ---- without memory ---- */

struct picture {
	struct slot_space s;
	uint64_t taken[MANY / 64 + 1];
};

static void picture_take(struct picture *p, const struct slot_space *s)
{
	memset(p, 0, sizeof(*p));
	p->s.count = s->count;
	atomic_init(&p->s.peak, slot_space_peak(s));
	for (uint32_t i = 0; i < slot_space_peak(s) && s->words > 0; i++)
		if (s->taken[i / 64] >> i % 64 & 1)
			p->taken[i / 64] |= UINT64_C(1) << i % 64;
}

static void assert_unchanged(const struct picture *before, const struct slot_space *s)
{
	struct picture now;

	picture_take(&now, s);
	assert_int_equal(now.s.count, before->s.count);
	assert_int_equal(slot_space_peak(&now.s), slot_space_peak(&before->s));
	assert_memory_equal(now.taken, before->taken, sizeof(now.taken));
}

/* How many allocations failed before it succeeded: first the first one, then, as what could be allocated
 * stays for the next attempt, always the second. */
static unsigned take_with_failures(struct slot_space *s)
{
	const uint32_t expected = s->count;

	for (unsigned failures = 0;; failures++) {
		struct picture before;
		uint32_t n = UINT32_MAX;
		int err;

		picture_take(&before, s);
		fail_allocations_from(failures == 0 ? 0 : 1);
		err = slot_space_take(s, &n);
		fail_allocations_from(-1);
		if (!err) {
			assert_int_equal(n, expected);
			return failures;
		}
		assert_int_equal(err, -ENOMEM);
		assert_int_equal(n, UINT32_MAX);
		assert_unchanged(&before, s);
	}
}

static void a_number_without_memory_changes_nothing(void **state)
{
	struct slot_space s;
	struct chunks c[TABLES];
	unsigned failures = 0;

	(void)state;
	slot_space_init(&s);
	for (unsigned i = 0; i < TABLES; i++) {
		chunks_init(&c[i], i + 1);
		assert_int_equal(slot_space_add_table(&s, &c[i]), 0);
	}
	for (uint32_t i = 0; i < MANY; i++) {
		failures += take_with_failures(&s);
		for (unsigned k = 0; k < TABLES; k++)
			assert_true(chunks_has(&c[k], i));
	}
	/* 3,000 numbers lie in seven parts of each table, and their map is allocated five times. */
	assert_int_equal(failures, TABLES * 7 + 5);
	for (unsigned i = 0; i < TABLES; i++) {
		slot_space_remove_table(&s, &c[i]);
		chunks_free(&c[i]);
	}
	give_back_all(&s);
}

static void a_table_without_memory_is_not_added(void **state)
{
	struct slot_space s;
	struct chunks c;
	unsigned fail = 1;

	(void)state;
	slot_space_init(&s);
	for (uint32_t i = 0; i < MANY; i++)
		(void)take(&s);
	for (;; fail++) {
		struct picture before;
		int err;

		picture_take(&before, &s);
		chunks_init(&c, 4);
		fail_allocations_from((long)fail - 1);
		err = slot_space_add_table(&s, &c);
		fail_allocations_from(-1);
		assert_unchanged(&before, &s);
		if (!err)
			break;
		assert_int_equal(err, -ENOMEM);
		assert_true(list_empty(&s.tables));
		assert_true(list_empty(&c.link));
		chunks_free(&c);
	}
	assert_int_equal(fail, 7 + 1);
	slot_space_remove_table(&s, &c);
	chunks_free(&c);
	give_back_all(&s);
}

/* ---- counts in the tables of two workers ---- */

static void counts_are_summed_over_the_workers(void **state)
{
	struct slot_space s;
	struct chunks mine[2];
	struct counted a = {0}, b = {0};

	(void)state;
	slot_space_init(&s);
	for (unsigned i = 0; i < 2; i++) {
		chunks_init(&mine[i], sizeof(counted_entry));
		assert_int_equal(slot_space_add_table(&s, &mine[i]), 0);
	}
	a.slot = take(&s);
	b.slot = take(&s);
	counted_take(&mine[0], &a);
	counted_take(&mine[0], &a);
	counted_take(&mine[1], &a);
	assert_int_equal(counted_sum(&s, &a), 3);
	assert_int_equal(counted_sum(&s, &b), 0);
	assert_false(counted_give_back(&mine[1], &a)); /* the last one here, but it does not leave */
	atomic_store(&a.leaving, true);
	assert_false(counted_give_back(&mine[0], &a));
	assert_true(counted_give_back(&mine[0], &a));
	assert_int_equal(counted_sum(&s, &a), 0);
	for (unsigned i = 0; i < 2; i++) {
		slot_space_remove_table(&s, &mine[i]);
		chunks_free(&mine[i]);
	}
	give_back_all(&s);
}

static void an_entry_is_zero_for_the_next_one(void **state)
{
	struct chunks emptied, kept;
	struct slot_space s;

	(void)state;
	slot_space_init(&s);
	chunks_init(&emptied, sizeof(uint64_t));
	chunks_init(&kept, sizeof(uint64_t));
	emptied.emptied = true;
	assert_int_equal(slot_space_add_table(&s, &emptied), 0);
	assert_int_equal(slot_space_add_table(&s, &kept), 0);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(take(&s), i);
		*(uint64_t *)chunks_at(&emptied, i) = 7;
		*(uint64_t *)chunks_at(&kept, i) = 7;
	}
	slot_space_put(&s, 1);
	assert_int_equal(*(uint64_t *)chunks_at(&emptied, 0), 7);
	assert_int_equal(*(uint64_t *)chunks_at(&emptied, 1), 0);
	assert_int_equal(*(uint64_t *)chunks_at(&kept, 1), 7);
	slot_space_remove_table(&s, &emptied);
	slot_space_remove_table(&s, &kept);
	chunks_free(&emptied);
	chunks_free(&kept);
	give_back_all(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_lowest_free_number_is_taken),
		cmocka_unit_test(numbers_that_come_and_go_follow_the_model),
		cmocka_unit_test(tables_follow_the_peak),
		cmocka_unit_test(a_table_added_late_has_an_entry_for_each_number),
		cmocka_unit_test(all_numbers_taken_is_an_error),
		cmocka_unit_test(a_number_without_memory_changes_nothing),
		cmocka_unit_test(a_table_without_memory_is_not_added),
		cmocka_unit_test(counts_are_summed_over_the_workers),
		cmocka_unit_test(an_entry_is_zero_for_the_next_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

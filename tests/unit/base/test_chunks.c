/* SPDX-License-Identifier: MIT
 *
 * test_chunks.c - entries are found, are zero at first and never move; a walk beside a growing table sees
 * only whole parts. Worth most under the address and the thread sanitizer.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "weir/base/chunks.h"

#define MANY 5000u /* entries: eight parts */

struct entry {
	uint32_t number;
	uint8_t rest[9];
};

/* The first number of `part`. */
static uint32_t first_of(unsigned part)
{
	return CHUNKS_FIRST * ((1u << part) - 1);
}

static void numbers_fall_into_the_part_that_holds_them(void **state)
{
	(void)state;
	for (unsigned part = 0; part < CHUNKS_PARTS; part++) {
		assert_int_equal(chunks_part(first_of(part)), part);
		assert_int_equal(chunks_part(first_of(part + 1) - 1), part);
	}
	assert_int_equal(first_of(CHUNKS_PARTS), CHUNKS_LIMIT);
}

static void entries_are_zero_at_first_and_do_not_overlap(void **state)
{
	static const struct entry zero;
	struct chunks c;

	(void)state;
	chunks_init(&c, sizeof(struct entry));
	for (uint32_t i = 0; i < MANY; i++) {
		struct entry *e;

		assert_int_equal(chunks_reserve(&c, i), 0);
		e = chunks_at(&c, i);
		assert_memory_equal(e, &zero, sizeof(zero));
		memset(e, 0xff, sizeof(*e));
		e->number = i;
	}
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(((struct entry *)chunks_at(&c, i))->number, i);
	chunks_free(&c);
}

static void entries_never_move(void **state)
{
	static void *where[MANY];
	struct chunks c;

	(void)state;
	chunks_init(&c, sizeof(struct entry));
	for (uint32_t i = 0; i < MANY; i++) {
		assert_int_equal(chunks_reserve(&c, i), 0);
		where[i] = chunks_at(&c, i);
	}
	for (uint32_t i = 0; i < MANY; i++) {
		assert_int_equal(chunks_reserve(&c, i), 0);
		assert_ptr_equal(chunks_at(&c, i), where[i]);
	}
	chunks_free(&c);
}

static void each_part_starts_a_cache_line(void **state)
{
	struct chunks c;

	(void)state;
	chunks_init(&c, 3);
	for (unsigned part = 0; part < 6; part++) {
		assert_int_equal(chunks_reserve(&c, first_of(part)), 0);
		assert_int_equal((uintptr_t)chunks_at(&c, first_of(part)) % 64, 0);
	}
	chunks_free(&c);
}

static void only_the_part_of_the_number_gets_room(void **state)
{
	struct chunks c;

	(void)state;
	chunks_init(&c, 1);
	assert_false(chunks_has(&c, 0));
	assert_int_equal(chunks_reserve(&c, first_of(3)), 0);
	assert_false(chunks_has(&c, first_of(3) - 1));
	assert_true(chunks_has(&c, first_of(3)));
	assert_true(chunks_has(&c, first_of(4) - 1));
	assert_false(chunks_has(&c, first_of(4)));
	chunks_free(&c);
	assert_false(chunks_has(&c, first_of(3)));
}

static void a_number_past_the_limit_has_no_room(void **state)
{
	struct chunks c;

	(void)state;
	chunks_init(&c, 1);
	assert_int_equal(chunks_reserve(&c, CHUNKS_LIMIT), -ENOSPC);
	assert_int_equal(chunks_reserve(&c, UINT32_MAX - CHUNKS_FIRST), -ENOSPC);
	assert_int_equal(chunks_reserve(&c, UINT32_MAX), -ENOSPC);
	assert_false(chunks_has(&c, CHUNKS_LIMIT));
	assert_false(chunks_has(&c, UINT32_MAX));
	assert_int_equal(chunks_reserve(&c, CHUNKS_LIMIT - 1), 0);
	memset(chunks_at(&c, CHUNKS_LIMIT - 1), 1, 1);
	chunks_free(&c);
}

static void a_part_larger_than_memory_is_refused(void **state)
{
	struct chunks c;

	(void)state;
	chunks_init(&c, SIZE_MAX / CHUNKS_FIRST + 2); /* the first part would wrap to a few bytes */
	assert_int_equal(chunks_reserve(&c, 0), -ENOMEM);
	assert_false(chunks_has(&c, 0));
	chunks_free(&c);
}

static void a_part_without_memory_changes_nothing(void **state)
{
	struct chunks c;

	(void)state;
	chunks_init(&c, sizeof(struct entry));
	for (unsigned part = 0; part < 6; part++) {
		fail_allocations_from(0);
		assert_int_equal(chunks_reserve(&c, first_of(part)), -ENOMEM);
		assert_false(chunks_has(&c, first_of(part)));
		fail_allocations_from(-1);
		assert_int_equal(chunks_reserve(&c, first_of(part)), 0);
		assert_true(chunks_has(&c, first_of(part)));
	}
	chunks_free(&c);
}

/* ---- a walk beside a table that grows ---- */

struct walk {
	struct chunks c;
	atomic_uint reached; /* entries that the walk has seen */
};

static void *walk_until_all_are_there(void *arg)
{
	struct walk *w = arg;
	uint32_t seen = 0;

	while (seen < MANY) {
		for (seen = 0; seen < MANY && chunks_has(&w->c, seen); seen++) {
			uint64_t *entry = chunks_at(&w->c, seen);

			if (*entry != 0 && *entry != seen)
				abort(); /* not zero at first, or another's */
			*entry = seen;
		}
		atomic_store(&w->reached, seen);
	}
	return NULL;
}

static void a_walk_sees_only_whole_parts_while_the_table_grows(void **state)
{
	(void)state;
	for (unsigned again = 0; again < 100; again++) {
		struct walk w;
		pthread_t reader;

		chunks_init(&w.c, sizeof(uint64_t));
		atomic_init(&w.reached, 0);
		assert_int_equal(pthread_create(&reader, NULL, walk_until_all_are_there, &w), 0);
		for (uint32_t i = 0; i < MANY; i++)
			assert_int_equal(chunks_reserve(&w.c, i), 0);
		assert_int_equal(pthread_join(reader, NULL), 0);
		assert_true(atomic_load(&w.reached) >= MANY);
		chunks_free(&w.c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_fall_into_the_part_that_holds_them),
		cmocka_unit_test(entries_are_zero_at_first_and_do_not_overlap),
		cmocka_unit_test(entries_never_move),
		cmocka_unit_test(each_part_starts_a_cache_line),
		cmocka_unit_test(only_the_part_of_the_number_gets_room),
		cmocka_unit_test(a_number_past_the_limit_has_no_room),
		cmocka_unit_test(a_part_larger_than_memory_is_refused),
		cmocka_unit_test(a_part_without_memory_changes_nothing),
		cmocka_unit_test(a_walk_sees_only_whole_parts_while_the_table_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

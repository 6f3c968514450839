/* SPDX-License-Identifier: MIT
 *
 * test_buf_pool.c - pooled buffers: tiers, budget, ageing, and many workers at once.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/io/buf_pool.h"

#define KIB 1024u
#define WORKERS 4
#define ROUNDS 3000
#define HELD_MAX 48u

struct fixture {
	struct buf_pool pool;
	struct buf_cache a;
	struct buf_cache b;
	struct buf *held[200];
};

static int setup(void **state)
{
	struct fixture *f = aligned_alloc(_Alignof(struct fixture), sizeof(*f));

	assert_non_null(f);
	buf_pool_init(&f->pool, UINT64_MAX);
	buf_cache_init(&f->a, &f->pool);
	buf_cache_init(&f->b, &f->pool);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	buf_cache_free(&f->a);
	buf_cache_free(&f->b);
	buf_pool_free(&f->pool); /* checks that no byte is left */
	assert_int_equal(f->pool.created, f->pool.freed);
	free(f);
	return 0;
}

static void burst(struct fixture *f, struct buf_cache *c, uint32_t n, uint32_t bytes)
{
	for (uint32_t i = 0; i < n; i++) {
		f->held[i] = buf_get(c, bytes);
		assert_non_null(f->held[i]);
	}
	for (uint32_t i = 0; i < n; i++)
		buf_put(c, f->held[i]);
}

static void age_all(struct fixture *f)
{
	(void)buf_cache_age(&f->a);
	(void)buf_cache_age(&f->b);
	(void)buf_pool_age(&f->pool);
}

static void buffer_is_of_the_smallest_tier_that_fits(void **state)
{
	static const struct {
		uint32_t bytes, cap;
	} rows[] = {
		{1, 2048},     {2047, 2048},   {2048, 2048},   {2049, 4096},   {4096, 4096},   {4097, 8192},
		{8193, 16384}, {16384, 16384}, {16385, 32768}, {32769, 65536}, {65536, 65536},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf *b = buf_get(&f->a, rows[i].bytes);

		assert_int_equal(b->cap, rows[i].cap);
		memset(b->data, 0xa5, b->cap); /* all of it is ours: a sanitizer says otherwise */
		assert_int_equal(f->a.in_use, 1);
		assert_int_equal(f->a.in_use_bytes, rows[i].cap);
		buf_put(&f->a, b);
		assert_int_equal(f->a.in_use_bytes, 0);
	}
}

static void buffer_comes_back_empty_and_without_malloc(void **state)
{
	struct fixture *f = *state;
	struct buf *b = buf_get(&f->a, 3000);

	b->off = 7;
	b->len = 100;
	buf_put(&f->a, b);
	assert_ptr_equal(buf_get(&f->a, 4000), b);
	assert_int_equal(b->off, 0);
	assert_int_equal(b->len, 0);
	assert_int_equal(f->pool.created, 1);
	buf_put(&f->a, b);
	age_all(f); /* the way over the victims too */
	b->len = 100;
	assert_ptr_equal(buf_get(&f->a, 4000), b);
	assert_int_equal(b->len, 0);
	buf_put(&f->a, b);
}

static void full_tier_spills_to_the_pool_and_another_cache_gets_it(void **state)
{
	struct fixture *f = *state;

	burst(f, &f->a, 100, 2048);
	assert_in_range(f->a.tiers[0].count, BUF_LOCAL_MAX - BUF_BATCH, BUF_LOCAL_MAX);
	assert_int_equal(buf_pool_idle(&f->pool),
			 (100 - f->a.tiers[0].count) * (uint64_t)(2048 + sizeof(struct buf)));
	burst(f, &f->b, 60, 2048);
	assert_int_equal(f->pool.created, 100);
}

static void second_burst_after_one_cycle_allocates_nothing(void **state)
{
	struct fixture *f = *state;

	burst(f, &f->a, 100, 5000);
	age_all(f);
	burst(f, &f->a, 100, 5000);
	assert_int_equal(f->pool.created, 100);
}

static void after_two_idle_cycles_no_memory_is_left(void **state)
{
	struct fixture *f = *state;

	burst(f, &f->a, 100, 5000);
	burst(f, &f->a, 10, 60000);
	assert_true(buf_cache_age(&f->a));
	assert_true(buf_pool_age(&f->pool));
	assert_false(buf_cache_age(&f->a));
	assert_false(buf_pool_age(&f->pool));
	assert_int_equal(f->pool.bytes, 0);
	assert_int_equal(buf_pool_idle(&f->pool), 0);
}

static void budget_counts_what_is_in_use_and_is_never_passed(void **state)
{
	struct fixture *f = *state;
	const uint64_t one = 2048 + sizeof(struct buf);

	buf_pool_init(&f->pool, 3 * one + one / 2);
	for (int i = 0; i < 3; i++)
		assert_non_null(f->held[i] = buf_get(&f->a, 2048));
	assert_null(buf_get(&f->a, 1));
	assert_null(buf_get(&f->b, 1));
	assert_int_equal(f->pool.refused, 2);
	assert_int_equal(f->pool.bytes, 3 * one);
	assert_int_equal(f->a.in_use, 3);
	buf_put(&f->a, f->held[0]);
	assert_ptr_equal(buf_get(&f->a, 1), f->held[0]);
	for (int i = 0; i < 3; i++)
		buf_put(&f->a, f->held[i]);
}

static void resting_buffers_of_other_tiers_make_room_before_a_refusal(void **state)
{
	struct fixture *f = *state;
	struct buf *b;

	buf_pool_init(&f->pool, 70 * KIB);
	burst(f, &f->a, 30, 2048); /* 60 KiB and more rest in the small tier of this cache */
	b = buf_get(&f->a, 65536);
	assert_non_null(b);
	assert_true(f->pool.bytes <= 70 * KIB);
	buf_put(&f->a, b);
	b = buf_get(&f->a, 2048); /* and the other way round */
	assert_non_null(b);
	buf_put(&f->a, b);
	assert_int_equal(f->pool.refused, 0);
}

static void a_lower_budget_keeps_new_buffers_out_and_frees_those_that_come_back(void **state)
{
	struct fixture *f = *state;
	uint64_t one, before;

	for (uint32_t i = 0; i < 10; i++)
		f->held[i] = buf_get(&f->a, 64 * KIB);
	one = f->pool.bytes / 10;
	buf_pool_set_budget(&f->pool, 4 * one);
	assert_int_equal(f->pool.bytes, 10 * one); /* their owners keep them */
	assert_null(buf_get(&f->a, 1));
	assert_null(buf_get(&f->b, 1));
	for (uint32_t i = 0; i < 10; i++) {
		before = f->pool.bytes;
		buf_put(&f->a, f->held[i]);
		assert_int_equal(f->pool.bytes, before > 4 * one ? before - one : before);
	}
	assert_int_equal(f->pool.bytes, 4 * one);
	assert_int_equal(f->a.tiers[BUF_TIERS - 1].count, 4); /* pooled again */
	assert_int_equal(f->a.in_use, 0);
	assert_int_equal(f->a.in_use_bytes, 0);
	buf_pool_set_budget(&f->pool, 5 * one);
	for (uint32_t i = 0; i < 5; i++)
		assert_non_null(f->held[i] = buf_get(&f->a, 64 * KIB));
	assert_null(buf_get(&f->a, 64 * KIB));
	for (uint32_t i = 0; i < 5; i++)
		buf_put(&f->a, f->held[i]);
}

static void less_is_read_while_buffers_are_short(void **state)
{
	struct fixture *f = *state;
	struct buf *bufs[3];

	buf_pool_init(&f->pool, 4 * (64 * KIB + sizeof(struct buf)));
	assert_int_equal(buf_read_bytes(&f->a), BUF_MAX);
	for (int i = 0; i < 3; i++) {
		bufs[i] = buf_get(&f->a, BUF_MAX);
		assert_non_null(bufs[i]);
		assert_int_equal(buf_read_bytes(&f->a), i < 2 ? BUF_MAX : 8 * KIB);
	}
	buf_put(&f->a, buf_get(&f->a, 1));
	assert_int_equal(buf_read_bytes(&f->a), BUF_MIN);
	for (int i = 0; i < 3; i++)
		buf_put(&f->a, bufs[i]);
}

static void buffers_that_rest_in_the_pool_make_room_too(void **state)
{
	struct fixture *f = *state;
	struct buf *b;

	buf_pool_init(&f->pool, 110 * (2048 + sizeof(struct buf)));
	burst(f, &f->a, 100, 2048); /* most of them in the pool's list */
	b = buf_get(&f->b, 65536);
	assert_non_null(b);
	buf_put(&f->b, b);
}

/* ---- many workers ---- */

struct worker {
	_Alignas(64) struct buf_cache cache;
	uint32_t random;
	uint8_t mark;
	uint64_t got;
};

static uint32_t next_random(struct worker *w)
{
	w->random = w->random * 1103515245u + 12345u;
	return w->random >> 16;
}

static void put_marked(struct worker *w, struct buf *b)
{
	/* Somebody else's mark would mean two owners at once. */
	check(b->data[0] == w->mark);
	check(b->data[b->cap - 1] == w->mark);
	b->data[0] = 0;
	buf_put(&w->cache, b);
}

static void *churn(void *arg)
{
	struct worker *w = arg;
	struct buf *held[HELD_MAX];
	uint32_t n = 0;

	for (int round = 0; round < ROUNDS; round++) {
		const uint32_t want = next_random(w) % HELD_MAX;
		struct buf *b;

		while (n < want && (b = buf_get(&w->cache, 1 + next_random(w) % BUF_MAX)) != NULL) {
			b->data[0] = w->mark;
			b->data[b->cap - 1] = w->mark;
			held[n++] = b;
			w->got++;
		}
		while (n > want)
			put_marked(w, held[--n]);
		if (round % 97 == 0)
			(void)buf_cache_age(&w->cache);
	}
	while (n > 0)
		put_marked(w, held[--n]);
	return NULL;
}

/* With a `low` budget, control changes between the two. */
static void each_buffer_has_one_owner_while_workers_race(uint64_t budget, uint64_t low)
{
	static struct worker workers[WORKERS];
	pthread_t threads[WORKERS];
	struct buf_pool pool;
	uint64_t got = 0;

	buf_pool_init(&pool, budget);
	for (int i = 0; i < WORKERS; i++) {
		memset(&workers[i], 0, sizeof(workers[i]));
		buf_cache_init(&workers[i].cache, &pool);
		workers[i].random = (uint32_t)i + 1;
		workers[i].mark = (uint8_t)(i + 1);
		assert_int_equal(pthread_create(&threads[i], NULL, churn, &workers[i]), 0);
	}
	for (int i = 0; i < 200; i++) {
		(void)buf_pool_age(&pool);
		assert_true(atomic_load(&pool.bytes) <= budget);
		if (low > 0)
			buf_pool_set_budget(&pool, i % 2 == 0 ? low : budget);
	}
	for (int i = 0; i < WORKERS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		got += workers[i].got;
		buf_cache_free(&workers[i].cache);
	}
	assert_true(got > ROUNDS);
	buf_pool_free(&pool);
	assert_int_equal(pool.created, pool.freed);
	assert_int_equal(pool.refused != 0, budget != UINT64_MAX);
}

static void workers_without_a_budget_share_without_a_clash(void **state)
{
	(void)state;
	each_buffer_has_one_owner_while_workers_race(UINT64_MAX, 0);
}

static void workers_at_the_end_of_the_budget_share_without_a_clash(void **state)
{
	(void)state;
	each_buffer_has_one_owner_while_workers_race(1024 * KIB, 0);
}

static void workers_share_without_a_clash_while_the_budget_changes(void **state)
{
	(void)state;
	each_buffer_has_one_owner_while_workers_race(2048 * KIB, 256 * KIB);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(buffer_is_of_the_smallest_tier_that_fits),
		TEST(buffer_comes_back_empty_and_without_malloc),
		TEST(full_tier_spills_to_the_pool_and_another_cache_gets_it),
		TEST(second_burst_after_one_cycle_allocates_nothing),
		TEST(after_two_idle_cycles_no_memory_is_left),
		TEST(budget_counts_what_is_in_use_and_is_never_passed),
		TEST(resting_buffers_of_other_tiers_make_room_before_a_refusal),
		TEST(a_lower_budget_keeps_new_buffers_out_and_frees_those_that_come_back),
		TEST(less_is_read_while_buffers_are_short),
		TEST(buffers_that_rest_in_the_pool_make_room_too),
		cmocka_unit_test(workers_without_a_budget_share_without_a_clash),
		cmocka_unit_test(workers_at_the_end_of_the_budget_share_without_a_clash),
		cmocka_unit_test(workers_share_without_a_clash_while_the_budget_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

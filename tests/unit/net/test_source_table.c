/* SPDX-License-Identifier: MIT
 *
 * test_source_table.c - sessions of each source: what is one source, exact counts, also under threads.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "text_address.h"
#include "weir/net/source_table.h"

static struct source_entry *enter(struct source_table *t, const char *text, unsigned limit)
{
	const struct addr_brief a = text_address(text);
	struct source_entry *e = NULL;
	const int err = source_table_enter(t, &a, limit, 0, &e);

	if (err == 0) {
		assert_non_null(e);
		return e;
	}
	assert_int_equal(err, -EDQUOT);
	assert_null(e);
	return NULL;
}

static void so_many_of_one_source_enter_and_not_one_more(void **state)
{
	struct source_table *t = source_table_new();
	struct source_entry *e[3];
	const struct addr_brief a = text_address("192.0.2.1");

	(void)state;
	assert_non_null(t);
	for (int i = 0; i < 3; i++)
		e[i] = enter(t, "192.0.2.1", 3);
	assert_null(enter(t, "192.0.2.1", 3));
	assert_int_equal(source_table_count(t, &a), 3);
	source_table_leave(t, e[1], false);
	e[1] = enter(t, "192.0.2.1", 3);
	assert_non_null(e[1]);
	assert_null(enter(t, "192.0.2.1", 3));
	for (int i = 0; i < 3; i++)
		source_table_leave(t, e[i], false);
	assert_int_equal(source_table_count(t, &a), 0);
	source_table_free(t);
}

static void other_addresses_are_other_sources(void **state)
{
	static const char *const texts[] = {"192.0.2.1", "192.0.2.2", "0.0.0.0",         "::",
					    "::1:0:0:0:0", "2001:db8::1", "2001:db8:0:1::1", "192.0.2.1"};
	struct source_table *t = source_table_new();
	struct source_entry *e[7];

	(void)state;
	assert_non_null(t);
	for (int i = 0; i < 7; i++) {
		e[i] = enter(t, texts[i], 1);
		if (e[i] == NULL)
			fail_msg("%s is taken for another one", texts[i]);
	}
	assert_null(enter(t, texts[7], 1));
	assert_int_equal(source_table_size(t), 7);
	for (int i = 0; i < 7; i++)
		source_table_leave(t, e[i], false);
	source_table_free(t);
}

static void one_ipv6_network_of_64_bits_is_one_source(void **state)
{
	struct source_table *t = source_table_new();
	struct source_entry *one = NULL, *two = NULL;

	(void)state;
	assert_non_null(t);
	one = enter(t, "2001:db8:1:2::1", 2);
	two = enter(t, "2001:db8:1:2:ffff:ffff:ffff:ffff", 2);
	assert_ptr_equal(one, two);
	assert_null(enter(t, "2001:db8:1:2:8000::", 2));
	source_table_leave(t, one, false);
	source_table_leave(t, two, false);
	source_table_free(t);
}

static void a_mapped_address_is_the_ipv4_source_it_is(void **state)
{
	struct source_table *t = source_table_new();
	struct source_entry *one = NULL, *two = NULL;

	(void)state;
	assert_non_null(t);
	one = enter(t, "192.0.2.1", 1);
	assert_null(enter(t, "::ffff:192.0.2.1", 1));
	two = enter(t, "::ffff:192.0.2.2", 1);
	assert_non_null(two);
	source_table_leave(t, one, false);
	source_table_leave(t, two, false);
	source_table_free(t);
}

static void an_entry_lives_only_while_it_counts_somebody(void **state)
{
	enum { SOURCES = 20000 };
	struct source_table *t = source_table_new();
	struct source_entry **e = calloc(SOURCES, sizeof(struct source_entry *));

	(void)state;
	assert_non_null(t);
	assert_non_null(e);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < SOURCES; i++) {
			struct addr_brief a = {.family = AF_INET};
			/* As alike as they can be: the hash must still tell them apart. */
			const uint32_t ip = htonl(0x0a000000u + i);

			memcpy(a.ip, &ip, sizeof(ip));
			assert_int_equal(source_table_enter(t, &a, 1, 0, &e[i]), 0);
		}
		assert_int_equal(source_table_size(t), SOURCES);
		for (uint32_t i = 0; i < SOURCES; i += 2)
			source_table_leave(t, e[i], false);
		assert_int_equal(source_table_size(t), SOURCES / 2);
		for (uint32_t i = 1; i < SOURCES; i += 2)
			source_table_leave(t, e[i], false);
		assert_int_equal(source_table_size(t), 0);
	}
	free(e);
	source_table_free(t);
}

static void a_limit_of_nobody_lets_nobody_in_and_keeps_no_entry(void **state)
{
	struct source_table *t = source_table_new();

	(void)state;
	assert_non_null(t);
	assert_null(enter(t, "192.0.2.1", 0));
	assert_int_equal(source_table_size(t), 0);
	source_table_free(t);
	source_table_free(NULL);
}

/* ---- those who wait ---- */

static void wake(void *arg)
{
	atomic_fetch_add((atomic_int *)arg, 1);
}

static void the_place_of_the_next_who_leaves_is_the_waiters(void **state)
{
	struct source_table *t = source_table_new();
	const struct addr_brief a = text_address("192.0.2.1");
	atomic_int woken = 0;
	struct source_waiter w = {.worker = 3, .wake = wake, .wake_arg = &woken};
	struct source_waiter second = w;
	struct source_entry *first;
	struct source_entry *mine = NULL;
	uint64_t workers = 0;

	(void)state;
	assert_int_equal(source_table_wait(t, &a, 1, 0, &w, &workers), -EAGAIN);
	assert_int_equal(source_table_enter(t, &a, 1, 1, &first), 0);
	assert_int_equal(source_table_wait(t, &a, 2, 0, &w, &workers), -EAGAIN);
	assert_int_equal(source_table_wait(t, &a, 1, 0, &w, &workers), 0);
	assert_int_equal(workers, 1 << 1 | 1 << 3);
	assert_int_equal(source_table_wait(t, &a, 1, 0, &second, &workers), -EDQUOT);
	assert_false(source_table_is_hopeful(t, &w));
	source_table_ending(t, first);
	assert_true(source_table_is_hopeful(t, &w));
	assert_false(source_table_is_granted(t, &w));
	assert_true(source_table_leave(t, first, true));
	assert_int_equal(woken, 1);
	assert_true(source_table_is_granted(t, &w));
	assert_null(enter(t, "192.0.2.1", 1)); /* nobody can take it on the way */
	mine = source_table_stop_waiting(t, &w, 0);
	assert_non_null(mine);
	assert_int_equal(source_table_count(t, &a), 1);
	assert_false(source_table_leave(t, mine, false));
	assert_int_equal(source_table_size(t), 0);
	source_table_free(t);
}

static void so_many_may_wait_and_are_served_in_turn(void **state)
{
	struct source_table *t = source_table_new();
	const struct addr_brief a = text_address("2001:db8::1");
	atomic_int woken = 0;
	struct source_waiter w[4];
	struct source_entry *e[3];
	struct source_entry *mine;
	uint64_t workers;

	(void)state;
	for (int i = 0; i < 3; i++)
		e[i] = enter(t, "2001:db8::1", 3);
	for (int i = 0; i < 4; i++) {
		w[i] = (struct source_waiter){.wake = wake, .wake_arg = &woken};
		assert_int_equal(source_table_wait(t, &a, 3, 0, &w[i], &workers), i < 3 ? 0 : -EDQUOT);
	}
	/* As many as are ending may hope, and these are the first. */
	source_table_ending(t, e[2]);
	source_table_ending(t, e[0]);
	for (int i = 0; i < 3; i++)
		assert_int_equal(source_table_is_hopeful(t, &w[i]), i < 2);
	assert_null(source_table_stop_waiting(t, &w[1], 0)); /* the one in the middle leaves */
	assert_true(source_table_is_hopeful(t, &w[2]));
	assert_true(source_table_leave(t, e[2], true));
	assert_true(source_table_is_granted(t, &w[0]));
	assert_false(source_table_is_granted(t, &w[2]));
	assert_true(source_table_leave(t, e[0], true));
	assert_true(source_table_is_granted(t, &w[2]));
	assert_false(source_table_leave(t, e[1], false));
	for (int i = 0; i < 4; i += 2) {
		mine = source_table_stop_waiting(t, &w[i], 0);
		assert_false(source_table_leave(t, mine, false));
	}
	assert_int_equal(woken, 2);
	assert_int_equal(source_table_size(t), 0);
	source_table_free(t);
}

static void who_waited_in_vain_keeps_others_from_waiting_for_a_while(void **state)
{
	struct source_table *t = source_table_new();
	const struct addr_brief a = text_address("192.0.2.1");
	atomic_int woken = 0;
	struct source_waiter w = {.wake = wake, .wake_arg = &woken};
	struct source_entry *e = enter(t, "192.0.2.1", 1);
	uint64_t workers;

	(void)state;
	assert_int_equal(source_table_wait(t, &a, 1, 100, &w, &workers), 0);
	assert_null(source_table_stop_waiting(t, &w, 200));
	assert_int_equal(source_table_wait(t, &a, 1, 199, &w, &workers), -EDQUOT);
	assert_int_equal(source_table_wait(t, &a, 1, 200, &w, &workers), 0);
	assert_null(source_table_stop_waiting(t, &w, 0));
	assert_int_equal(source_table_wait(t, &a, 0, 300, &w, &workers), -EDQUOT);
	assert_false(source_table_leave(t, e, false));
	assert_int_equal(woken, 0);
	source_table_free(t);
}

/* ---- threads ---- */

#define THREADS 4
#define HELD 64
#define TURNS 150000
#define SOURCES 16
#define LIMIT 8

struct shared {
	struct source_table *table;
	pthread_barrier_t start;
	atomic_int held[SOURCES]; /* never fewer than are counted there, but for those who are on their way */
	atomic_int refused;
	atomic_int handed_on;
	atomic_int woken;
};

static struct addr_brief nth_source(unsigned i)
{
	struct addr_brief a = {.family = i % 2 == 0 ? AF_INET : AF_INET6};

	a.ip[3] = (uint8_t)i;
	return a;
}

/* Holds up to HELD of random sources, comes and goes. */
static void *come_and_go(void *arg)
{
	struct shared *s = arg;
	struct source_entry *held[HELD] = {NULL};
	unsigned source[HELD] = {0};
	uint64_t random = (uint64_t)(uintptr_t)&held * 0x9e3779b97f4a7c15u | 1;

	(void)pthread_barrier_wait(&s->start); /* which thread is told to be the last does not matter */
	for (int i = 0; i < TURNS + HELD; i++) {
		const unsigned at = (unsigned)i % HELD;
		struct addr_brief a;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		if (held[at] != NULL) {
			atomic_fetch_sub(&s->held[source[at]], 1);
			source_table_leave(s->table, held[at], false);
			held[at] = NULL;
		}
		if (i >= TURNS)
			continue;
		source[at] = (unsigned)(random >> 32) % SOURCES;
		a = nth_source(source[at]);
		if (source_table_enter(s->table, &a, LIMIT, 0, &held[at]) != 0) {
			atomic_fetch_add(&s->refused, 1);
			held[at] = NULL;
		} else if (atomic_fetch_add(&s->held[source[at]], 1) >= LIMIT) {
			return (void *)"more than the limit were let in";
		}
	}
	return NULL;
}

/* One place, which goes from hand to hand where it can. */
static void *wait_and_go(void *arg)
{
	struct shared *s = arg;
	const struct addr_brief a = nth_source(0);

	(void)pthread_barrier_wait(&s->start); /* which thread is told to be the last does not matter */
	/* A machine that is busy may let one thread run to its end before the next begins. */
	for (int i = 0; i < TURNS || (atomic_load(&s->handed_on) == 0 && i < 100 * TURNS); i++) {
		struct source_waiter w = {.wake = wake, .wake_arg = &s->woken};
		struct source_entry *e = NULL;
		uint64_t workers;
		bool is_ending;

		if (source_table_enter(s->table, &a, 1, 0, &e) != 0 &&
		    source_table_wait(s->table, &a, 1, 0, &w, &workers) == 0) {
			for (int tries = 0; tries < 100 && !source_table_is_granted(s->table, &w); tries++)
				(void)sched_yield();
			e = source_table_stop_waiting(s->table, &w, 0);
		}
		if (e == NULL)
			continue;
		if (atomic_fetch_add(&s->held[0], 1) != 0)
			return (void *)"two had the one place";
		is_ending = i % 2 == 0;
		if (is_ending)
			source_table_ending(s->table, e);
		if (i % 16 == 0)
			(void)sched_yield(); /* so that somebody meets it */
		atomic_fetch_sub(&s->held[0], 1);
		if (source_table_leave(s->table, e, is_ending))
			atomic_fetch_add(&s->handed_on, 1);
	}
	return NULL;
}

static void run_threads(struct shared *s, void *(*what)(void *arg))
{
	pthread_t t[THREADS];
	void *error;

	assert_non_null(s->table);
	assert_int_equal(pthread_barrier_init(&s->start, NULL, THREADS), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, what, s), 0);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(t[i], &error), 0);
		if (error != NULL)
			fail_msg("%s", (const char *)error);
	}
	assert_int_equal(source_table_size(s->table), 0);
	source_table_free(s->table);
	pthread_barrier_destroy(&s->start);
}

static void one_place_has_one_owner_under_threads_that_wait(void **state)
{
	struct shared s = {.table = source_table_new()};

	(void)state;
	run_threads(&s, wait_and_go);
	assert_true(atomic_load(&s.handed_on) > 0);
	assert_int_equal(atomic_load(&s.handed_on), atomic_load(&s.woken));
}

static void counts_are_exact_under_threads(void **state)
{
	struct shared s = {.table = source_table_new()};

	(void)state;
	run_threads(&s, come_and_go);
	assert_true(atomic_load(&s.refused) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(so_many_of_one_source_enter_and_not_one_more),
		cmocka_unit_test(other_addresses_are_other_sources),
		cmocka_unit_test(one_ipv6_network_of_64_bits_is_one_source),
		cmocka_unit_test(a_mapped_address_is_the_ipv4_source_it_is),
		cmocka_unit_test(an_entry_lives_only_while_it_counts_somebody),
		cmocka_unit_test(a_limit_of_nobody_lets_nobody_in_and_keeps_no_entry),
		cmocka_unit_test(the_place_of_the_next_who_leaves_is_the_waiters),
		cmocka_unit_test(so_many_may_wait_and_are_served_in_turn),
		cmocka_unit_test(who_waited_in_vain_keeps_others_from_waiting_for_a_while),
		cmocka_unit_test(counts_are_exact_under_threads),
		cmocka_unit_test(one_place_has_one_owner_under_threads_that_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * test_counted.c - real threads use versions that control replaces and retires: none is freed while it is in
 * use, and all are freed in the end. Worth most under the address and the thread sanitizer.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/counted.h"
#include "weir/base/retire.h"

#define WORKERS	 4u
#define VERSIONS 20000u
#define HELD	 8u /* by one worker at a time */

struct version {
	struct retired item;
	struct counted counted;
	uint64_t number;
	uint64_t twice; /* of the number, until it is freed */
};

struct worker {
	struct chunks counts;
	_Alignas(64) _Atomic uint64_t passed;
	const struct version *held[HELD];
	uint64_t until[HELD]; /* the round in which it is given back */
	uint64_t used;
	pthread_t thread;
};

static struct {
	struct retire retire;
	struct slot_space slots;
	_Atomic(struct version *) current;
	_Atomic uint64_t round;
	atomic_bool stop;
	uint64_t freed;
	struct worker worker[WORKERS];
} w;

/* ---- a worker ---- */

static void use(struct worker *me, const struct version *v)
{
	if (v->twice != 2 * v->number)
		abort(); /* it was freed */
	me->used++;
}

static void give_back(struct worker *me, unsigned place)
{
	if (me->held[place] == NULL)
		return;
	use(me, me->held[place]);
	(void)counted_give_back(&me->counts, &me->held[place]->counted); /* control looks all the time */
	me->held[place] = NULL;
}

/* Some are held for longer than a version needs to leave. */
static void turn(struct worker *me, unsigned number, uint64_t round)
{
	const unsigned place = number % HELD;
	const struct version *v = atomic_load_explicit(&w.current, memory_order_acquire);

	use(me, v);
	if (me->held[place] != NULL && round < me->until[place]) {
		use(me, me->held[place]);
		return;
	}
	give_back(me, place);
	if (number % 3 == 0)
		return;
	me->until[place] = round + number % 13;
	counted_take(&me->counts, &v->counted);
	me->held[place] = v;
}

static void *work(void *arg)
{
	struct worker *me = arg;

	for (unsigned number = 0; !atomic_load(&w.stop); number++) {
		/* Read before the turn, and passed at its end. */
		const uint64_t round = atomic_load_explicit(&w.round, memory_order_acquire);

		turn(me, number, round);
		if (number % 100 == 99)
			sched_yield(); /* with a version in hand that may be old */
		if (round != atomic_load_explicit(&me->passed, memory_order_relaxed)) {
			retire_forget(&w.retire, me);
			atomic_store_explicit(&me->passed, round, memory_order_release);
		}
	}
	for (unsigned place = 0; place < HELD; place++)
		give_back(me, place);
	return NULL;
}

/* ---- control ---- */

static void round_begin(void *arg, uint64_t round)
{
	(void)arg;
	atomic_store_explicit(&w.round, round, memory_order_release);
}

static bool round_is_over(void *arg, uint64_t round)
{
	(void)arg;
	for (unsigned i = 0; i < WORKERS; i++)
		if (atomic_load_explicit(&w.worker[i].passed, memory_order_acquire) < round)
			return false;
	return true;
}

static void no_rings(void *arg)
{
	(void)arg;
}

static bool nothing_to_read(void *arg)
{
	(void)arg;
	return true;
}

static bool version_is_held(const struct retired *item)
{
	return counted_sum(&w.slots, &container_of(item, struct version, item)->counted) > 0;
}

/* Zero again, for the next version with this number. */
static void version_forget(const struct retired *item, void *arg)
{
	const struct version *v = container_of(item, struct version, item);
	const struct worker *me = arg;

	memset(chunks_at(&me->counts, v->counted.slot), 0, sizeof(counted_entry));
}

static void version_free(struct retired *item)
{
	struct version *v = container_of(item, struct version, item);

	slot_space_put(&w.slots, v->counted.slot);
	v->twice = 1;
	free(v);
	w.freed++;
}

static const struct retired_kind version_kind = {
	.is_held = version_is_held, .forget = version_forget, .free = version_free, .is_logged = true};

static void publish(uint64_t number)
{
	struct version *v = calloc(1, sizeof(*v));
	struct version *old;

	assert_non_null(v);
	v->number = number;
	v->twice = 2 * number;
	assert_int_equal(slot_space_take(&w.slots, &v->counted.slot), 0);
	assert_int_equal(counted_sum(&w.slots, &v->counted), 0);
	old = atomic_load(&w.current);
	atomic_store_explicit(&w.current, v, memory_order_release);
	if (old == NULL)
		return;
	atomic_store(&old->counted.leaving, true);
	retire_add(&w.retire, &old->item, &version_kind);
}

static void start(void)
{
	const struct retire_rounds rounds = {
		.begin = round_begin, .is_over = round_is_over, .mark = no_rings, .is_read = nothing_to_read};

	retire_init(&w.retire, &rounds);
	slot_space_init(&w.slots);
	for (unsigned i = 0; i < WORKERS; i++) {
		chunks_init(&w.worker[i].counts, sizeof(counted_entry));
		assert_int_equal(slot_space_add_table(&w.slots, &w.worker[i].counts), 0);
	}
	publish(1);
	for (unsigned i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&w.worker[i].thread, NULL, work, &w.worker[i]), 0);
}

static void versions_are_freed_when_no_thread_uses_them(void **state)
{
	(void)state;
	start();
	for (uint64_t number = 2; number <= VERSIONS; number++) {
		publish(number);
		retire_go_on(&w.retire);
		while (retire_count(&w.retire) > 500) { /* the workers must keep up */
			sched_yield();
			retire_go_on(&w.retire);
		}
	}
	assert_true(w.freed >= VERSIONS - 1 - 500);
	atomic_store(&w.stop, true);
	for (unsigned i = 0; i < WORKERS; i++) {
		assert_int_equal(pthread_join(w.worker[i].thread, NULL), 0);
		assert_true(w.worker[i].used > 0);
	}
	assert_true(slot_space_peak(&w.slots) <= 502);
	for (unsigned i = 0; i < WORKERS; i++)
		for (uint32_t n = 0; n < slot_space_peak(&w.slots); n++) {
			const counted_entry *e = chunks_at(&w.worker[i].counts, n);

			assert_int_equal(e->taken, e->given);
		}
	retire_end(&w.retire);
	version_free(&atomic_load(&w.current)->item);
	assert_int_equal(w.freed, VERSIONS);
	assert_int_equal(w.slots.count, 0);
	for (unsigned i = 0; i < WORKERS; i++) {
		slot_space_remove_table(&w.slots, &w.worker[i].counts);
		chunks_free(&w.worker[i].counts);
	}
	slot_space_free(&w.slots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_are_freed_when_no_thread_uses_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * test_timer.c - the heap of deadlines, by cases and against a plain list.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/io/timer.h"

#define MODEL_TIMERS 300

struct probe {
	struct timer timer;
	int64_t deadline_ns; /* what the model says; -1 = unset */
	int fired;
	int64_t again_ns; /* set itself to this when it fires; -1 = no */
	struct probe *kills; /* cancel this one when it fires */
};

static struct timer_heap heap;
static struct probe *order[MODEL_TIMERS];
static uint32_t order_count;

static void on_fire(struct timer *t)
{
	struct probe *p = container_of(t, struct probe, timer);

	assert_false(timer_is_set(t));
	p->fired++;
	p->deadline_ns = -1;
	if (order_count < MODEL_TIMERS)
		order[order_count++] = p;
	if (p->again_ns >= 0)
		assert_int_equal(timer_set(&heap, t, p->again_ns), 0);
	if (p->kills != NULL)
		timer_cancel(&heap, &p->kills->timer);
}

static void probe_init(struct probe *p)
{
	*p = (struct probe){.deadline_ns = -1, .again_ns = -1};
	timer_init(&p->timer, on_fire);
}

static int setup(void **state)
{
	(void)state;
	timer_heap_init(&heap);
	order_count = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	timer_heap_free(&heap);
	return 0;
}

static void empty_heap_waits_for_ever_and_fires_nothing(void **state)
{
	(void)state;
	assert_true(timer_heap_next(&heap) == CLOCK_NEVER);
	assert_int_equal(timer_heap_run(&heap, INT64_MAX, 10), 0);
}

static void timer_fires_at_its_deadline_not_before_and_once(void **state)
{
	struct probe p;

	(void)state;
	probe_init(&p);
	assert_false(timer_is_set(&p.timer));
	assert_int_equal(timer_set(&heap, &p.timer, 100), 0);
	assert_true(timer_is_set(&p.timer));
	assert_int_equal(timer_deadline(&heap, &p.timer), 100);
	assert_int_equal(timer_heap_run(&heap, 99, 10), 0);
	assert_int_equal(timer_heap_run(&heap, 100, 10), 1);
	assert_int_equal(timer_heap_run(&heap, 1000, 10), 0);
	assert_int_equal(p.fired, 1);
}

static void setting_again_moves_the_deadline_both_ways(void **state)
{
	struct probe a, b;

	(void)state;
	probe_init(&a);
	probe_init(&b);
	(void)timer_set(&heap, &a.timer, 100);
	(void)timer_set(&heap, &b.timer, 200);
	(void)timer_set(&heap, &a.timer, 300);
	assert_int_equal(timer_heap_next(&heap), 200);
	(void)timer_set(&heap, &a.timer, 50);
	assert_int_equal(timer_heap_next(&heap), 50);
	assert_int_equal(heap.count, 2);
	assert_int_equal(timer_heap_run(&heap, 300, 10), 2);
	assert_ptr_equal(order[0], &a);
	assert_ptr_equal(order[1], &b);
}

static void cancelled_timer_does_not_fire_and_cancelling_twice_is_harmless(void **state)
{
	struct probe p;

	(void)state;
	probe_init(&p);
	(void)timer_set(&heap, &p.timer, 100);
	timer_cancel(&heap, &p.timer);
	timer_cancel(&heap, &p.timer);
	assert_false(timer_is_set(&p.timer));
	assert_int_equal(timer_heap_run(&heap, 1000, 10), 0);
}

static void fire_may_set_itself_again_for_a_later_run(void **state)
{
	struct probe p;

	(void)state;
	probe_init(&p);
	p.again_ns = 200;
	(void)timer_set(&heap, &p.timer, 100);
	assert_int_equal(timer_heap_run(&heap, 150, 10), 1);
	assert_int_equal(timer_heap_next(&heap), 200);
	p.again_ns = -1;
	assert_int_equal(timer_heap_run(&heap, 200, 10), 1);
}

static void fire_may_cancel_a_timer_that_is_due_in_the_same_run(void **state)
{
	struct probe a, b;

	(void)state;
	probe_init(&a);
	probe_init(&b);
	a.kills = &b;
	(void)timer_set(&heap, &a.timer, 100);
	(void)timer_set(&heap, &b.timer, 101);
	assert_int_equal(timer_heap_run(&heap, 200, 10), 1);
	assert_int_equal(b.fired, 0);
}

static void run_stops_at_max_even_when_a_timer_sets_itself_for_ever(void **state)
{
	struct probe p;

	(void)state;
	probe_init(&p);
	p.again_ns = 5;
	(void)timer_set(&heap, &p.timer, 5);
	assert_int_equal(timer_heap_run(&heap, 10, 7), 7);
	assert_int_equal(p.fired, 7);
	timer_cancel(&heap, &p.timer);
}

/* ---- against a list ---- */

static uint32_t model_random = 42;

static uint32_t next_random(void)
{
	model_random = model_random * 1103515245u + 12345u;
	return model_random >> 8;
}

static int64_t model_next(const struct probe *probes)
{
	int64_t next = CLOCK_NEVER;

	for (int i = 0; i < MODEL_TIMERS; i++)
		if (probes[i].deadline_ns >= 0 && probes[i].deadline_ns < next)
			next = probes[i].deadline_ns;
	return next;
}

static uint32_t model_count(const struct probe *probes, int64_t until)
{
	uint32_t n = 0;

	for (int i = 0; i < MODEL_TIMERS; i++)
		n += probes[i].deadline_ns >= 0 && probes[i].deadline_ns <= until;
	return n;
}

static void heap_agrees_with_a_plain_list_over_random_operations(void **state)
{
	static struct probe probes[MODEL_TIMERS];
	int64_t now = 0;

	(void)state;
	for (int i = 0; i < MODEL_TIMERS; i++)
		probe_init(&probes[i]);
	for (int step = 0; step < 30000; step++) {
		struct probe *p = &probes[next_random() % MODEL_TIMERS];
		const uint32_t what = next_random() % 100;

		if (what < 60) {
			p->deadline_ns = now + next_random() % 1000;
			assert_int_equal(timer_set(&heap, &p->timer, p->deadline_ns), 0);
			assert_int_equal(timer_deadline(&heap, &p->timer), p->deadline_ns);
		} else if (what < 95) {
			timer_cancel(&heap, &p->timer);
			p->deadline_ns = -1;
		} else {
			uint32_t due;

			now += next_random() % 400;
			due = model_count(probes, now);
			order_count = 0;
			assert_int_equal(timer_heap_run(&heap, now, UINT32_MAX), due);
			assert_int_equal(model_count(probes, now), 0);
		}
		assert_int_equal(heap.count, model_count(probes, INT64_MAX));
		assert_true(timer_heap_next(&heap) == model_next(probes));
	}
	for (int i = 0; i < MODEL_TIMERS; i++)
		timer_cancel(&heap, &probes[i].timer);
}

static void timers_fire_in_the_order_of_their_deadlines(void **state)
{
	static struct probe probes[MODEL_TIMERS];
	int64_t deadlines[MODEL_TIMERS];

	(void)state;
	for (int i = 0; i < MODEL_TIMERS; i++) {
		probe_init(&probes[i]);
		deadlines[i] = next_random() % 100000;
		(void)timer_set(&heap, &probes[i].timer, deadlines[i]);
	}
	assert_int_equal(timer_heap_run(&heap, 100000, UINT32_MAX), MODEL_TIMERS);
	for (int i = 1; i < MODEL_TIMERS; i++)
		assert_true(deadlines[order[i - 1] - probes] <= deadlines[order[i] - probes]);
}

static void an_array_that_is_almost_empty_gives_memory_back(void **state)
{
	static struct probe probes[10 * MODEL_TIMERS];
	const int count = 10 * MODEL_TIMERS;
	uint32_t room;

	(void)state;
	timer_heap_trim(&heap); /* without an array */
	for (int i = 0; i < count; i++) {
		probe_init(&probes[i]);
		assert_int_equal(timer_set(&heap, &probes[i].timer, i), 0);
	}
	room = heap.room;
	timer_heap_trim(&heap);
	assert_int_equal(heap.room, room);
	for (int i = 3; i < count; i++)
		timer_cancel(&heap, &probes[i].timer);
	timer_heap_trim(&heap);
	assert_in_range(heap.room, 6, room - 1);
	for (int i = 3; i < count; i++)
		assert_int_equal(timer_set(&heap, &probes[i].timer, i), 0);
	assert_int_equal(timer_heap_run(&heap, count, UINT32_MAX), (uint32_t)count);
	timer_heap_trim(&heap);
	assert_in_range(heap.room, 1, room - 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(empty_heap_waits_for_ever_and_fires_nothing),
		TEST(timer_fires_at_its_deadline_not_before_and_once),
		TEST(setting_again_moves_the_deadline_both_ways),
		TEST(cancelled_timer_does_not_fire_and_cancelling_twice_is_harmless),
		TEST(fire_may_set_itself_again_for_a_later_run),
		TEST(fire_may_cancel_a_timer_that_is_due_in_the_same_run),
		TEST(run_stops_at_max_even_when_a_timer_sets_itself_for_ever),
		TEST(heap_agrees_with_a_plain_list_over_random_operations),
		TEST(timers_fire_in_the_order_of_their_deadlines),
		TEST(an_array_that_is_almost_empty_gives_memory_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

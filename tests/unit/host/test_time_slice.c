/* SPDX-License-Identifier: MIT
 *
 * test_time_slice.c - the turn is asked for, and nothing else changes.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "weir/host/time_slice.h"

#define SLICE_NS 10000000u

/* Each in a thread of its own: what it did to itself ends with it. */
static void on_thread(void *(*main)(void *arg), void *arg)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, main, arg), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

struct seen {
	int err, policy, nice;
};

static void *ask_when_nice(void *arg)
{
	struct seen *s = arg;

	(void)setpriority(PRIO_PROCESS, 0, 7);
	s->err = time_slice_ask(SLICE_NS);
	s->policy = sched_getscheduler(0);
	s->nice = getpriority(PRIO_PROCESS, 0);
	return NULL;
}

static void policy_and_nice_value_stay(void **state)
{
	struct seen s;

	(void)state;
	on_thread(ask_when_nice, &s);
	assert_int_equal(s.err, 0);
	assert_int_equal(s.policy, SCHED_OTHER);
	assert_int_equal(s.nice, 7);
}

static void *ask_when_idle(void *arg)
{
	const struct sched_param param = {0};
	struct seen *s = arg;

	(void)sched_setscheduler(0, SCHED_IDLE, &param);
	s->err = time_slice_ask(SLICE_NS);
	s->policy = sched_getscheduler(0);
	return NULL;
}

static void other_policies_are_left_alone(void **state)
{
	struct seen s;

	(void)state;
	on_thread(ask_when_idle, &s);
	assert_int_equal(s.err, -EOPNOTSUPP);
	assert_int_equal(s.policy, SCHED_IDLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(policy_and_nice_value_stay),
		cmocka_unit_test(other_policies_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

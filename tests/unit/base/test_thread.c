/* SPDX-License-Identifier: MIT
 *
 * test_thread.c - threads take no signals, and their maker goes on taking them; what comes first in each.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "weir/base/thread.h"

static void *take_mask(void *arg)
{
	(void)pthread_sigmask(SIG_BLOCK, NULL, arg);
	return NULL;
}

static void thread_takes_no_signals(void **state)
{
	pthread_t thread;
	sigset_t mask;

	(void)state;
	(void)sigemptyset(&mask);
	assert_int_equal(thread_start(&thread, take_mask, &mask), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(sigismember(&mask, SIGTERM));
	assert_true(sigismember(&mask, SIGUSR1));
	assert_true(sigismember(&mask, SIGCHLD));
}

static void mask_of_the_caller_is_as_before(void **state)
{
	pthread_t thread;
	sigset_t mask, own;

	(void)state;
	(void)sigemptyset(&own);
	(void)sigaddset(&own, SIGUSR2);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &own, NULL), 0);
	assert_int_equal(thread_start(&thread, take_mask, &mask), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &own), 0);
	assert_true(sigismember(&own, SIGUSR2));
	assert_false(sigismember(&own, SIGTERM));
}

static pthread_t first_in;
static bool ran;

static int note(void)
{
	first_in = pthread_self();
	return 0;
}

static int refuse(void)
{
	return -EPERM;
}

static void *run(void *arg)
{
	ran = true;
	*(bool *)arg = pthread_equal(first_in, pthread_self()) != 0;
	return arg;
}

static void what_comes_first_runs_in_the_new_thread(void **state)
{
	bool same = false;
	void *result = NULL;
	pthread_t thread;

	(void)state;
	thread_set_first(note);
	assert_int_equal(thread_start(&thread, run, &same), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, &same);
	assert_true(same);
	thread_set_first(NULL);
}

static void a_thread_whose_first_step_fails_does_not_run(void **state)
{
	bool same;
	pthread_t thread;

	(void)state;
	ran = false;
	thread_set_first(refuse);
	assert_int_equal(thread_start(&thread, run, &same), -EPERM);
	assert_false(ran);
	thread_set_first(NULL);
	assert_int_equal(thread_start(&thread, run, &same), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(ran);
}

static void *wait_for_end(void *arg)
{
	const atomic_bool *end = arg;

	while (!atomic_load(end))
		continue;
	return NULL;
}

static void the_cpu_time_of_a_thread_is_its_own(void **state)
{
	atomic_bool end = false;
	pthread_t thread;
	int64_t was_ns;

	(void)state;
	assert_int_equal(thread_start(&thread, wait_for_end, &end), 0);
	was_ns = thread_cpu_ns(thread);
	assert_true(was_ns >= 0);
	while (thread_cpu_ns(thread) <= was_ns)
		continue;
	atomic_store(&end, true);
	/* It ends, but is not joined: whenever this asks, it is told a time or that there is none. */
	while (thread_cpu_ns(thread) >= 0)
		continue;
	assert_int_equal(pthread_join(thread, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thread_takes_no_signals),
		cmocka_unit_test(mask_of_the_caller_is_as_before),
		cmocka_unit_test(what_comes_first_runs_in_the_new_thread),
		cmocka_unit_test(the_cpu_time_of_a_thread_is_its_own),
		cmocka_unit_test(a_thread_whose_first_step_fails_does_not_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

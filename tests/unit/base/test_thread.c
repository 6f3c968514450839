/* SPDX-License-Identifier: MIT
 *
 * test_thread.c - threads take no signals, and their maker goes on taking them.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thread_takes_no_signals),
		cmocka_unit_test(mask_of_the_caller_is_as_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

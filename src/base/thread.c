/* SPDX-License-Identifier: MIT
 *
 * thread.c - starts threads that handle no signals.
 *
 * Owns nothing: the caller joins or detaches the thread. Any thread.
 */
#include "weir/base/thread.h"

#include <signal.h>

int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	sigset_t all, old;
	int err;

	/* None of the signal calls can fail with these arguments. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(thread, NULL, run, arg);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

/* SPDX-License-Identifier: MIT
 *
 * thread.c - starting a thread that takes no signals.
 *
 * Owns nothing: the thread is the caller's to join or to detach. Any thread.
 */
#include "weir/base/thread.h"

#include <signal.h>

int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	sigset_t all, old;
	int err;

	/* None of the calls for signals fails with these arguments. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(thread, NULL, run, arg);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

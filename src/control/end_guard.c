/* SPDX-License-Identifier: MIT
 *
 * end_guard.c - the end of a process that cannot end, because a disk hangs under one of its files.
 *
 * Owns a thread that sleeps and then calls _exit(2), which runs nothing and flushes nothing. It is never
 * joined: a process that ends in time takes it along. Floor 5.
 */
#include "weir/control/end_guard.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

static _Noreturn void *wait_and_exit(void *arg)
{
	unsigned left = END_GUARD_S;

	while (left > 0)
		left = sleep(left);
	_exit((int)(intptr_t)arg);
}

void end_guard_start(int exit_code)
{
	sigset_t all, old;
	pthread_t thread;

	/* Neither fails with these arguments. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	/* Without it the end may take as long as the disk does. */
	if (pthread_create(&thread, NULL, wait_and_exit, (void *)(intptr_t)exit_code) == 0) {
		(void)pthread_setname_np(thread, "weir-end"); /* for top(1) */
		(void)pthread_detach(thread);
	}
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
}

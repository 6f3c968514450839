/* SPDX-License-Identifier: MIT
 *
 * end_guard.c - ends a process that cannot exit because a disk hangs under one of its files.
 *
 * Owns a thread that sleeps and then calls _exit(2), which runs and flushes nothing. It is never joined: a
 * process that exits in time takes it along.
 */
#include "end_guard.h"

#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include "weir/base/thread.h"

static _Noreturn void *wait_and_exit(void *arg)
{
	unsigned left = END_GUARD_S;

	while (left > 0)
		left = sleep(left);
	_exit((int)(intptr_t)arg);
}

void end_guard_start(int exit_code)
{
	pthread_t thread;

	/* Without the thread, the shutdown may take as long as the disk does. */
	if (thread_start(&thread, wait_and_exit, (void *)(intptr_t)exit_code) != 0)
		return;
	(void)pthread_setname_np(thread, "weir-end"); /* for top(1) */
	(void)pthread_detach(thread);
}

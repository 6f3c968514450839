/* SPDX-License-Identifier: MIT
 *
 * thread.h - starts threads that handle no signals and may give up rights of their creator.
 *
 * Control handles signals: in another thread libev's handler would run on a stack whose size we cannot rely
 * on. A thread inherits the signal mask of its creator, so all signals are blocked while it is created;
 * crash_report_thread() unblocks the fatal ones. Any thread.
 */
#ifndef WEIR_BASE_THREAD_H
#define WEIR_BASE_THREAD_H

#include <pthread.h>
#include <stdint.h>

/* pthread_create(3) with all signals blocked in the new thread; the caller's mask is unchanged. 0 or
 * -errno, which may be that of the function that thread_set_first() has set. */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

/* The CPU time that a thread has used, in nanoseconds; -1 once it has ended. It must not have been joined. */
int64_t thread_cpu_ns(pthread_t thread);

/* From now on each new thread calls `first` before anything else, to give up what it inherits from its
 * creator and must not have. If it fails, the thread ends and thread_start() returns the error. NULL, as in
 * the beginning: nothing to do. */
void thread_set_first(int (*first)(void));

#endif

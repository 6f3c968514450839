/* SPDX-License-Identifier: MIT
 *
 * thread.h - starts threads that handle no signals.
 *
 * Control handles signals: in another thread libev's handler would run on a stack whose size we cannot rely
 * on. A thread inherits the signal mask of its creator, so all signals are blocked while it is created;
 * crash_report_thread() unblocks the fatal ones. Any thread.
 */
#ifndef WEIR_BASE_THREAD_H
#define WEIR_BASE_THREAD_H

#include <pthread.h>

/* pthread_create(3) with all signals blocked in the new thread; the caller's mask is unchanged. 0 or
 * -errno. */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

#endif

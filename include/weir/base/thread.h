/* SPDX-License-Identifier: MIT
 *
 * thread.h - starting a thread that takes no signals.
 *
 * Signals are control's: in another thread libev's handler would run on a stack that is not ours to count on.
 * A thread inherits the mask of its maker, so all signals are blocked while it is made; last_words_thread()
 * lets the fatal ones in again. Any thread.
 */
#ifndef WEIR_BASE_THREAD_H
#define WEIR_BASE_THREAD_H

#include <pthread.h>

/* pthread_create(3) with all signals blocked in the new thread; the caller's mask stays. 0 or -errno. */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

#endif

/* SPDX-License-Identifier: MIT
 *
 * clock.h - times and durations in nanoseconds: 64 bits, CLOCK_MONOTONIC.
 *
 * The current time of a worker is its loop's `now_ns`, read once per turn; nothing on the hot path reads the
 * clock itself.
 */
#ifndef WEIR_BASE_CLOCK_H
#define WEIR_BASE_CLOCK_H

#include <stdint.h>

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_SEC INT64_C(1000000000)

/* "Never": later than every deadline. */
#define CLOCK_NEVER INT64_MAX

/* Nanoseconds of CLOCK_MONOTONIC (clock_gettime(2)). Any thread. */
int64_t clock_mono_ns(void);

/* Nanoseconds of CPU time that the calling thread has used (CLOCK_THREAD_CPUTIME_ID). A system call. */
int64_t clock_thread_ns(void);

/* The same of all threads of the process (CLOCK_PROCESS_CPUTIME_ID). */
int64_t clock_process_ns(void);

/* Nanoseconds of CLOCK_REALTIME, for log lines only. Any thread. */
int64_t clock_wall_ns(void);

#endif

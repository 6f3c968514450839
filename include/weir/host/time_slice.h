/* SPDX-License-Identifier: MIT
 *
 * time_slice.h - how long a thread may keep its CPU while others want it.
 */
#ifndef WEIR_HOST_TIME_SLICE_H
#define WEIR_HOST_TIME_SLICE_H

#include <stdint.h>

/* Asks the scheduler for turns of `ns` nanoseconds (100,000 to 100,000,000) for the calling thread, and for
 * threads that it starts afterwards. A thread with shorter ones that wakes up on the same CPU then takes it
 * at once, if it has not had its share. Policy, nice value and share stay. Returns 0, or -errno: -EPERM in a
 * sandbox without sched_setattr(2), -EOPNOTSUPP under the policies idle, real time and deadline. Linux before
 * 6.12 takes the request and does nothing (sched_setattr(2), sched_runtime of SCHED_OTHER). */
int time_slice_ask(uint64_t ns);

#endif

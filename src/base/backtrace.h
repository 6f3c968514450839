/* SPDX-License-Identifier: MIT
 *
 * backtrace.h - the calling thread's stack, as far as the C library can unwind it.
 */
#ifndef WEIR_BASE_BACKTRACE_H
#define WEIR_BASE_BACKTRACE_H

/* Stores the return addresses of the calling thread in `out`, innermost first. Returns how many, at most
 * `max`; 0 where the C library has no backtrace(3). Only the first call may allocate: make it early. */
int backtrace_take(void **out, int max);

#endif

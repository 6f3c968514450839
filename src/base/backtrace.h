/* SPDX-License-Identifier: MIT
 *
 * backtrace.h - where the calling thread is, as far as the C library can say.
 */
#ifndef WEIR_BASE_BACKTRACE_H
#define WEIR_BASE_BACKTRACE_H

/* The return addresses of the calling thread, the innermost first; how many, at most `max`, 0 where the C
 * library has no backtrace(3). The first call may allocate, later ones do not: call it once early. */
int backtrace_take(void **out, int max);

#endif

/* SPDX-License-Identifier: MIT
 *
 * check.h - assertions that stay on in release builds.
 *
 * check() states a condition that only a bug in weir can break; anything that the outside world can cause is
 * an error and is handled. A failed check writes file, line and condition to stderr and, in a daemon, to the
 * log (crash_report.h), and aborts. Any thread.
 */
#ifndef WEIR_BASE_CHECK_H
#define WEIR_BASE_CHECK_H

#include <stddef.h>

/* Writes the lines that crash_report.h describes and calls abort(3). Never returns. Any thread. */
_Noreturn void check_failed(const char *file, int line, const char *cond);

#define check(cond) (__builtin_expect(!!(cond), 1) ? (void)0 : check_failed(__FILE__, __LINE__, #cond))

/* The structure of type `type` whose member `member` is at `ptr`. */
#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif

/* SPDX-License-Identifier: MIT
 *
 * wall_time.h - a moment of the wall clock as people and programs read it.
 *
 * Any thread.
 */
#ifndef WEIR_BASE_WALL_TIME_H
#define WEIR_BASE_WALL_TIME_H

#include <stdint.h>

#define WALL_TIME_MAX 32 /* with its NUL */

/* "2026-11-23T16:05:00Z" for nanoseconds since 1970, rounded down to a second; "-" for 0, and for a moment
 * that has no such text. Writes to `buf` and returns it. */
const char *wall_time_format(int64_t wall_ns, char buf[static WALL_TIME_MAX]);
/* The same with milliseconds: "2026-11-23T16:05:00.123Z". */
const char *wall_time_format_ms(int64_t wall_ns, char buf[static WALL_TIME_MAX]);

#endif

/* SPDX-License-Identifier: MIT
 *
 * clock.c - the two clocks as nanoseconds.
 *
 * Owns nothing. Any thread.
 */
#include "weir/base/clock.h"

#include <time.h>

#include "weir/base/check.h"

static int64_t read_ns(clockid_t id)
{
	struct timespec ts;

	/* Fails only for a clock that does not exist or a bad pointer. */
	check(clock_gettime(id, &ts) == 0);
	return (int64_t)ts.tv_sec * NS_PER_SEC + (int64_t)ts.tv_nsec;
}

int64_t clock_mono_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

int64_t clock_thread_ns(void)
{
	return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

int64_t clock_process_ns(void)
{
	return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t clock_wall_ns(void)
{
	return read_ns(CLOCK_REALTIME);
}

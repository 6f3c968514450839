/* SPDX-License-Identifier: MIT
 *
 * wall_time.c - a moment of the wall clock as people and programs read it: ISO 8601, in UTC.
 *
 * Any thread.
 */
#include "weir/base/wall_time.h"

#include <string.h>
#include <time.h>

#include "weir/base/clock.h"

const char *wall_time_format(int64_t wall_ns, char buf[static WALL_TIME_MAX])
{
	const time_t at = (time_t)(wall_ns / NS_PER_SEC);
	struct tm tm;

	if (wall_ns == 0 || gmtime_r(&at, &tm) == NULL ||
	    strftime(buf, WALL_TIME_MAX, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		memcpy(buf, "-", 2);
	return buf;
}

/* SPDX-License-Identifier: MIT
 *
 * wall_time.c - a moment of the wall clock as people and programs read it: ISO 8601, in UTC.
 *
 * Any thread.
 */
#include "weir/base/wall_time.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "weir/base/clock.h"

/* "2026-11-23T16:05:00"; its length, or 0 for no such text. */
static size_t format_seconds(int64_t wall_ns, char buf[static WALL_TIME_MAX])
{
	const time_t at = (time_t)(wall_ns / NS_PER_SEC);
	struct tm tm;

	if (wall_ns == 0 || gmtime_r(&at, &tm) == NULL)
		return 0;
	return strftime(buf, WALL_TIME_MAX - sizeof(".000Z"), "%Y-%m-%dT%H:%M:%S", &tm);
}

const char *wall_time_format(int64_t wall_ns, char buf[static WALL_TIME_MAX])
{
	const size_t len = format_seconds(wall_ns, buf);

	memcpy(buf + len, len > 0 ? "Z" : "-", 2);
	return buf;
}

const char *wall_time_format_ms(int64_t wall_ns, char buf[static WALL_TIME_MAX])
{
	const size_t len = format_seconds(wall_ns, buf);

	if (len == 0)
		memcpy(buf, "-", 2);
	else
		(void)snprintf(buf + len, WALL_TIME_MAX - len, ".%03dZ",
			       (int)(wall_ns % NS_PER_SEC / NS_PER_MS)); /* it fits */
	return buf;
}

/* SPDX-License-Identifier: MIT
 *
 * haproxy_time.c - durations as HAProxy reads them.
 *
 * Any thread.
 */
#include "weir/config/haproxy_time.h"

#include <stddef.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/digit.h"

#define MS_MAX INT32_MAX

static const struct {
	const char *word;
	int64_t us;
} units[] = {
	{"", 1000},	  {"us", 1},		     {"ms", 1000},		{"s", 1000000},
	{"m", 60 * 1000000}, {"h", INT64_C(3600) * 1000000}, {"d", INT64_C(86400) * 1000000},
};

enum haproxy_time haproxy_time(const char *text, int64_t *ms, const char **stray)
{
	const char *unit = text;
	int64_t value = 0;

	*stray = text;
	if (!is_digit(*text))
		return HAPROXY_TIME_BAD;
	for (; is_digit(*unit); unit++)
		if (value < INT64_C(1000000000000)) /* far beyond any unit's limit */
			value = 10 * value + (*unit - '0');
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (strcmp(unit, units[i].word) != 0)
			continue;
		if (value > INT64_C(1000) * MS_MAX / units[i].us)
			return HAPROXY_TIME_OVER;
		*ms = (value * units[i].us + 999) / 1000;
		return HAPROXY_TIME_FINE;
	}
	*stray = unit;
	return HAPROXY_TIME_BAD;
}

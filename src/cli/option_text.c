/* SPDX-License-Identifier: MIT
 *
 * option_text.c - the facts of an option's row as text.
 *
 * Prints bounds in the unit in which they are written. Main thread.
 */
#include "option_text.h"

#include <stdio.h>

#include "weir/base/clock.h"
#include "weir/config/values.h"

const char *option_text_value(const struct option *o, char buf[static OPTION_TEXT_MAX])
{
	if (o->type == OPT_CHOICE || o->type == OPT_BALANCE)
		return option_choices(o, false, buf);
	return o->words;
}

/* The unit of a row's bounds in nanoseconds; 0 if they are not times. */
static int64_t unit_ns(const struct option *o)
{
	switch (o->type) {
	case OPT_DURATION:
	case OPT_IDLE:
		return 1;
	case OPT_MILLIS:
		return NS_PER_MS;
	case OPT_SECONDS:
	case OPT_KEEPALIVE:
	case OPT_KEEPALIVES:
		return NS_PER_SEC;
	default:
		return 0;
	}
}

const char *option_text_range(const struct option *o, char buf[static OPTION_TEXT_MAX])
{
	char min[VALUE_TEXT_MAX], max[VALUE_TEXT_MAX];

	buf[0] = '\0';
	if (o->max == 0 || o->type == OPT_CPUS || o->type == OPT_CHOICE || o->type == OPT_TEXT)
		return buf;
	if (unit_ns(o) != 0) {
		value_format_duration(o->min * unit_ns(o), min);
		value_format_duration(o->max * unit_ns(o), max);
	} else if (o->type == OPT_SIZE || o->type == OPT_BYTES || o->type == OPT_PACE) {
		value_format_size((uint64_t)o->min, min);
		value_format_size((uint64_t)o->max, max);
	} else {
		(void)snprintf(min, sizeof(min), "%lld", (long long)o->min); /* 20 digits at most */
		(void)snprintf(max, sizeof(max), "%lld", (long long)o->max);
	}
	/* Two short numbers. */
	(void)snprintf(buf, OPTION_TEXT_MAX, "%s%.50s to %.50s", (o->flags & OPT_OR_OFF) != 0 ? "off, " : "",
		       min, max);
	return buf;
}

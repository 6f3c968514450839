/* SPDX-License-Identifier: MIT
 *
 * mark.h - by whom and since when something has another value than its configuration says.
 *
 * A value without allocations. A mark that is zero is not set. Any thread.
 */
#ifndef WEIR_BASE_MARK_H
#define WEIR_BASE_MARK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "weir/base/clock.h"

/* Nobody knows whose change it was. */
#define MARK_UNKNOWN ((uid_t)-1)
/* Longest text of mark_who(), with its NUL. */
#define MARK_WHO_MAX 24

struct mark {
	int64_t wall_ns; /* since 1970; 0 = not set */
	uid_t by;        /* MARK_UNKNOWN = unknown */
};

static inline bool mark_is_set(const struct mark *m)
{
	return m->wall_ns != 0;
}

/* `by` has changed something now. */
static inline struct mark mark_now(uid_t by)
{
	return (struct mark){.wall_ns = clock_wall_ns(), .by = by};
}

/* "uid 1000", "an unknown user"; in `buf`. */
static inline const char *mark_who(const struct mark *m, char buf[static MARK_WHO_MAX])
{
	if (m->by == MARK_UNKNOWN)
		return "an unknown user";
	(void)snprintf(buf, MARK_WHO_MAX, "uid %u", (unsigned)m->by); /* fits */
	return buf;
}

static inline void mark_clear(struct mark *m)
{
	*m = (struct mark){0};
}

#endif

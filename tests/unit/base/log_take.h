/* SPDX-License-Identifier: MIT
 *
 * log_take.h - what the log's reader does, in one call: the oldest record that has a text.
 */
#ifndef WEIR_TESTS_LOG_TAKE_H
#define WEIR_TESTS_LOG_TAKE_H

#include "weir/base/log.h"

/* The length; 0 when the ring is empty, and it is quiet then. */
static inline size_t log_take(struct log_ring *r, enum log_level *level, int64_t *wall_ns, char *out,
			      size_t room)
{
	struct log_entry e;
	size_t n = 0;

	while (n == 0 && log_ring_peek(r, &e)) {
		*level = e.level;
		*wall_ns = e.wall_ns;
		n = log_entry_format(&e, LOG_STYLE_TEXT, out, room);
		log_ring_pop(r);
	}
	return n;
}

#endif

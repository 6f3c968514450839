/* SPDX-License-Identifier: MIT
 *
 * log_rings.h - the log rings of all threads, and their combined counts.
 *
 * Borrows the rings, owns the list of them. Main thread.
 */
#ifndef WEIR_LOGGING_LOG_RINGS_H
#define WEIR_LOGGING_LOG_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base/log.h"

/* All zero is an empty list. */
struct log_rings {
	struct log_ring **list; /* owns the array, borrows the rings */
	size_t count;
};

/* 0 or -ENOMEM. */
int log_rings_add(struct log_rings *r, struct log_ring *ring);
void log_rings_free(struct log_rings *r);
/* Does ring `i` hold a record? Does not mark it quiet. */
bool log_rings_has_records(const struct log_rings *r, size_t i);
/* Records that found no room, in all rings. */
uint64_t log_rings_dropped(const struct log_rings *r);
/* Are there suppressed lines that have not been reported? */
bool log_rings_has_left_out(const struct log_rings *r);
/* The number of suppressed lines with this cause, which then count as reported. */
uint32_t log_rings_take_left_out(struct log_rings *r, enum log_cause cause);

#endif

/* SPDX-License-Identifier: MIT
 *
 * log_rings.h - the log rings of all threads, and their combined counts.
 *
 * Borrows the rings, owns the list of them. A mark says which records the rings held when it was made. Main
 * thread.
 */
#ifndef WEIR_LOGGING_LOG_RINGS_H
#define WEIR_LOGGING_LOG_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base/log.h"

struct log_rings_entry {
	struct log_ring *ring; /* borrows */
	uint64_t mark;	       /* to be read to for `noted` */
};

/* All zero is an empty list. Marks are counted: one that comes while another is awaited waits for its turn,
 * so any number of them needs no memory. */
struct log_rings {
	struct log_rings_entry *list; /* owns */
	size_t count;
	uint64_t marks; /* how many were made */
	uint64_t noted; /* the entries' marks are of this one and all before it */
	uint64_t read;	/* this one and all before it are reached */
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
/* Marks what all rings hold now; returns the mark's number, which is above 0. */
uint64_t log_rings_mark(struct log_rings *r);
/* Have all rings been read to that mark? As of log_rings_note_read(). */
bool log_rings_are_read_to(const struct log_rings *r, uint64_t number);
/* Is a mark not reached yet? */
bool log_rings_are_awaited(const struct log_rings *r);
/* Must ring `i` still be read for a mark? */
bool log_rings_is_awaited(const struct log_rings *r, size_t i);
/* Call after rings were read: true if that reached a mark. */
bool log_rings_note_read(struct log_rings *r);
/* The number of suppressed lines with this cause, which then count as reported. */
uint32_t log_rings_take_left_out(struct log_rings *r, enum log_cause cause);

#endif

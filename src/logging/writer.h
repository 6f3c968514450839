/* SPDX-License-Identifier: MIT
 *
 * writer.h - what a logwriter consists of: the rings that it reads, the targets that it writes to.
 *
 * For logwriter.c, which reads, and writer_targets.c, which changes the targets. Main thread.
 */
#ifndef WEIR_LOGGING_WRITER_H
#define WEIR_LOGGING_WRITER_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "log_outlets.h"
#include "log_reopens.h"
#include "log_rings.h"

struct logwriter {
	struct ev_loop *loop; /* borrows */
	struct log_outlets outlets;
	struct log_rings rings;
	struct ev_timer awaited; /* runs only while a mark is not reached */
	bool late;		 /* it has expired */
	void (*on_read)(void *arg);
	void *on_read_arg;
	struct ev_timer pause;
	struct ev_timer left_out; /* runs only while there are suppressed lines to report */
	struct ev_async news;     /* for the threads; active once they are started */
	uint64_t dropped_told; /* of all rings, as of the last report */
	struct log_reopens reopens;
	uint64_t dropped_seen; /* logwriter_dropped() of the last look at it */
	int64_t dropped_ns;    /* when that was found to have grown, since 1970; 0 = never */
};

enum rings_left {
	RINGS_LEFT_EMPTY, /* there was nothing */
	RINGS_LEFT_SOME,  /* lines were taken; there may be more */
	RINGS_LEFT_STUCK, /* there are lines, but no target has room */
};

/* Takes records from all rings in turn, at most some thousand lines. */
enum rings_left logwriter_read(struct logwriter *w);
/* Notes the time if lines were lost since the last call. */
void logwriter_note_dropped(struct logwriter *w);
/* Has the loop do that after a pause, and tell those who wait for it. */
void logwriter_look_later(struct logwriter *w);

#endif

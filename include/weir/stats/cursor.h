/* SPDX-License-Identifier: MIT
 *
 * cursor.h - a walk through the sessions of all workers, one slice at a time, one worker after another.
 *
 * Requests a slice (inquiry.h) only when its user asks for the next step. Control thread.
 */
#ifndef WEIR_STATS_CURSOR_H
#define WEIR_STATS_CURSOR_H

#include <stdbool.h>

#include "weir/engine/inquiry.h"

struct engine;

struct cursor {
	struct engine *engine; /* borrows */
	struct inquiry inquiry;
	struct inquiry_filter filter; /* of this walk */
	bool asked;      /* the inquiry belongs to this walk, not to an abandoned one */
	bool first;      /* the next slice is the first of its worker */
	unsigned worker; /* being asked, or next */
	unsigned silent; /* number of workers that did not answer */
};

enum cursor_step {
	CURSOR_WAITS, /* waiting for a worker */
	CURSOR_SLICE, /* `inquiry` holds the next sessions; call cursor_go_on() after using them */
	CURSOR_OVER,
};

/* `sums` as for inquiry_init(). `e` must outlive the cursor. */
void cursor_init(struct cursor *c, struct engine *e, bool sums);
/* Starts at the first session of the first worker. */
void cursor_begin(struct cursor *c);
/* The same, for the sessions that `f` wants: if that is one, only its worker is asked. Not allowed with
 * `sums`. */
void cursor_begin_some(struct cursor *c, const struct inquiry_filter *f);
/* Reports the state of the walk; asks the next worker if it has not been asked yet. */
enum cursor_step cursor_step(struct cursor *c);
/* The caller has finished with the slice. */
void cursor_go_on(struct cursor *c);
/* Is this slice the last of the walk? Then cursor_go_on() asks no other worker. */
bool cursor_is_last(const struct cursor *c);
/* Has the worker that was asked answered, so that cursor_step() can advance? */
bool cursor_is_answered(const struct cursor *c);
/* Gives up on a worker that does not answer and continues with the next. Not allowed with `sums`. */
void cursor_skip(struct cursor *c);
/* Abandons the walk until cursor_begin(). Not allowed with `sums`. */
void cursor_leave(struct cursor *c);

#endif

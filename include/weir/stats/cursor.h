/* SPDX-License-Identifier: MIT
 *
 * cursor.h - a walk through the sessions of all workers, a slice at a time and one worker after the other.
 *
 * Asks for a slice (inquiry.h) when it is wanted, and no sooner: a walk waits for whoever uses it. Control
 * thread.
 */
#ifndef WEIR_STATS_CURSOR_H
#define WEIR_STATS_CURSOR_H

#include <stdbool.h>

#include "weir/engine/inquiry.h"

struct engine;

struct cursor {
	struct engine *engine; /* borrows */
	struct inquiry inquiry;
	bool asked;      /* the inquiry is for this walk: not one that was left */
	bool first;      /* the next slice is the first of its worker */
	unsigned worker; /* that is asked, or is next */
	unsigned silent; /* workers that did not answer */
};

enum cursor_step {
	CURSOR_WAITS, /* for a worker */
	CURSOR_SLICE, /* `inquiry` has the next sessions; cursor_go_on() when they have been used */
	CURSOR_OVER,
};

/* `sums`: as inquiry_init(). `e` must live as long. */
void cursor_init(struct cursor *c, struct engine *e, bool sums);
/* From the first session of the first worker on. */
void cursor_begin(struct cursor *c);
/* Where it is; asks the worker that is next, if it has not been asked. */
enum cursor_step cursor_step(struct cursor *c);
/* The slice has been used. */
void cursor_go_on(struct cursor *c);
/* The slice is the last of all: cursor_go_on() will ask nobody. */
bool cursor_is_last(const struct cursor *c);
/* Would cursor_step() do anything while a worker is waited for? */
bool cursor_is_answered(const struct cursor *c);
/* The worker that is waited for does not answer: goes on without it. Never with `sums`. */
void cursor_skip(struct cursor *c);
/* Nobody uses it any more, until cursor_begin(). Never with `sums`. */
void cursor_leave(struct cursor *c);

#endif

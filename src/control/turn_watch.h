/* SPDX-License-Identifier: MIT
 *
 * turn_watch.h - the longest turn of a worker's loop while a reload takes effect.
 *
 * Workers measure from the beginning of a reload until a few seconds after its end, because what left is
 * freed then. Nothing is measured, and no timer is set, at other times. Main thread.
 */
#ifndef WEIR_CONTROL_TURN_WATCH_H
#define WEIR_CONTROL_TURN_WATCH_H

#include <ev.h>

#include "weir/base/figure.h"
#include "weir/engine/engine.h"

struct turn_watch {
	struct ev_loop *loop;  /* borrows; NULL = not set up */
	struct engine *engine; /* borrows */
	struct ev_timer timer; /* set after the end of a reload */
};

void turn_watch_init(struct turn_watch *tw, struct ev_loop *loop, struct engine *e);
/* A reload begins. What was measured for the one before is forgotten. */
void turn_watch_begin(struct turn_watch *tw);
/* It has ended. The workers measure for some seconds more. */
void turn_watch_end(struct turn_watch *tw);
/* Harmless if turn_watch_init() was not called. */
void turn_watch_stop(struct turn_watch *tw);
/* A figure_source; `turn_watch` may be one that is not set up. */
void turn_watch_publish(void *turn_watch, figure_report *report, void *to);

#endif

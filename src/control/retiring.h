/* SPDX-License-Identifier: MIT
 *
 * retiring.h - what has left is freed, and endpoints that leave go on in time, on control's loop.
 *
 * Main thread.
 */
#ifndef WEIR_CONTROL_RETIRING_H
#define WEIR_CONTROL_RETIRING_H

#include <ev.h>
#include <stdint.h>

#include "weir/engine/engine.h"
#include "weir/logging/logwriter.h"
#include "weir/stats/question.h"

struct retiring {
	struct ev_loop *loop;  /* borrows */
	struct engine *engine; /* borrows */
	struct logwriter *log; /* borrows */
	struct stats *stats;   /* borrows; NULL = nobody can ask for sums */
	struct ev_timer timer; /* set while an endpoint leaves */
	struct log_mark mark;
	uint64_t stats_mark;
};

/* Call before the engine starts. */
void retiring_init(struct retiring *r, struct ev_loop *loop, struct engine *e, struct logwriter *log);
/* Something may have happened that it waits for. */
void retiring_wake(struct retiring *r);
/* Harmless if retiring_init() was not called. */
void retiring_stop(struct retiring *r);

#endif

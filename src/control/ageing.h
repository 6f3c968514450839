/* SPDX-License-Identifier: MIT
 *
 * ageing.h - periodic ageing of the pools' global lists: closes what stays unused for two cycles.
 *
 * Workers age their own caches. The timer is set only while a list is not empty, so an idle daemon sleeps.
 * Main thread.
 */
#ifndef WEIR_CONTROL_AGEING_H
#define WEIR_CONTROL_AGEING_H

#include <ev.h>
#include <stdint.h>

#include "weir/io/buf_pool.h"
#include "weir/io/pipe_pool.h"

struct ageing {
	struct ev_loop *loop;    /* borrows */
	struct pipe_pool *pipes; /* borrows */
	struct buf_pool *bufs;   /* borrows */
	struct ev_timer timer;
};

/* `cycle_ns` 0 = no ageing. Both pools must be initialized. */
void ageing_init(struct ageing *a, struct ev_loop *loop, struct pipe_pool *pipes, struct buf_pool *bufs,
		 int64_t cycle_ns);
/* A worker may have spilled something: called for each wake-up of control. */
void ageing_wake(struct ageing *a);
/* Changes the length of the cycle; one under way begins anew. */
void ageing_set_cycle(struct ageing *a, int64_t cycle_ns);
void ageing_stop(struct ageing *a);

#endif

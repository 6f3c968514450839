/* SPDX-License-Identifier: MIT
 *
 * gather.h - what changes of servers within one turn of the loop becomes one roster; and slow starts.
 *
 * When a network breaks, hundreds of checks fail in one turn of the loop, and the table of a large backend
 * takes milliseconds to make: one for each of them would stop control for seconds. Moves on all slow starts
 * with one timer. Where nothing changes it has no watcher. Main thread.
 */
#ifndef WEIR_HEALTH_GATHER_H
#define WEIR_HEALTH_GATHER_H

#include <ev.h>
#include <stdbool.h>

#include "weir/base/log.h"
#include "weir/engine/engine.h"

struct gather {
	struct ev_loop *loop;  /* borrows */
	struct engine *engine; /* borrows */
	bool *held;            /* owns: by backend */
	struct ev_prepare end; /* of the turn; active while something is held */
	struct ev_timer slow;  /* to the next step of some slow start, or when memory is asked for again */
	struct log_limit limit;
	void (*published)(void *arg); /* all that was gathered is in force; NULL = nobody asks */
	void *arg;
};

/* 0 or -ENOMEM. `e` is borrowed until gather_free(). */
int gather_init(struct gather *g, struct ev_loop *loop, struct engine *e);
/* Publishes what is gathered, and ends. Fine after memset(0). */
void gather_free(struct gather *g);

/* Before a change of a server of `b` that may be one of many: the roster comes at the end of this turn of the
 * loop, and until then server_set_health() and server_set_admin() need no memory. */
void gather_begin(struct gather *g, struct backend *b);
/* After any change of `s`: it may be in a slow start now. */
void gather_look_at(struct gather *g, struct server *s);

#endif

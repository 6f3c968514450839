/* SPDX-License-Identifier: MIT
 *
 * updates_loop.h - changes of servers (balance/server_updates.h) on control's loop.
 *
 * A prepare watcher is the end of a turn, a timer wakes for what is due later. Where nothing changes, neither
 * is active. Main thread.
 */
#ifndef WEIR_CONTROL_UPDATES_LOOP_H
#define WEIR_CONTROL_UPDATES_LOOP_H

#include <ev.h>

#include "weir/balance/server_updates.h"
#include "weir/engine/engine.h"

struct updates_loop {
	struct ev_loop *loop; /* borrows; NULL = not begun */
	struct server_updates updates;
	struct ev_prepare end; /* of the turn */
	struct ev_timer wake;
};

/* Begins for the backends of `e`. Both are borrowed until updates_loop_free(). */
void updates_loop_init(struct updates_loop *ul, struct ev_loop *loop, struct engine *e);
/* Publishes what is gathered, and ends. Fine after memset(0). */
void updates_loop_free(struct updates_loop *ul);

#endif

/* SPDX-License-Identifier: MIT
 *
 * updates_loop.h - runs server changes (balance/server_updates.h) on control's loop.
 *
 * A prepare watcher runs at the end of a turn; a timer wakes for changes due later. Neither is active if
 * nothing changes. Main thread.
 */
#ifndef WEIR_CONTROL_UPDATES_LOOP_H
#define WEIR_CONTROL_UPDATES_LOOP_H

#include <ev.h>

#include "weir/balance/server_updates.h"
#include "weir/engine/engine.h"

struct updates_loop {
	struct ev_loop *loop; /* borrows; NULL = not begun */
	struct server_updates updates;
	struct ev_prepare end; /* end of the turn */
	struct ev_timer wake;
};

/* Starts for the backends of `e`. Borrows both until updates_loop_free(). */
void updates_loop_init(struct updates_loop *ul, struct ev_loop *loop, struct engine *e);
/* Publishes pending changes and stops. Harmless after memset(0). */
void updates_loop_free(struct updates_loop *ul);

#endif

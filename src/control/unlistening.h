/* SPDX-License-Identifier: MIT
 *
 * unlistening.h - frontends listen or not, as their servers are (entry/unlisten.h), on control's loop.
 *
 * Main thread.
 */
#ifndef WEIR_CONTROL_UNLISTENING_H
#define WEIR_CONTROL_UNLISTENING_H

#include <ev.h>

#include "weir/balance/server_updates.h"
#include "weir/entry/entries.h"
#include "weir/entry/unlisten.h"
#include "weir/host/privileges.h"

struct unlistening {
	struct ev_loop *loop;	 /* borrows; NULL = not begun */
	struct entries *entries; /* borrows */
	struct privileges *privileges; /* borrows */
	struct unlisten_rights rights; /* for `enable frontend` as well */
	struct server_observer observer;
	struct ev_timer timer; /* set while an address cannot be bound, and after the start */
};

/* Begins a second from now: names are resolved and servers are checked first. Borrows all until
 * unlistening_stop(). */
void unlistening_init(struct unlistening *u, struct ev_loop *loop, struct entries *e,
		      struct server_updates *updates, struct privileges *privileges);
/* Settings of frontends, or their addresses, have changed. */
void unlistening_settle(struct unlistening *u);
/* Before the updates end. Harmless after memset(0). */
void unlistening_stop(struct unlistening *u);

#endif

/* SPDX-License-Identifier: MIT
 *
 * reload_wish.h - a client of the admin protocol asks for a reload, and gets its answer later.
 *
 * The daemon's control hands the function that takes wishes to admin through struct admin_context; the
 * answer comes through the wish. Main thread.
 */
#ifndef WEIR_ADMIN_RELOAD_WISH_H
#define WEIR_ADMIN_RELOAD_WISH_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/base/list.h"

struct reload_wish {
	struct list link; /* in the reload's list while it waits; list_init() before it is asked */
	bool wait;	  /* also until what left has been retired, at most 30 s */
	/* More of the answer, whole lines; the last call has `last` set, and the wish is forgotten by then.
	 * Not called from within reload_asker.ask(). The last line but for that of a wait begins with
	 * "reloaded: " or "not reloaded: ". `text` is borrowed for the call. */
	void (*answer)(struct reload_wish *wish, const char *text, bool last);
	uint64_t generation; /* the reload's own, while the wish waits for what left */
	int64_t until_ns;    /* the same: monotonic */
};

/* Who takes wishes. */
struct reload_asker {
	/* Takes the wish (borrowed until its last answer, or until it is forgotten). */
	void (*ask)(void *arg, struct reload_wish *wish);
	/* The client has gone: no answer any more. Harmless on a wish that was answered. */
	void (*forget)(void *arg, struct reload_wish *wish);
	void *arg;
};

#endif

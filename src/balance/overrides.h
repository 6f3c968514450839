/* SPDX-License-Identifier: MIT
 *
 * overrides.h - what is set at run time meets new settings: it stays unless the file's value has changed; for
 * the room alone.
 *
 * Control thread.
 */
#ifndef WEIR_BALANCE_OVERRIDES_H
#define WEIR_BALANCE_OVERRIDES_H

#include "weir/balance/server.h"

/* The address that the server gets with the settings `now`: `buf` may be used for it. NULL = none yet. */
const struct addr *overrides_address(const struct server *s, const struct config_server *now,
				     struct addr *buf);
/* The settings `now`, which are not published yet, decide what stays of weight, limit, administrative state
 * and the rest. A server that was added at run time belongs to the file from now on: all of that is as the
 * file says, but for its administrative state. Call overrides_settle() once they are published. */
void overrides_meet(struct server *s, const struct config_server *now);
/* Clears the marks of what no longer differs from the file. */
void overrides_settle(struct server *s);
/* The same for the settings of its backend, before they are published. */
void overrides_meet_backend(struct server *s, const struct config_backend *next);
void overrides_free(struct server *s);

#endif

/* SPDX-License-Identifier: MIT
 *
 * live_parts.h - what live_change.c, backend.c and server_updates.c need from each other; for these alone.
 *
 * Control thread.
 */
#ifndef WEIR_BALANCE_LIVE_PARTS_H
#define WEIR_BALANCE_LIVE_PARTS_H

#include "weir/balance/backend.h"
#include "weir/balance/server_updates.h"

/* Takes memory for one more change of `b`: for `more` servers, whose weights sum up to `more_weight`,
 * and for the roster after it, balanced as `how` says. 0 or -ENOMEM. */
int backend_reserve(struct backend *b, const struct config_balancing *how, size_t more, size_t more_weight);
/* That change was committed (the backend is `stale`), or given up. */
void backend_unreserve(struct backend *b);
/* Before workers see a server, or its new settings. */
void backend_mark_features(struct backend *b, const struct config_server *config);
/* Retires the servers that have left, which are in no roster any more. */
void servers_retire(struct backend *b);
/* Call before a change that may be one of many: it needs no roster until the end of the turn. */
void updates_hold(struct server_updates *u, struct backend *b);
/* Call after a change that may have begun a slow start. */
void updates_wake_for_slowstart(struct server_updates *u, struct server *s);

#endif

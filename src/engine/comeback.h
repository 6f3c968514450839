/* SPDX-License-Identifier: MIT
 *
 * comeback.h - the one connection by which a server without a health check is tried again: outage.h.
 *
 * A worker's thread.
 */
#ifndef WEIR_ENGINE_COMEBACK_H
#define WEIR_ENGINE_COMEBACK_H

#include "weir/balance/outage.h"
#include "session.h"

/* The server that this session is to try, with a place taken at it; NULL = none, or only `avoid`. */
struct server *comeback_take(struct session *s, const struct server *avoid);
/* The session's trial, if it has one, has ended like this. */
void comeback_end(struct session *s, enum server_trial how);

#endif

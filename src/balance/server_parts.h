/* SPDX-License-Identifier: MIT
 *
 * server_parts.h - what server.c, server_change.c and backend.c need of each other; nobody else includes it.
 *
 * Control thread.
 */
#ifndef WEIR_BALANCE_SERVER_PARTS_H
#define WEIR_BALANCE_SERVER_PARTS_H

#include "weir/balance/server.h"

/* Begins the server `index` of `owner`; publishes nothing. 0 or -ENOMEM. */
int server_init(struct server *s, struct backend *owner, unsigned index);
void server_free(struct server *s);

/* Its state, weight and limit as they follow from the configuration: no change, and no slow start. */
void server_begin_state(struct server *s);
/* Makes `a` (copied) its address; the state is not touched. 0, -ENOMEM, or -ENOSPC as server_set_addr(). */
int server_publish_addr(struct server *s, const struct addr *a);
/* The key that belongs to its name or its present address. */
uint64_t server_key_of(const struct server *s);

/* A server has changed: publishes a roster, or remembers to while the backend is held. 0 or -ENOMEM. */
int backend_changed(struct backend *b);
/* Says so when the present roster is the first one without a usable server. */
void backend_tell_last_one(struct backend *b);

#endif

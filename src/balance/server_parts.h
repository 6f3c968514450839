/* SPDX-License-Identifier: MIT
 *
 * server_parts.h - what server.c, server_change.c and backend.c need from each other; included only by these.
 *
 * Control thread.
 */
#ifndef WEIR_BALANCE_SERVER_PARTS_H
#define WEIR_BALANCE_SERVER_PARTS_H

#include "weir/balance/server.h"

/* Initialises server `index` of `owner`; publishes nothing. 0 or -ENOMEM. */
int server_init(struct server *s, struct backend *owner, unsigned index);
void server_free(struct server *s);

/* Sets state, weight and limit from the configuration: this is not a change and starts no slow start. */
void server_begin_state(struct server *s);
/* Sets `a` (copied) as its address; does not change the state. 0, -ENOMEM, or -ENOSPC as
 * server_set_addr(). */
int server_publish_addr(struct server *s, const struct addr *a);
/* The key of its name or its current address. */
uint64_t server_key_of(const struct server *s);

/* Call after a server has changed: publishes a roster, or marks one as pending while the backend is held. 0
 * or -ENOMEM. */
int backend_changed(struct backend *b);
/* Logs it if the current roster is the first one without a usable server. */
void backend_tell_last_one(struct backend *b);

#endif

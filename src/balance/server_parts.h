/* SPDX-License-Identifier: MIT
 *
 * server_parts.h - what server.c, server_change.c and backend.c need from each other; included only by these.
 *
 * Control thread.
 */
#ifndef WEIR_BALANCE_SERVER_PARTS_H
#define WEIR_BALANCE_SERVER_PARTS_H

#include "weir/balance/server.h"

/* Makes a server of `owner`, which nobody sees yet. 0, or with nothing made: -ENOMEM, -ENOSPC. */
int server_new(struct backend *owner, const struct config_server *config, struct server **out);
void server_free(struct server *s);
/* It counts among the servers of its backend from now on, or no longer. */
void server_joins(struct server *s);
void server_parts(struct server *s);
/* How often health checks have ever taken it down. */
uint64_t server_probe_downs(const struct server *s);
void server_add_totals(const struct server *s, struct server_totals *to);

/* Sets state, weight and limit from the configuration: this is not a change and starts no slow start. */
void server_begin_state(struct server *s);
/* The key of its name or its current address. */
uint64_t server_key_of(const struct server *s);

/* Call after a server has changed: publishes a roster, or marks one as pending while the backend is held. 0
 * or -ENOMEM. */
int backend_changed(struct backend *b);
/* Logs it if the current roster is the first one without a usable server. */
void backend_tell_last_one(struct backend *b);

#endif

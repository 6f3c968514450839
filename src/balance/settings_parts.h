/* SPDX-License-Identifier: MIT
 *
 * settings_parts.h - making, publishing and giving up versions of settings; for the room alone.
 *
 * A change holds the version that it will publish, so that the commit needs no memory. Control thread.
 */
#ifndef WEIR_BALANCE_SETTINGS_PARTS_H
#define WEIR_BALANCE_SETTINGS_PARTS_H

#include "weir/balance/backend.h"
#include "weir/balance/server.h"
#include "weir/balance/settings.h"

/* The living version with this content, or a new one that nobody sees; held for the caller, who publishes it
 * or lets it go. `a` (copied) may be NULL. NULL when out of memory or numbers. */
struct server_settings *server_settings_hold(struct server *s, const struct config_server *config,
					     const struct addr *a);
/* A new one whose address is still open, so that no other change finds it; held. `a` (copied, may be NULL) is
 * what it will probably be. NULL as above. */
struct server_settings *server_settings_open(struct server *s, const struct config_server *config,
					     const struct addr *a);
/* Gives it this address (copied, may be NULL). Returns what the caller holds from now on: `v`, or the living
 * version that has the same content. Cannot fail. */
struct server_settings *server_settings_settle(struct server_settings *v, const struct addr *a);
struct backend_settings *backend_settings_hold(struct backend *b, const struct config_backend *config);
/* The version in effect, for control, which made it. */
struct server_settings *server_settings_of_now(const struct server *s);
struct backend_settings *backend_settings_of_now(const struct backend *b);
/* Holds a living version once more. */
void version_hold(struct version *v);
/* The change was given up: frees it, or retires it if a worker may have seen it, unless it is in effect or
 * held by another change. */
void server_settings_let_go(struct server_settings *v);
void backend_settings_let_go(struct backend_settings *v);
/* Puts a version in effect that is held, and lets it go; the version before leaves. Cannot fail. */
void server_settings_publish(struct server_settings *v);
void backend_settings_publish(struct backend_settings *v);
/* The object has left, and nobody can find its version in effect any more: that leaves as well. */
void server_settings_leave(struct server *s);
void backend_settings_leave(struct backend *b);
/* Nobody uses them any more: frees all versions. */
void server_settings_free_all(struct server *s);
void backend_settings_free_all(struct backend *b);

#endif

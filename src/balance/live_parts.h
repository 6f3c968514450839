/* SPDX-License-Identifier: MIT
 *
 * live_parts.h - what live_change.c, run_time.c, backend.c and server_updates.c need from each other; for
 * these alone.
 *
 * Control thread.
 */
#ifndef WEIR_BALANCE_LIVE_PARTS_H
#define WEIR_BALANCE_LIVE_PARTS_H

#include "weir/balance/backend.h"
#include "weir/balance/server_updates.h"

/* Tells all observers, with the function of that name. */
#define TELL(u, function, what)                                                                              \
	do {                                                                                                 \
		struct list *node, *next;                                                                    \
                                                                                                             \
		list_foreach_safe(&(u)->observers, node, next) {                                             \
			struct server_observer *o = list_entry(node, struct server_observer, link);          \
                                                                                                             \
			if (o->function != NULL)                                                             \
				o->function(o->arg, what);                                                   \
		}                                                                                            \
	} while (0)

/* Takes memory for one more change of `b`: for `more` servers, whose weights sum up to `more_weight`,
 * and for the roster after it, with this configuration of the backend. 0 or -ENOMEM. */
int backend_reserve(struct backend *b, const struct config_backend *config, size_t more, size_t more_weight);
/* That change was committed (the backend is `stale`), or given up. */
void backend_unreserve(struct backend *b);
/* Before workers see a server, or its new settings. */
void backend_mark_features(struct backend *b, const struct config_server *config);
/* Retires the servers that have left, which are in no roster any more. */
void servers_retire(struct backend *b);
/* Call before a change that may be one of many: it needs no roster until the end of the turn. */
void updates_hold(struct server_updates *u, struct backend *b);
/* server_updates_wake() is due at `at_ns`, or earlier. */
void updates_wake_at(struct server_updates *u, int64_t at_ns);
/* The observers take what they need for a server that is about to be added: 0, or -errno with nothing taken.
 * After 0 they are told when it was added, or was not. */
int updates_prepare_add(struct server_updates *u, const struct backend *b,
			const struct config_server *config);
void updates_settle_add(struct server_updates *u, const struct backend *b,
			const struct config_server *config);
/* NULL = none has this name. */
struct server *backend_find_server(const struct backend *b, const char *name);
/* Publishes the roster of each backend that is held, and tells the observers; false, and nobody is told, if
 * memory ran out for one, which stays held and is tried again. */
bool updates_publish(struct server_updates *u);
/* The administrator gives the server an address (copied, NULL = none). Returns what
 * server_updates_set_admin() returns. */
int updates_move(struct server_updates *u, struct server *s, const struct addr *a, const char *cause);
/* Call after a change that may have begun a slow start. */
void updates_wake_for_slowstart(struct server_updates *u, struct server *s);

#endif

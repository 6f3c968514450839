/* SPDX-License-Identifier: MIT
 *
 * sticky.h - clients that keep their server: the table of a backend, and which server an entry means.
 *
 * An entry names its server by a hash of the name, so it survives whatever happens to the server: one that
 * has gone is not found, and one that comes back under its name is. Workers reach the table through the
 * roster, which holds it. A backend without `sticky` has none.
 */
#ifndef WEIR_BALANCE_STICKY_H
#define WEIR_BALANCE_STICKY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/balance/backend.h"
#include "weir/balance/roster.h"
#include "weir/balance/server.h"
#include "weir/net/sticky_table.h"

/* What an entry has of a server with this name; never 0. */
uint64_t sticky_id_of(const char *name);

/* The server of the backend with this id, NULL = none. Borrows: valid until the end of the turn. Any
 * thread. */
struct server *sticky_server(const struct roster *r, uint64_t id);
/* May clients that are stuck to this server go there: is it in the roster, or merely drained or without
 * weight? Any thread. */
static inline bool sticky_keeps(const struct server *s)
{
	return atomic_load_explicit(&s->in_roster, memory_order_relaxed) || atomic_load(&s->keeps);
}
/* The same, and it has a free place or room in its own queue. Any thread. */
bool sticky_may_take(const struct server *s);

/* ---- control thread ---- */

/* Takes memory for a table as in `config`, if one is needed that `b` does not have. 0 or -ENOMEM. */
int backend_sticky_prepare(struct backend *b, const struct config_backend *config);
/* The settings in effect are new: the next roster has their table, or still the one before, whose entries
 * move from then on; those of the other kind are dropped. Cannot fail. */
void backend_sticky_commit(struct backend *b);
/* Are there steps of a move to take? */
bool backend_sticky_moves(const struct backend *b);
/* Takes one, about a millisecond. False: it was the last, and the backend needs a roster, with the new
 * table. */
bool backend_sticky_step(struct backend *b);
/* That memory is not needed. */
void backend_sticky_undo(struct backend *b);

/* How many clients, or addresses that they connect to, have a server by now; 0 without a table. What has
 * expired is removed first, as far as sticky_table_age() does at once. */
uint32_t backend_sticky_used(struct backend *b, int64_t now_ns);

/* How many places a roster needs for so many servers. */
size_t sticky_places_for(size_t servers);
/* Puts all servers of `b`, and its table, into the roster. */
void sticky_fill(struct roster *r, const struct backend *b);

#endif

/* SPDX-License-Identifier: MIT
 *
 * server_set.h - a line `servers` at run time: the servers that a name has addresses for.
 *
 * Whoever watches the name (names/set_watch.h) brings its addresses; the set adds, changes and drains its
 * members by set_reconcile.h. A member is a server like any other. One whose address has gone drains for a
 * second at least, and is removed once it has no session; if its address returns first, it is the same server
 * again. What finds no memory is tried again a second later. Control thread.
 */
#ifndef WEIR_BALANCE_SERVER_SET_H
#define WEIR_BALANCE_SERVER_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/balance/server_updates.h"
#include "weir/balance/set_reconcile.h"
#include "weir/base/list.h"
#include "weir/base/log.h"
#include "weir/config/config.h"

struct set_watch;

struct server_set {
	struct list link;                   /* in its backend's `sets` */
	struct backend *owner;              /* borrows */
	const struct config_server *config; /* owns: a copy of its line */
	struct config_server *next;         /* owns: of a change that is prepared; NULL = none is */
	struct set_watch *watch;            /* borrows from whoever watches its name; NULL = nobody does */
	struct set_address *list;           /* owns: the last answer; NULL = none */
	size_t count;
	size_t surplus;       /* addresses that are not used because of `max` */
	const char *trouble;  /* why the last answer had no address, in words; static; NULL = it had */
	bool answered;        /* there was an answer with addresses */
	bool due;             /* the members are not as the last answer has it */
	struct log_limit limit;
};

static inline struct server_set *server_set_at(const struct list *link)
{
	return list_entry(link, struct server_set, link);
}

/* A set of `b` that is in no list yet, without members. NULL when out of memory. */
struct server_set *server_set_new(struct backend *b, const struct config_server *config);
/* Of a set that nobody watches and that has no members; it may be in its list. */
void server_set_free(struct server_set *set);

/* As in live_change.h: prepared, then committed or undone. */
void server_set_commit_add(struct server_set *set);
/* Its line has other words, but the same name; at most one change is prepared at a time. 0 or -ENOMEM. Its
 * members change beside it (server_set_member). */
int server_set_prepare_change(struct server_set *set, const struct config_server *config);
void server_set_commit_change(struct server_updates *u, struct server_set *set);
void server_set_undo_change(struct server_set *set);
/* Its members have been removed. */
void server_set_remove(struct server_updates *u, struct server_set *set);

/* The configuration of the member `s` of a set whose line is `line`; borrows from the line. */
void server_set_member(const struct config_server *line, const struct server *s, struct config_server *out);

/* The name has these addresses now; takes `list`, which is from malloc(3), or NULL. `trouble` says why there
 * is none (static), else it is NULL. The members change at once, the roster follows at the end of this
 * turn. */
void server_set_answer(struct server_updates *u, struct server_set *set, const char *trouble,
		       struct set_address *list, size_t count);
/* For server_updates_wake(): removes members of `b` that have drained, and tries again what found no
 * memory. */
void server_sets_step(struct server_updates *u, struct backend *b, int64_t now_ns);

/* The set of `b` that may give one of its members the name `name`; NULL = none. */
struct server_set *server_set_of_name(const struct backend *b, const char *name);
/* Addresses of all backends that are not used because of a `max`. */
uint64_t server_sets_surplus(const struct server_updates *u);

#endif

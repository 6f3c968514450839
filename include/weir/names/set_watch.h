/* SPDX-License-Identifier: MIT
 *
 * set_watch.h - watches the name of each set of servers, and brings its addresses to it.
 *
 * A set of a change that is only prepared has its watch already, which asks nothing before it is started.
 * Watches end with their sets. Control thread.
 */
#ifndef WEIR_NAMES_SET_WATCH_H
#define WEIR_NAMES_SET_WATCH_H

#include <stdbool.h>

#include "weir/balance/server_set.h"
#include "weir/base/figure.h"
#include "weir/names/resolver.h"

struct set_watches {
	struct resolver *resolver;      /* borrows */
	struct server_updates *updates; /* borrows */
	struct server_observer observer;
	bool watching;
};

/* Can this daemon resolve names as `c` says, and watch all its sets? 0; or -ENOSYS with `why`: what it cannot
 * do, and what to do about it. */
int set_watches_validate(const struct config *c, char *why, size_t room);

/* Watches all sets of `u` from now on. 0 or -errno. Stop it in any case. */
int set_watches_init(struct set_watches *w, struct resolver *r, struct server_updates *u);
/* All watches end. Harmless if it was never initialised (zeroed). */
void set_watches_stop(struct set_watches *w);

/* Takes what a set needs to be watched, before it is committed, and drops that, or starts. 0; or -errno:
 * -ENOSYS if it is of SRV records, and names are not resolved by DNS. */
int set_watches_prepare(struct set_watches *w, struct server_set *set);
void set_watches_start(struct server_set *set);
void set_watches_drop(struct server_set *set);
/* The same for all sets of a backend that is not committed yet. */
int set_watches_prepare_all(struct set_watches *w, struct backend *b, const struct server_set **failed);
void set_watches_start_all(struct backend *b);
void set_watches_drop_all(struct backend *b);

/* Why a set cannot be watched, for people: after "cannot look up the name of". `err` is that of
 * set_watches_prepare(). Static. */
const char *set_watches_advice(int err);

/* For a figure_source whose `from` is a struct set_watches. */
void set_watches_publish(void *watches, figure_report *report, void *to);

#endif

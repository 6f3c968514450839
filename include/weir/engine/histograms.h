/* SPDX-License-Identifier: MIT
 *
 * histograms.h - histograms of the sessions of frontends, backends and servers, if anybody wants them.
 *
 * Each worker has a set (histogram.h) per object, about 5 KiB, and is its only writer: at the end of a
 * session. Control makes the sets while workers run, and publishes each with one store, so that neither a
 * start nor a reload can fail for them. Sessions that end before that are missing.
 */
#ifndef WEIR_ENGINE_HISTOGRAMS_H
#define WEIR_ENGINE_HISTOGRAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/account/histogram.h"

struct chunks;
struct engine;
struct server;
struct session;
struct worker;

enum histograms_kept {
	HISTOGRAMS_NONE,
	HISTOGRAMS_PROXIES, /* of frontends and backends */
	HISTOGRAMS_ALL,     /* of servers, too */
};

/* Keeps these histograms from now on, and no others; sets that exist stay, with what they have, until the
 * engine ends. 0, or -ENOMEM if some set could not be made, which histograms_follow() tries again. Control
 * thread. */
int histograms_keep(struct engine *e, enum histograms_kept kept);
/* Makes the sets of objects that have come since. 0, or -ENOMEM if some are missing. Control thread. */
int histograms_follow(struct engine *e);
/* The same for one server and its backend, for a server that no worker can choose yet. */
int histograms_follow_server(struct engine *e, const struct server *s);
/* Are histograms of servers kept? Those of frontends and backends are, whenever any are. Any thread. */
bool histograms_are_of_servers(const struct engine *e);
/* Adds up what all workers have counted for the object at `slot`, of one kind. False, with all zeros, if
 * there is no set for it. Control thread. */
bool histograms_sum_up(const struct engine *e, uint32_t slot, enum histogram_kind kind,
		       struct histogram_sum *out);

/* The worker's side. */
/* The session has ended and its histograms are kept. The reason must be set. */
void histograms_session_ended(const struct session *s);
/* The object at `slot` has left: the set, if there is one, is for the next with that slot. */
void histograms_forget(struct worker *w, uint32_t slot);
/* Prepares a worker's table. Needs no memory. */
void histograms_init(struct chunks *table);
/* Frees the sets at slots below `peak`, but not the table. Nobody counts any more. */
void histograms_free(struct chunks *table, uint32_t peak);

#endif

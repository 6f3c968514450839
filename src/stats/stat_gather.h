/* SPDX-License-Identifier: MIT
 *
 * stat_gather.h - what all workers have counted, gathered once for everyone who asks at the same time.
 *
 * Tallies are read directly; the bytes of live sessions are added by a walk through the sessions of all
 * workers (cursor.h, tally_begin_walk()). A round is one walk. Each request is answered by the first round
 * that begins after it. So there is only one walk at a time and one set of sums, however many ask, and every
 * byte moved before the request is counted exactly once. No total of an object is ever below what an earlier
 * round had. Control thread.
 */
#ifndef WEIR_STATS_STAT_GATHER_H
#define WEIR_STATS_STAT_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/account/tally.h"
#include "weir/base/chunks.h"
#include "weir/base/clock.h"
#include "weir/stats/cursor.h"

struct engine;

/* How old the sums may be for stat_gather_ask_recent(). */
#define STAT_RECENT_NS (100 * NS_PER_MS)

struct stat_gather {
	struct engine *engine; /* borrows */
	struct cursor cursor;
	bool running;
	uint64_t wanted;          /* the latest round that anyone waits for */
	uint64_t done;            /* the latest round that has finished */
	int64_t done_ns;          /* when, on the monotonic clock */
	struct chunks sums; /* struct tally_sum by slot, as of the latest finished round */
	struct chunks live; /* struct stat_bytes by slot: what the walk has found so far */
};

/* 0 or -ENOMEM. `e` must live until stat_gather_free(). */
int stat_gather_init(struct stat_gather *g, struct engine *e);
/* The workers must have ended or never have run, so that none holds the inquiry. */
void stat_gather_free(struct stat_gather *g);
/* Returns the number of the round that answers a request made now; stat_gather_go_on() begins it. */
uint64_t stat_gather_ask(struct stat_gather *g);
/* The same for sums that may be up to STAT_RECENT_NS old, or of the round that is running: many who ask
 * within that time cost one walk. `now_ns` is the monotonic clock. */
uint64_t stat_gather_ask_recent(struct stat_gather *g, int64_t now_ns);
/* A worker may have answered, or someone has asked: advances until it has to wait for a worker, or until a
 * round has finished. True if one has: use `sums` before the next call. */
bool stat_gather_go_on(struct stat_gather *g);
/* Is anyone waiting for a round that has not begun? */
bool stat_gather_is_due(const struct stat_gather *g);

#endif

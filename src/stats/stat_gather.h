/* SPDX-License-Identifier: MIT
 *
 * stat_gather.h - what all workers have counted, gathered once for all who ask at the same time.
 *
 * Tallies are read directly; the bytes of living sessions are added to them by a walk through the sessions
 * of all workers (cursor.h, tally_begin_walk()). A round is one walk. Whoever asks is answered by the
 * first round that begins afterwards, so however many ask there is one walk at a time, and one set of sums;
 * and every byte that had moved by then is in them, once. Control
 * thread.
 */
#ifndef WEIR_STATS_STAT_GATHER_H
#define WEIR_STATS_STAT_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/account/tally.h"
#include "weir/stats/cursor.h"

struct engine;

struct stat_gather {
	struct engine *engine; /* borrows */
	struct cursor cursor;
	bool running;
	uint64_t wanted;          /* the last round that somebody waits for */
	uint64_t done;            /* the last round that has ended */
	struct tally_sum *sums;   /* owns: of each tally, as of the last round that has ended */
	struct stat_bytes *live;  /* owns: of each tally, what the walk has found so far */
};

/* 0 or -ENOMEM. `e` must live until stat_gather_free(). */
int stat_gather_init(struct stat_gather *g, struct engine *e);
/* No worker has the inquiry any more, as all have ended, or none ran. */
void stat_gather_free(struct stat_gather *g);
/* The number of the round that answers who asks now; stat_gather_go_on() begins it. */
uint64_t stat_gather_ask(struct stat_gather *g);
/* A worker may have answered, or somebody has asked: goes on, and returns when it waits for a worker, or when
 * a round has ended; then true, and `sums` is to be used before the next call. */
bool stat_gather_go_on(struct stat_gather *g);
/* Does somebody wait for a round that has not begun? */
bool stat_gather_is_due(const struct stat_gather *g);

#endif

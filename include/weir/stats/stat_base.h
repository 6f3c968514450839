/* SPDX-License-Identifier: MIT
 *
 * stat_base.h - what had been counted when an administrator cleared the counters.
 *
 * Workers only ever count up. What HAProxy's clients are shown begins at this base; weir's own answers and
 * metrics never fall. Control thread.
 */
#ifndef WEIR_STATS_STAT_BASE_H
#define WEIR_STATS_STAT_BASE_H

#include <stdint.h>

#include "weir/account/tally.h"
#include "weir/base/chunks.h"
#include "weir/base/slot_space.h"

/* What is counted for a frontend, backend or server outside of its tally. */
struct stat_counts {
	uint64_t total;
	uint64_t failures;
	uint64_t chosen;
	uint64_t denied;
	uint64_t probe_failures;
	uint64_t probe_downs;
	uint64_t connects;     /* of a backend: by its servers */
	uint64_t retries;      /* the same */
	uint64_t redispatches; /* the same */
};

/* Of one frontend, backend or server; all zero if it was never cleared. */
struct stat_base {
	struct stat_counts counts; /* when all was cleared last */
	struct tally_sum tally;    /* the same; of its maxima, what they had reached in all */
	uint64_t queue_max;        /* the same: how long its queue was at most */
};

/* Those of all objects of an engine. */
struct stat_bases {
	struct slot_space *objects; /* borrows */
	struct chunks table;        /* struct stat_base by slot */
};

/* `objects` of the engine's struct live, which must live until stat_bases_free(). 0 or -ENOMEM. */
int stat_bases_init(struct stat_bases *b, struct slot_space *objects);
void stat_bases_free(struct stat_bases *b);
/* The base of the object at `slot`: zero again once another object has that. */
static inline struct stat_base *stat_base_at(const struct stat_bases *b, uint32_t slot)
{
	return chunks_at(&b->table, slot);
}

/* Leaves what was counted since `base`. */
void stat_counts_subtract(struct stat_counts *from, const struct stat_counts *base);

#endif

/* SPDX-License-Identifier: MIT
 *
 * roster_parts.h - what roster.c needs from roster_tables.c and roster_homes.c; included only by these.
 * Control thread.
 */
#ifndef WEIR_BALANCE_ROSTER_PARTS_H
#define WEIR_BALANCE_ROSTER_PARTS_H

#include "weir/balance/roster.h"

/* The memory for a roster's tables, and what building them needs. */
struct roster_scratch {
	struct ring_point *ring;
	struct ring_point *points;
	size_t *places;
	uint32_t *maglev;
	struct maglev_turns *turns;
};

/* Takes what `room` says. 0 or -ENOMEM, to be freed all the same. */
int roster_scratch_init(struct roster_scratch *s, const struct roster_room *room);
void roster_scratch_free(struct roster_scratch *s);
/* How many points all servers of these weights may need, those that are down included. */
size_t roster_points_max(size_t full_points, size_t servers);
/* Each builds its table from r->by_key, which is complete and not empty; takes it from `s`. */
void roster_make_ring(struct roster *r, const struct backend *b, struct roster_scratch *s);
void roster_make_maglev(struct roster *r, struct roster_scratch *s);
/* Finds the servers that clients may come back to, by address. */
void roster_make_homes(struct roster *r, const struct backend *b);

#endif

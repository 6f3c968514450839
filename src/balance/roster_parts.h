/* SPDX-License-Identifier: MIT
 *
 * roster_parts.h - what roster.c needs from roster_tables.c; included only by these. Control thread.
 */
#ifndef WEIR_BALANCE_ROSTER_PARTS_H
#define WEIR_BALANCE_ROSTER_PARTS_H

#include "weir/balance/roster.h"

/* Each builds its table from r->by_key, which is complete and not empty. 0 or -ENOMEM. */
int roster_make_ring(struct roster *r, const struct backend *b);
int roster_make_maglev(struct roster *r);

#endif

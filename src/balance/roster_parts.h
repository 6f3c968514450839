/* SPDX-License-Identifier: MIT
 *
 * roster_parts.h - what roster.c needs of roster_tables.c; nobody else includes it. Control.
 */
#ifndef WEIR_BALANCE_ROSTER_PARTS_H
#define WEIR_BALANCE_ROSTER_PARTS_H

#include "weir/balance/roster.h"

/* Each makes its table of r->by_key, which is complete and not empty. 0 or -ENOMEM. */
int roster_make_ring(struct roster *r, const struct backend *b);
int roster_make_maglev(struct roster *r);

#endif

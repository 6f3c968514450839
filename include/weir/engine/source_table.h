/* SPDX-License-Identifier: MIT
 *
 * source_table.h - how many sessions each source has: an IPv4 address, or the /64 of an IPv6 one.
 *
 * An entry exists while it counts somebody, so there are never more of them than sessions. Which entries
 * share a chain depends on a random seed of this process, so nobody can choose addresses that do.
 * Any thread: the counts are exact. Floor 4.
 */
#ifndef WEIR_ENGINE_SOURCE_TABLE_H
#define WEIR_ENGINE_SOURCE_TABLE_H

#include <stddef.h>

#include "weir/io/addr.h"

struct source_entry; /* opaque */
struct source_table; /* opaque */

/* NULL without memory. */
struct source_table *source_table_new(void);
/* Everybody has left. NULL is fine. */
void source_table_free(struct source_table *t);

/* Counts one more of the source of `a`, which is IPv4 or IPv6, unless `limit` are counted already. 0 with
 * `*out` what source_table_leave() takes; -EDQUOT; -ENOMEM. */
int source_table_enter(struct source_table *t, const struct addr_brief *a, unsigned limit,
		       struct source_entry **out);
/* Counts one less; the last one ends the entry. */
void source_table_leave(struct source_table *t, struct source_entry *e);

/* How many the source of `a` has now. */
unsigned source_table_count(struct source_table *t, const struct addr_brief *a);
/* How many entries there are: walks all of the table, for tests. */
size_t source_table_size(struct source_table *t);

#endif

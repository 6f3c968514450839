/* SPDX-License-Identifier: MIT
 *
 * stat_counts.h - what is counted outside of tallies, as `show stat` shows it and `clear counters` keeps it.
 *
 * Main thread.
 */
#ifndef WEIR_ADMIN_STAT_COUNTS_H
#define WEIR_ADMIN_STAT_COUNTS_H

#include <stdatomic.h>

#include "weir/balance/server.h"
#include "weir/entry/frontend.h"
#include "weir/stats/backend_sum.h"
#include "weir/stats/stat_base.h"

struct stat_counts stat_counts_of_frontend(const struct frontend *fe);
struct stat_counts stat_counts_of_server(const struct server *s);
/* With the servers that have left. */
struct stat_counts stat_counts_of_backend(const struct backend_sum *sum);

/* Workers count with relaxed order, so this never returns a negative number. */
static inline uint64_t stat_read_count(const atomic_int *count)
{
	const int now = atomic_load_explicit(count, memory_order_relaxed);

	return now > 0 ? (uint64_t)now : 0;
}

#endif

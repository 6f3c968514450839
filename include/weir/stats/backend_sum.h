/* SPDX-License-Identifier: MIT
 *
 * backend_sum.h - what the servers of a backend add up to, for each report about it.
 *
 * What only grows includes the servers that have left, so no total falls when one leaves. Main thread.
 */
#ifndef WEIR_STATS_BACKEND_SUM_H
#define WEIR_STATS_BACKEND_SUM_H

#include <stdint.h>

#include "weir/account/tally.h"
#include "weir/balance/backend.h"
#include "weir/engine/engine.h"

struct backend_sum {
	/* With the servers that have left. */
	struct tally_sum tally;
	struct server_totals totals;
	uint64_t sessions_max; /* of the backend */
	/* Of those that it has. */
	uint64_t weight;  /* of those that can be chosen now */
	uint64_t uweight; /* the same without slow start */
	uint64_t active;  /* those that are up */
	uint64_t backup;
};

/* `sums` has a struct tally_sum at each slot. */
void backend_sum_up(const struct engine *e, const struct backend *b, const struct chunks *sums,
		    struct backend_sum *to);

#endif

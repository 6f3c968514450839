/* SPDX-License-Identifier: MIT
 *
 * newcomers.h - servers that come while the daemon runs: do their sockets get their options on this machine?
 * And their histograms.
 *
 * The options as at the start and before a reload. Main thread.
 */
#ifndef WEIR_CONTROL_NEWCOMERS_H
#define WEIR_CONTROL_NEWCOMERS_H

#include <stdbool.h>

#include "weir/balance/server_updates.h"

struct engine;

struct newcomers {
	struct engine *engine; /* borrows */
	struct server_observer observer;
	bool watching;
};

/* From now on a server that is added at run time and whose sockets do not get their options is refused, with
 * a log line that says why; and each server that comes, also with a reload, has its histograms before its
 * first session, if they are wanted. Both are borrowed. */
void newcomers_init(struct newcomers *n, struct engine *e, struct server_updates *u);
/* Harmless before newcomers_init(). */
void newcomers_stop(struct newcomers *n);

#endif

/* SPDX-License-Identifier: MIT
 *
 * newcomers.h - before a server is added at run time: do its sockets get their options on this machine?
 *
 * As at the start and before a reload. Main thread.
 */
#ifndef WEIR_CONTROL_NEWCOMERS_H
#define WEIR_CONTROL_NEWCOMERS_H

#include <stdbool.h>

#include "weir/balance/server_updates.h"

struct newcomers {
	struct server_observer observer;
	bool watching;
};

/* From now on such a server is refused with a log line that says why; `u` is borrowed. */
void newcomers_init(struct newcomers *n, struct server_updates *u);
/* Harmless before newcomers_init(). */
void newcomers_stop(struct newcomers *n);

#endif

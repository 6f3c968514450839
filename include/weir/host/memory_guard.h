/* SPDX-License-Identifier: MIT
 *
 * memory_guard.h - no new clients while the memory of our control group is short.
 *
 * Beyond its limit the kernel kills the process with all its sessions. The budgets of limits.h are estimates,
 * and what the kernel keeps for sockets is in none of them. So control looks while sessions are many, and
 * pauses acceptance from 90 % of a limit until it is below 85 % (75 and 71 % of the buffers). Sessions that
 * are open go on; new clients wait in the backlog. With few sessions it never pauses: then the memory is
 * somebody else's. Without a limit nothing is ever looked at, and with few sessions neither.
 * Main thread.
 */
#ifndef WEIR_HOST_MEMORY_GUARD_H
#define WEIR_HOST_MEMORY_GUARD_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/base/figure.h"
#include "weir/engine/engine.h"
#include "weir/host/cgroup.h"

struct memory_guard {
	struct ev_loop *loop;  /* borrows */
	struct engine *engine; /* borrows */
	struct ev_timer timer;
	struct cgroup_memory groups;
	bool paused;
	ev_tstamp looked; /* at this time of the loop */
};

/* Reads the limits of our groups. Before the `workers` start: it tells the engine from how many sessions on
 * control wants to know of them. */
void memory_guard_init(struct memory_guard *g, struct ev_loop *loop, struct engine *e, unsigned workers);
/* Begins to look when sessions are many, and looks at once while they are. Called for each wake-up. */
void memory_guard_check(struct memory_guard *g);
/* Its figures, as figure_source.publish; none where no limit is known. */
void memory_guard_publish(void *guard, figure_report *report, void *to);
/* Stops its timer. Harmless on a struct of zeros. */
void memory_guard_stop(struct memory_guard *g);

#endif

/* SPDX-License-Identifier: MIT
 *
 * memory_guard.h - pauses accepting while the memory of our control group is short.
 *
 * Beyond the group's limit the kernel kills the process with all its sessions. The budgets of limits.h are
 * estimates and leave out what the kernel keeps for sockets. So while there are many sessions, control
 * watches the memory. It pauses accepting at 90 % of a limit, until use is below 85 % (for the buffer budget:
 * 75 % and 71 %). Open sessions go on; new clients wait in the backlog. With few sessions it neither watches
 * nor pauses, because then something else uses the memory. Without a limit it never watches. Main thread.
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
	ev_tstamp looked; /* loop time of the last look */
};

/* Reads the limits of our groups. Call before the `workers` start: it sets the number of sessions from which
 * they notify control. */
void memory_guard_init(struct memory_guard *g, struct ev_loop *loop, struct engine *e, unsigned workers);
/* Starts to watch once there are many sessions, and may look at once while there are. Called for each
 * wake-up. */
void memory_guard_wake(struct memory_guard *g);
/* Its figures, for figure_source.publish; none if no limit is known. */
void memory_guard_publish(void *guard, figure_report *report, void *to);
/* Stops its timer. Harmless on a struct of zeros. */
void memory_guard_stop(struct memory_guard *g);

#endif

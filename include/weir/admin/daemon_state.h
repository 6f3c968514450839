/* SPDX-License-Identifier: MIT
 *
 * daemon_state.h - the state of a daemon between its start and its end, and the words for it.
 *
 * Only control changes it. `show info` reports it, and programs that read that compare these words.
 */
#ifndef WEIR_ADMIN_DAEMON_STATE_H
#define WEIR_ADMIN_DAEMON_STATE_H

#include <stdbool.h>

enum daemon_state {
	DAEMON_STARTING, /* not all workers are ready */
	DAEMON_READY,
	DAEMON_LEAVING,	 /* serves everyone; reports that it is not ready (shutdown-delay) */
	DAEMON_DRAINING, /* no new sessions; waits for the open ones to end */
	DAEMON_STOPPING, /* sessions are being closed */
};

/* "starting", "ready", "leaving", "draining", "stopping"; static. */
const char *daemon_state_word(enum daemon_state state);

/* Does it no longer take new sessions? */
static inline bool daemon_state_is_end(enum daemon_state state)
{
	return state >= DAEMON_DRAINING;
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * daemon_state.h - where a daemon is between its start and its end, and the words for it.
 *
 * Control alone changes it; `show info` shows it, and who reads that compares with these words.
 */
#ifndef WEIR_ADMIN_DAEMON_STATE_H
#define WEIR_ADMIN_DAEMON_STATE_H

#include <stdbool.h>

enum daemon_state {
	DAEMON_STARTING, /* workers are not yet all ready */
	DAEMON_READY,
	DAEMON_DRAINING, /* no new sessions; waits for the last one to end */
	DAEMON_STOPPING, /* sessions are being ended */
};

/* "starting", "ready", "draining", "stopping"; static. */
const char *daemon_state_word(enum daemon_state state);

/* Does it take no new sessions any more? */
static inline bool daemon_state_is_end(enum daemon_state state)
{
	return state >= DAEMON_DRAINING;
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * backend.h - the servers of a backend at run time, and its current roster.
 *
 * Control changes servers through server_updates.h, which publishes rosters; workers pick from the roster
 * that they hold. Uses no sockets.
 */
#ifndef WEIR_BALANCE_BACKEND_H
#define WEIR_BALANCE_BACKEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/balance/picker.h"
#include "weir/balance/queue.h"
#include "weir/balance/roster.h"
#include "weir/balance/server.h"
#include "weir/base/spinlock.h"
#include "weir/config/config.h"

struct backend {
	const struct config_backend *config; /* borrows */
	struct server *servers;              /* owns */
	size_t server_count;
	_Atomic bool limited;             /* a server has, or had, a maxconn: places are counted exactly */
	struct spinlock roster_lock;      /* protects `roster`: held for two instructions, only at a change */
	struct roster *roster;            /* the backend holds one reference */
	_Atomic uint64_t roster_number;   /* number of `roster`; a worker that holds another roster takes this
					   * one */
	struct queue queue;

	/* Control only. */
	size_t usable;      /* servers that are up with a weight above 0 */
	size_t told_usable; /* `usable` as of the current roster */
	bool held;          /* changes are batched, see server_change.h */
	bool stale;         /* changes are waiting for a roster */
};

/* Builds the run-time state of all backends of a snapshot; NULL when out of memory. Control thread. */
struct backend *backends_new(const struct config *c);
/* Call after all sessions have ended and all pickers are freed. Control thread. */
void backends_free(struct backend *backends, size_t count);

/* Takes a reference to the current roster; never NULL. Any thread. */
struct roster *backend_roster(struct backend *b);

#endif

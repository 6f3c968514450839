/* SPDX-License-Identifier: MIT
 *
 * backend.h - the servers of a backend at run time, and its present roster.
 *
 * Control changes servers by server_updates.h, which publishes rosters; workers pick from the roster that
 * they hold. Free of sockets.
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
	_Atomic bool limited;             /* some server has, or had, a maxconn: places are given exactly */
	struct spinlock roster_lock;      /* of `roster`: held for two instructions, at a change only */
	struct roster *roster;            /* one reference is the backend's */
	_Atomic uint64_t roster_number;   /* of `roster`; a worker that holds another one takes this */
	struct queue queue;

	/* Control's alone. */
	size_t usable;      /* servers that are up with a weight above 0 */
	size_t told_usable; /* the same at the present roster */
	bool held;          /* changes are gathered, see server_change.h */
	bool stale;         /* a roster is owed to what has changed */
};

/* Builds the runtime of all backends of a snapshot; NULL without memory. Control thread. */
struct backend *backends_new(const struct config *c);
/* All sessions have ended and all pickers are freed. Control thread. */
void backends_free(struct backend *backends, size_t count);

/* Takes a reference of the present roster; never NULL. Any thread. */
struct roster *backend_roster(struct backend *b);

#endif

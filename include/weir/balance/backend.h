/* SPDX-License-Identifier: MIT
 *
 * backend.h - the servers of a backend at run time, and its present roster.
 *
 * Control changes servers and publishes a roster for each change; workers pick from the roster that they
 * hold. Free of sockets.
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
	bool held;          /* changes are gathered, see backend_hold() */
	bool stale;         /* a roster is owed to what has changed */
};

/* Builds the runtime of all backends of a snapshot; NULL without memory. Control thread. */
struct backend *backends_new(const struct config *c);
/* All sessions have ended and all pickers are freed. Control thread. */
void backends_free(struct backend *backends, size_t count);

/* Publishes a roster of the servers as they are now and serves who waits in the queue. The server_set_*()
 * call it; for tests too. 0, or -ENOMEM with the old roster in place. Control thread. */
int backend_refresh(struct backend *b);
/* From here on the server_set_*() of its servers publish no roster, until backend_release()
 * publishes one for all of them: a table takes milliseconds to make, and many servers change together. What
 * else they change is seen at once. Harmless if it is held already. Control thread. */
void backend_hold(struct backend *b);
/* Publishes the roster that is owed, if one is, and ends the hold. 0, or -ENOMEM with the old roster in
 * place, the new one still owed and the backend still held: call it again. */
int backend_release(struct backend *b);
/* Takes a reference of the present roster; never NULL. Any thread. */
struct roster *backend_roster(struct backend *b);

#endif

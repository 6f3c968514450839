/* SPDX-License-Identifier: MIT
 *
 * evict.h - control ends all sessions that workers have with a server.
 *
 * Control raises a number of the server (`ends`, one for each cause) and signals every worker; each
 * compares that with the number it has done. So an order needs no place in a mailbox, many merge into one
 * walk through the sessions, and none is lost. A walk goes a few sessions in each turn of the loop, so that
 * the others are not kept waiting; an order that comes meanwhile waits for its end. Whoever comes to the
 * server after the walk has begun is not meant. A worker's thread.
 */
#ifndef WEIR_ENGINE_EVICT_H
#define WEIR_ENGINE_EVICT_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/balance/server.h"

struct worker;

/* What a worker knows of one server. */
struct eviction {
	uint32_t done[SERVER_ENDS]; /* the server's numbers, up to which it is done */
	unsigned due;               /* a bit for each enum server_end, during a walk */
};

/* In one turn: so many sessions are ended, so many places looked at. */
#define EVICT_SESSIONS_MAX 16u
#define EVICT_PLACES_MAX   512u

struct evict_walk {
	bool running;
	/* Changes with each walk: a session that has it came to its server since the walk began, or has been
	 * looked at. When a walk has ended all that are at a server have it; the others get it there. */
	bool mark;
	uint32_t place; /* see session_slab_next() */
};

/* Makes the worker's array. 0 or -ENOMEM. */
int evict_init(struct worker *w);
/* MAIL_EVICT came: ends some of the sessions of all servers whose number is new, and signals its own worker
 * while there may be more. */
void evict_sessions(struct worker *w);

#endif

/* SPDX-License-Identifier: MIT
 *
 * evict.h - control ends all sessions that workers have with a server, a frontend or a backend.
 *
 * Control raises a number (engine->ends, one per object and cause) and signals every worker; each worker
 * compares it with the number that it has handled. So an order needs no place in a mailbox, many orders merge
 * into one walk through the sessions, and none is lost. A walk visits a few sessions per turn of the loop, so
 * that other sessions are not delayed; an order that arrives during a walk waits for its end. Sessions that
 * begin, or come to the server, after the walk has begun are not affected. A worker's thread.
 */
#ifndef WEIR_ENGINE_EVICT_H
#define WEIR_ENGINE_EVICT_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/engine/engine.h"

struct worker;

/* What a worker knows of one server, frontend or backend. */
struct eviction {
	uint32_t done[ENGINE_END_COUNT]; /* the numbers that this worker has handled */
	unsigned due;                    /* one bit per enum engine_end, during a walk */
};

/* Limits for one turn: sessions ended, places visited. */
#define EVICT_SESSIONS_MAX 16u
#define EVICT_PLACES_MAX   512u

struct evict_walk {
	bool running;
	bool drains;   /* the next walk is to tell all sessions that the process drains */
	bool everyone; /* this one does */
	/* Changes with each walk: a session with this mark began, or came to its server, after the walk
	 * began, or has been visited. At the end of a walk all sessions have it. */
	bool mark;
	uint32_t place; /* see session_slab_next() */
};

/* MAIL_EVICT arrived: ends some of the sessions of all objects whose number is new, and signals its own
 * worker while there may be more. */
void evict_sessions(struct worker *w);

/* The worker drains: tells its sessions in the same way. */
void evict_drain(struct worker *w);
/* Is there an order that it has not carried out? */
bool evict_has_orders(const struct worker *w);

#endif

/* SPDX-License-Identifier: MIT
 *
 * evict.h - control ends all sessions that workers have with a server.
 *
 * Control raises a number of the server (`ends`, one for each cause) and signals every worker; each
 * compares that with the number it has done. So an order needs no place in a mailbox, many merge into one
 * walk through the sessions, and none is lost. A worker's thread. Floor 4.
 */
#ifndef WEIR_ENGINE_EVICT_H
#define WEIR_ENGINE_EVICT_H

#include <stdint.h>

#include "weir/balance/server.h"

struct worker;

/* What a worker knows of one server. */
struct eviction {
	uint32_t done[SERVER_ENDS]; /* the server's numbers, up to which it is done */
	unsigned due;               /* a bit for each enum server_end, during a walk */
};

/* Makes the worker's array. 0 or -ENOMEM. */
int evict_init(struct worker *w);
/* MAIL_EVICT came: ends the sessions of all servers whose number is new. */
void evict_sessions(struct worker *w);

#endif

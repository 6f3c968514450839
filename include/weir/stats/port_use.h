/* SPDX-License-Identifier: MIT
 *
 * port_use.h - how many of the local ports for connections to a server are in use.
 *
 * Each connection to one address needs a port of its own at its source address. This does not see the
 * connections of other processes, or of another server with the same address, health checks, and ports that
 * wait in TIME_WAIT. Control thread.
 */
#ifndef WEIR_STATS_PORT_USE_H
#define WEIR_STATS_PORT_USE_H

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct server;

struct port_use {
	uint32_t used;
	uint32_t available; /* in all, used ones included; > 0 */
};

/* How many ports the kernel chooses from now; 0 if that is not known. Reads a file of the kernel. */
uint32_t port_range(void);
/* Of the server `s`, where the kernel chooses from `range` ports. False if it does not depend on them: a Unix
 * socket, no address yet, or the client's own address as the source. */
bool port_use_of_server(const struct server *s, uint32_t range, struct port_use *out);
/* Of the server that uses the largest part of its ports. All zero if no server does. */
struct port_use port_use_most(const struct engine *e, uint32_t range);

/* In percent, rounded up, so that 100 means none is left and 0 that none is in use. */
static inline unsigned port_use_percent(const struct port_use *u)
{
	return u->available > 0 ? (unsigned)(((uint64_t)u->used * 100 + u->available - 1) / u->available) : 0;
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * backend.h - servers as they are at run time, and the choice of one.
 *
 * A server's runtime line (state, address, session count) is shared by all threads through
 * atomics on cache lines of its own. The round-robin places belong to one worker each, so that
 * choosing takes no lock. Free of sockets. Floor 3.
 */
#ifndef SLUICE_BALANCE_BACKEND_H
#define SLUICE_BALANCE_BACKEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/config/config.h"
#include "sluice/io/addr.h"

enum server_state {
	SERVER_UP,
	SERVER_UNRESOLVED, /* its name has no address yet */
};

struct server {
	const struct config_server *config;   /* borrows from the snapshot */
	const struct config_backend *backend; /* borrows from the snapshot */
	unsigned index;                       /* place in its backend */
	struct server_addr *addrs;            /* owns: every address it ever had; control only */
	_Alignas(64) _Atomic int state;       /* enum server_state; control writes */
	_Atomic(const struct addr *) addr;    /* control publishes; stays valid until the end */
	_Alignas(64) atomic_int sessions;     /* connecting or connected */
	_Atomic uint64_t total;
	_Atomic uint64_t failures; /* connects that failed */
};

struct backend {
	const struct config_backend *config; /* borrows */
	struct server *servers;              /* owns */
	size_t server_count;
};

/* Builds the runtime of all backends of a snapshot; NULL without memory. Control thread. */
struct backend *backends_new(const struct config *c);
void backends_free(struct backend *backends, size_t count);

/* Control: gives the server an address (copied); it is up from now on. 0 or -ENOMEM. */
int server_set_addr(struct server *s, const struct addr *a);
bool server_usable(const struct server *s);

/* One worker's place in one backend's smooth weighted round robin (nginx's algorithm: each usable
 * server gains its weight, the largest is chosen and pays the total). */
struct picker {
	struct backend *backend; /* borrows */
	int *current;            /* owns: one a server */
};

/* `skip` picks are made in advance, so that workers do not all begin at the same server. */
int picker_init(struct picker *p, struct backend *b, unsigned skip);
void picker_free(struct picker *p);
/* The next server; `avoid` (or NULL) only when no other is usable. NULL when none is usable or all
 * weights are 0. Worker thread. */
struct server *picker_next(struct picker *p, const struct server *avoid);

#endif

/* SPDX-License-Identifier: MIT
 *
 * stuck.h - the server that a client had before, where `sticky` is in effect.
 *
 * For rosters with a table only: the others cost one look at a pointer. A worker's thread.
 */
#ifndef WEIR_ENGINE_STUCK_H
#define WEIR_ENGINE_STUCK_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/net/sticky_table.h"
#include "session.h"

struct roster;
struct server;

/* What is known of a client. */
struct stuck {
	const struct roster *roster; /* borrows, until the end of the turn */
	const struct server *avoid;  /* its last connect to this one failed; NULL = none */
	bool has_key;                /* false for clients of Unix sockets */
	bool shared;                 /* with all clients that connect to its address */
	struct sticky_key key;
	uint64_t id;                 /* of its server, when it was looked up; 0 = none */
};

/* Looks the client up, which counts as a use. Returns the server that it is to go to, if need be into its
 * queue; NULL = the backend's algorithm chooses one. */
struct server *stuck_look(const struct session *s, const struct server *avoid, struct stuck *k);
/* `server` was chosen for the client, or granted to it in the queue: the client is stuck to it from now on.
 * False if another session has found the client a server meanwhile, which stuck_look() would return. */
bool stuck_settle(const struct session *s, struct stuck *k, const struct server *server);
/* The session's server has answered it in a trial: the client stays there, unless it has a server by now. */
void stuck_stay(const struct session *s);
/* Does the client have a server in its backend, so that no fallback is needed? */
bool stuck_has_server(const struct session *s);

#endif

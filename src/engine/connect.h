/* SPDX-License-Identifier: MIT
 *
 * connect.h - from an admitted client to a connected server.
 *
 * A worker's thread.
 */
#ifndef WEIR_ENGINE_CONNECT_H
#define WEIR_ENGINE_CONNECT_H

struct server;
struct session;

/* The session is admitted: counts it in its backend, picks a server and connects; further tries and their
 * pauses follow. */
void connect_begin(struct session *s);
/* The session waited for a place at `server` and has it now; it is taken or given back here. */
void connect_granted(struct session *s, struct server *server);
/* The timer fired while connecting or between two tries. */
void connect_timer(struct session *s);
/* The session's server was marked down, and the session must not wait for a timeout. A connected session is
 * closed; one that is still connecting has lost nothing, and tries another server. */
void connect_server_down(struct session *s);

/* The name that the client asks for was looked up, and has an address that is fine: connects to it. */
void connect_resolved(struct session *s);

#endif

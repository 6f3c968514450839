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

/* The session is admitted: counts it in its backend, picks a server and connects; the tries and their pauses
 * follow. */
void connect_begin(struct session *s);
/* A place at `server` was waited for and is this session's now, or is given back here. */
void connect_to_server(struct session *s, struct server *server);
/* The timer fired while connecting or between two tries. */
void connect_timer(struct session *s);
/* Its server was marked down, and its sessions shall not wait for a timeout. A connected one is closed; one
 * that connects still has lost nothing, and tries another server. */
void connect_server_down(struct session *s);

#endif

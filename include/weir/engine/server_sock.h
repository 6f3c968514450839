/* SPDX-License-Identifier: MIT
 *
 * server_sock.h - the socket of a connection to a server, with the options of its backend.
 *
 * A worker's thread, except for server_sock_probe().
 */
#ifndef WEIR_ENGINE_SERVER_SOCK_H
#define WEIR_ENGINE_SERVER_SOCK_H

#include <stdbool.h>

#include "weir/net/sock.h"

struct addr;
struct config_backend;
struct config_server;
struct session;

/* Does this errno of a socket or a connect mean a shortage of our own: of descriptors, ports or memory? */
bool server_sock_is_shortage(int err);

/* Makes the socket for a connect of `s` to `to`, the address of this try: options, source address, mark. 0,
 * with s->sides[SIDE_SERVER].sock ready, or -errno with nothing made. In that case no packet was sent, so
 * whatever the error is, the server is not at fault. -EADDRNOTAVAIL: no source address is available. That
 * error, and every error that is not a shortage, has been logged. */
int server_sock_open(struct session *s, const struct addr *to);

/* The connect of s->sides[SIDE_SERVER].sock returned -EADDRNOTAVAIL: its source address has no port left for
 * this server. Counts and logs that. True: there is another source, and a new socket to connect with; the old
 * socket, which must have no op pending, is closed. False: nothing has changed. */
bool server_sock_spill(struct session *s);

/* The connect of s->sides[SIDE_SERVER].sock to `to`, the address of this try, has succeeded: is the socket
 * connected to itself, so that nothing listens there? Counts and logs that, and prepares the socket for its
 * close. Makes a system call only where that is possible. */
bool server_sock_met_itself(struct session *s, const struct addr *to);
/* Logs that, and what to do about it; the caller limits the rate. Any thread with a log. */
void server_sock_log_itself(const struct config_backend *b, const struct config_server *server,
			    const struct addr *to);

/* Would sockets to `server` get their options? Makes one, and closes it. 0, or -errno with `*refused`. */
int server_sock_probe(const struct config_backend *b, const struct config_server *server,
		      enum sock_option *refused);

#endif

/* SPDX-License-Identifier: MIT
 *
 * admin_socket.h - the listening socket of the admin protocol, with descriptors in reserve.
 *
 * Can accept even when the process is out of descriptors: one in reserve is given up for a client and taken
 * back when that client has gone. Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_SOCKET_H
#define WEIR_ADMIN_ADMIN_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

#include "weir/config/config.h"
#include "weir/net/sock_path.h"

#define ADMIN_SOCKET_RESERVE 4

struct admin_socket {
	int fd;           /* owns; -1 = closed */
	/* Owns; -1 = given up. One would be enough if no worker could take the number between its close and
	 * the accept; losing several in a row that way is next to impossible. */
	int reserve[ADMIN_SOCKET_RESERVE];
	const struct config_global *config; /* borrows until the close: who may use the socket */
	struct addr addr; /* as bound */
	struct sock_path path; /* owns */
};

/* Owns nothing yet: admin_socket_close() is harmless. */
void admin_socket_init(struct admin_socket *s);
/* Listens at `g->admin`. Removes a path on which nobody listens any more; for a live one, -EADDRINUSE with
 * `s->path.holder`. Borrows `g` until the close. 0 or -errno. */
int admin_socket_open(struct admin_socket *s, const struct config_global *g);
/* Closes, and removes the path if it is still the one we created. */
void admin_socket_close(struct admin_socket *s);
/* A nonblocking connection or -errno; -EAGAIN if no client is waiting. */
int admin_socket_accept(struct admin_socket *s);
/* A client has gone: refills the reserve. */
void admin_socket_refill(struct admin_socket *s);

#endif

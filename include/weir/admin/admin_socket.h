/* SPDX-License-Identifier: MIT
 *
 * admin_socket.h - a listening socket of the admin protocol: opened and closed.
 *
 * A daemon has at most two: the one that is configured, and the private control socket (control_socket.h).
 * Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_SOCKET_H
#define WEIR_ADMIN_ADMIN_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

#include "weir/config/config.h"
#include "weir/net/sock_path.h"

struct admin_socket {
	int fd;           /* owns; -1 = closed */
	/* Borrows until the close: who may use the socket. NULL = root and the daemon's own user alone. */
	const struct config_global *config;
	struct addr addr; /* as bound */
	struct sock_path path; /* owns */
};

/* Owns nothing yet: admin_socket_close() is harmless. */
void admin_socket_init(struct admin_socket *s);
/* Listens at `g->admin`. Removes a path on which nobody listens any more; for a live one, -EADDRINUSE with
 * `s->path.holder`. Borrows `g` until the close. 0 or -errno. */
int admin_socket_open(struct admin_socket *s, const struct config_global *g);
/* The same for root and the daemon's own user alone: at the Unix address `at`. A path gets mode 600 and,
 * unless that is (uid_t)-1, the owner `uid`. */
int admin_socket_open_private(struct admin_socket *s, const struct addr *at, uid_t uid);
/* Closes, and removes the path if it is still the one we created. */
void admin_socket_close(struct admin_socket *s);

#endif

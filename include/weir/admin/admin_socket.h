/* SPDX-License-Identifier: MIT
 *
 * admin_socket.h - a listening socket of the admin protocol: opened, closed, and moved while admin serves it.
 *
 * A daemon has at most two: the one that is configured, and the private control socket (control_socket.h).
 * Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_SOCKET_H
#define WEIR_ADMIN_ADMIN_SOCKET_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "weir/config/config.h"
#include "weir/net/sock_path.h"

struct admin;

struct admin_socket {
	int fd;           /* owns; -1 = closed */
	/* Borrows until the close: who may use the socket. NULL = root and the daemon's own user alone. */
	const struct config_global *config;
	struct addr addr; /* as bound */
	struct sock_path path; /* owns */
	bool claimed;     /* a low number for `fd` has been claimed (low_fds.h) */

	/* While a move is prepared. */
	const struct admin_socket *kept; /* borrows: this socket goes on, with `config`; NULL = it does not */
	bool owned;         /* its path has got another mode or owner */
	struct stat before; /* mode and owner until then */
};

/* Owns nothing yet: admin_socket_close() is harmless. */
void admin_socket_init(struct admin_socket *s);
/* Listens at `g->admin`. Removes a path on which nobody listens any more; for a live one, -EADDRINUSE with
 * `s->path.holder`. Makes the folder /run/weir if the path is in it. Borrows `g` until the close. 0 or
 * -errno. */
int admin_socket_open(struct admin_socket *s, const struct config_global *g);
/* The same for root and the daemon's own user alone: at the Unix address `at`. A path gets mode 600 and,
 * unless that is (uid_t)-1, the owner `uid`. */
int admin_socket_open_private(struct admin_socket *s, const struct addr *at, uid_t uid);
/* Closes, and removes the path if it is still the one we created. */
void admin_socket_close(struct admin_socket *s);

/* ---- moving the configured socket while `admin` serves it (admin_move.c) ----
 * A reload prepares each time, and then either commits or undoes: the socket borrows the configuration in
 * effect, so even one that does not change gets the new one.
 *
 * Fills in `next` (overwritten; borrows `g`, and `now`, the socket in service, which may be closed):
 *   no admin-socket in `g`      `next` is closed;
 *   the same address as now     the socket goes on. If `g` gives its path another mode or owner, the path
 *                               has them when this returns. What `g` no longer gives becomes what a new
 *                               socket would have: the mode by the umask, this process's user and group;
 *   another address             `next` listens there, with a low descriptor number claimed for it. Its
 *                               clients wait until the commit.
 * 0, or -errno with nothing changed: as admin_socket_open() and low_fds_claim(), with `next->path.holder`.
 * If `next->kept`, the error is why mode or owner of its path cannot be changed: -EPERM, for example, or
 * -ESTALE if another file is at its path by now. */
int admin_prepare_socket(struct admin_socket *next, const struct config_global *g,
			 const struct admin_socket *now);
/* `next` replaces the configured socket of `a`, the `now` of the preparation. Takes what `next` owns and
 * leaves it closed. Clients of the old socket are served to the end of their answers, with the rights that
 * they had; those in its backlog are accepted if there are places for them. Cannot fail. */
void admin_commit_socket(struct admin *a, struct admin_socket *next);
/* Takes back what was prepared. Harmless after a failure. */
void admin_undo_socket(struct admin_socket *next);

#endif

/* SPDX-License-Identifier: MIT
 *
 * web_socket.h - the listening socket of the HTTP endpoint: opened, closed, and moved while it is served.
 *
 * Main thread.
 */
#ifndef WEIR_WEB_WEB_SOCKET_H
#define WEIR_WEB_WEB_SOCKET_H

#include <stdbool.h>

#include "weir/config/config.h"
#include "weir/net/sock_path.h"

struct web;

struct web_socket {
	int fd; /* owns; -1 = closed */
	const struct config_stats *config; /* borrows until the close */
	struct addr addr;      /* as bound */
	struct sock_path path; /* owns */
	bool claimed;          /* low numbers have been claimed (low_fds.h) */

	/* While a move is prepared. */
	const struct web_socket *kept; /* borrows: this socket goes on, with `config`; NULL = it does not */
	bool owns;		       /* its path gets `owner` */
	struct config_socket_owner owner;
	bool beside;  /* it overlaps with the one in service: both share their port until that is closed */
	bool started; /* the HTTP server was started for it */
};

/* Low descriptor numbers that control claims for an endpoint: its socket, and the HTTP server's epoll. */
#define WEB_LOW_FDS 2

/* Can this build serve HTTP? */
bool web_is_built(void);
/* Owns nothing yet: web_socket_close() is harmless. */
void web_socket_init(struct web_socket *s);
/* Listens at `c->addr`, which is not ADDR_NONE. Borrows `c` until the close. 0 or -errno: as sock_listen(),
 * with `s->path.holder`; -ENOSYS: this build cannot serve HTTP. */
int web_socket_open(struct web_socket *s, const struct config_stats *c);
/* Closes, and removes the path if it is still the one we created. */
void web_socket_close(struct web_socket *s);

/* ---- moving the socket while `w` serves it ----
 * A reload prepares each time, and then either commits or undoes: the socket borrows the configuration in
 * effect, so even one that does not change gets the new one.
 *
 * Fills in `next` (overwritten; borrows `c`):
 *   no address in `c`     `next` is closed;
 *   the address of now    the socket goes on; the commit sets the mode and owner of its path;
 *   another address       `next` listens there, with low descriptor numbers claimed. Its clients wait until
 *                         the commit. It may overlap with the one in service.
 * 0, or -errno with nothing changed: as web_socket_open() and low_fds_claim(), with `next->path.holder`; as
 * sock_path_try_own(), with `next->kept`. */
int web_prepare_socket(struct web *w, struct web_socket *next, const struct config_stats *c);
/* `next` replaces the socket that `w` serves. Takes what `next` owns and leaves it closed. Requests that came
 * through the old socket are answered, unless no socket follows it. Cannot fail. */
void web_commit_socket(struct web *w, struct web_socket *next);
/* Takes back what was prepared. Harmless after a failure. */
void web_undo_socket(struct web *w, struct web_socket *next);

#endif

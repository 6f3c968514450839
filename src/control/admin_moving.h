/* SPDX-License-Identifier: MIT
 *
 * admin_moving.h - the configured admin socket during a reload: prepared, committed or undone, with words.
 *
 * The functions are those that a reload calls for the admin socket, with a struct admin_moving as `arg`. Main
 * thread.
 */
#ifndef WEIR_CONTROL_ADMIN_MOVING_H
#define WEIR_CONTROL_ADMIN_MOVING_H

#include <stddef.h>

#include "weir/admin/admin.h"
#include "weir/admin/admin_socket.h"

struct admin_moving {
	struct admin *admin;       /* borrows */
	struct admin_socket *now;  /* borrows: the configured socket of `admin` */
	struct admin_socket next;  /* owns between prepare and commit or undo */
};

/* Describes in one line the -errno of admin_socket_open(s, g) or of admin_prepare_socket(s, g, ...). */
void admin_moving_explain(const struct admin_socket *s, const struct config_global *g, int err, char *why,
			  size_t room);
/* 0; or -errno with `why`, and nothing has changed. Borrows `g` until another one has been committed. */
int admin_moving_prepare(void *arg, const struct config_global *g, char *why, size_t room);
void admin_moving_commit(void *arg);
void admin_moving_undo(void *arg);

#endif

/* SPDX-License-Identifier: MIT
 *
 * web_moving.h - the HTTP endpoint in this daemon: what it shows of other rooms, and its socket in a reload.
 *
 * The functions for a reload have a struct web_moving as `arg`. Main thread.
 */
#ifndef WEIR_CONTROL_WEB_MOVING_H
#define WEIR_CONTROL_WEB_MOVING_H

#include <stddef.h>

#include "weir/host/privileges.h"
#include "weir/web/web.h"

struct daemon;

struct web_moving {
	struct web *web;        /* borrows, as the next */
	const struct privileges *privileges;
	struct web_socket next; /* owns between prepare and commit or undo */
};

/* Serves d->web_socket, once the rest of admin_context is set. NULL with `*err`. */
struct web *web_moving_serve(struct daemon *d, int *err);
/* Describes in one line the -errno of web_socket_open(s, ...) or web_prepare_socket(..., s, ...). */
void web_moving_explain(const struct web_socket *s, const struct config_global *g, int err, char *why,
			size_t room);
/* 0; or -errno with `why`, and nothing has changed. Borrows `g` until another one has been committed. */
int web_moving_prepare(void *arg, const struct config_global *g, char *why, size_t room);
void web_moving_commit(void *arg);
void web_moving_undo(void *arg);

#endif

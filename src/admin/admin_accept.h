/* SPDX-License-Identifier: MIT
 *
 * admin_accept.h - newcomers at the admin socket: let in, refused, or at the cost of another.
 *
 * Who may come is the rule of admin_access.h, who goes that of admin_places.h. Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_ACCEPT_H
#define WEIR_ADMIN_ADMIN_ACCEPT_H

#include "admin_client.h"

/* Begins to accept at `a->socket`, for whoever this process is by now. */
void admin_accept_start(struct admin *a);
void admin_accept_stop(struct admin *a);
/* A client has gone: was it the last place, or the last descriptor? */
void admin_accept_again(struct admin *a);
/* Closes a client that loses its place to `peer`. One that has not asked anything is told so. */
void admin_accept_evict(struct client *c, const struct admin_peer *peer);

#endif

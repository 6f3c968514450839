/* SPDX-License-Identifier: MIT
 *
 * admin_accept.h - new connections to the admin socket: admitted, refused, or given the place of another.
 *
 * admin_access.h decides who is admitted, admin_places.h who has to leave. Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_ACCEPT_H
#define WEIR_ADMIN_ADMIN_ACCEPT_H

#include "admin_client.h"

/* Makes `d` the door of `socket` (borrowed until admin_accept_stop), and starts to accept unless that is
 * closed. Uses the process's current user to judge peers. */
void admin_accept_start(struct admin *a, struct admin_door *d, struct admin_socket *socket);
/* Harmless if there is nothing to accept from. */
void admin_accept_stop(struct admin_door *d);
/* Lets in those who already wait, as long as there are places; others are reset when the socket closes. */
void admin_accept_rest(struct admin_door *d);
/* A client has gone: resumes accepting if it was paused because there was no place or descriptor. */
void admin_accept_again(struct admin *a);
/* Closes a client that loses its place to `peer`. One that has not sent a request yet is told so. */
void admin_accept_evict(struct client *c, const struct admin_peer *peer);

#endif

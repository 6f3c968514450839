/* SPDX-License-Identifier: MIT
 *
 * choice.h - which server a session goes to now, and what happens when there is none.
 *
 * A worker's thread.
 */
#ifndef WEIR_ENGINE_CHOICE_H
#define WEIR_ENGINE_CHOICE_H

#include <stdbool.h>

struct server;
struct session;

/* Takes a place at a server, which the session owns from now on (server_leave()); not at `avoid` (NULL = any)
 * unless that is the only server. NULL: the session waits for a place, or is closing as `no-server`
 * demands. */
struct server *choice_take(struct session *s, const struct server *avoid);
/* The same at the session's last server, and at no other. */
struct server *choice_take_again(struct session *s);
/* May the session take the place at `server` that it was granted in the queue? A sticky client keeps this
 * server from then on. False: it is to choose again, as the server takes nobody by now, or the client has
 * another one. */
bool choice_holds(struct session *s, const struct server *server);
/* No line of use-backend matches, and there is no default: closes the session as `no-server` demands. There
 * is no queue to wait in, so `queue` closes it, too. */
void choice_of_nothing(struct session *s);

#endif

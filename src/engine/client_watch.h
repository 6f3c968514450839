/* SPDX-License-Identifier: MIT
 *
 * client_watch.h - watches the client until a server has answered: has it left?
 *
 * A worker's thread.
 */
#ifndef WEIR_ENGINE_CLIENT_WATCH_H
#define WEIR_ENGINE_CLIENT_WATCH_H

#include <stdbool.h>

struct session;

/* A client that resets while the session waits or connects, having sent nothing, ends the session; so does
 * one that sends FIN while the session waits. The session may be closing afterwards. */
void client_watch(struct session *s);
/* A client that has left and sent nothing needs no further try, and no place in a queue. */
bool client_watch_left(const struct session *s);

#endif

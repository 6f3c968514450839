/* SPDX-License-Identifier: MIT
 *
 * queueing.h - a session's place in the queue for a server. A worker's thread.
 */
#ifndef WEIR_ENGINE_QUEUEING_H
#define WEIR_ENGINE_QUEUEING_H

#include <stdbool.h>

struct server;
struct session;
struct worker;

/* Puts the session, whose wait has begun (queued_ns), into the queue for `server`, NULL = any of its backend.
 * `stuck`: its client keeps that server, drained or not. 0, or -errno: there is no room. */
int queueing_enter(struct session *s, struct server *server, bool stuck);
/* Releases a place that a session was granted and does not use. If the server has left meanwhile, control is
 * notified: this may have been all that it waited for. */
void queueing_give_back(struct worker *w, struct server *server);
/* Ends the wait, granted or not; harmless when it does not wait. */
void queueing_leave(struct session *s);
/* The session takes the place at `server`, or gives it back here. */
typedef void queueing_served(struct session *s, struct server *server);
/* The worker was notified that places were granted: passes them to `served`. */
void queueing_take(struct worker *w, queueing_served *served);

#endif

/* SPDX-License-Identifier: MIT
 *
 * queueing.h - a session's place in the queue for a server. A worker's thread.
 */
#ifndef WEIR_ENGINE_QUEUEING_H
#define WEIR_ENGINE_QUEUEING_H

struct server;
struct session;
struct worker;

/* Lets the session, whose wait has begun (queued_ns), stand in the queue for `server`, NULL = any of its
 * backend. 0, or -errno: there is no place. */
int queueing_enter(struct session *s, struct server *server);
/* Ends the wait, granted or not; harmless when it does not wait. */
void queueing_leave(struct session *s);
/* A place at `server` is the session's, or is given back by this. */
typedef void queueing_served(struct session *s, struct server *server);
/* The worker was told that places were given: takes them up. */
void queueing_take(struct worker *w, queueing_served *served);

#endif

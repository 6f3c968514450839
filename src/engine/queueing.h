/* SPDX-License-Identifier: MIT
 *
 * queueing.h - a session waits for a place at a server. A worker's thread.
 */
#ifndef WEIR_ENGINE_QUEUEING_H
#define WEIR_ENGINE_QUEUEING_H

struct server;
struct session;
struct worker;

/* Lets the session wait for `server`, NULL = any of its backend. The session may be closing afterwards. */
void queueing_wait(struct session *s, struct server *server);
/* Ends the wait, granted or not; harmless when it does not wait. */
void queueing_leave(struct session *s);
/* The worker was told that places were given: takes them up. */
void queueing_take(struct worker *w);

#endif

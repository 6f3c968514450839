/* SPDX-License-Identifier: MIT
 *
 * server_change.h - one change of a server, and the roster that follows from it.
 *
 * The implementation behind server_updates.h, which is its only caller: calling these functions directly
 * would bypass batching, slow start, retry and observers. Control thread.
 */
#ifndef WEIR_BALANCE_SERVER_CHANGE_H
#define WEIR_BALANCE_SERVER_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/balance/backend.h"
#include "weir/balance/server.h"

/* Each change returns 0, or -ENOMEM with nothing changed; each publishes a new roster of the backend if
 * necessary (later while backend_hold() is in effect, and then only one of the address needs memory), and
 * writes history and one log line if state, weight or limit change. `now_ns` is the monotonic clock; `cause`
 * is copied. */

/* Its name has this address (copied). */
int server_set_addr(struct server *s, const struct addr *a);
/* Gives the server an address (copied, NULL = none) for another reason. */
int server_move_to(struct server *s, const struct addr *a, const char *cause);
/* From health checks or observation: healthy or not. */
int server_set_health(struct server *s, bool healthy, const char *cause, int64_t now_ns);
/* Healthy, but to take no new connections until the next server_set_health(). */
int server_set_stopping(struct server *s, const char *cause, int64_t now_ns);
/* Its address has gone from its set, or is there again. */
int server_set_leaves(struct server *s, bool leaves, const char *cause, int64_t now_ns);
int server_set_admin(struct server *s, enum server_admin admin, const char *cause, int64_t now_ns);
/* 0..256; 0 takes no new connections, as drain does. */
int server_set_weight(struct server *s, unsigned weight, const char *cause, int64_t now_ns);
/* 0 = no limit. */
int server_set_maxconn(struct server *s, unsigned maxconn, const char *cause, int64_t now_ns);
/* What its agent has said. */
int server_set_agent(struct server *s, const struct server_agent *agent, const char *cause, int64_t now_ns);
/* Advances its slow start; returns when to call again (monotonic), or CLOCK_NEVER when it is over or there is
 * none (HAProxy: every max(1 s, slowstart / 20)). A slow start begins when the server leaves SERVER_DOWN or
 * SERVER_MAINT: call it then. */
int64_t server_slowstart_step(struct server *s, int64_t now_ns);

/* Puts settings in effect that are held for that. The backend must be held, so that no memory is needed. */
void server_apply_settings(struct server *s, struct server_settings *v);
/* The same after its backend got other settings. */
void server_apply_backend(struct server *s);

/* Begins a slow start, if it has one, of a server that has just come; its backend must be held. */
void server_begin_slowly(struct server *s);

/* Publishes a roster of the servers as they are now and serves waiting clients. 0, or -ENOMEM with the old
 * roster in place. */
int backend_refresh(struct backend *b);
/* From now on changes of its servers publish no roster until backend_release() publishes one for all of them:
 * a table takes milliseconds to build, and many servers change together. All other effects of a change are
 * visible at once. Harmless if it is held already. */
void backend_hold(struct backend *b);
/* Publishes the pending roster, if any, and ends the hold. 0, or -ENOMEM with the old roster in place, the
 * new one still pending and the backend still held: call it again. */
int backend_release(struct backend *b);

#endif

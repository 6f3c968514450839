/* SPDX-License-Identifier: MIT
 *
 * tallies.h - a worker's tallies, of each frontend, backend and server: which of them counts what.
 *
 * A worker adds to its own when a session begins, is tried again and ends. The bytes of live sessions are in
 * their flows: control asks for these by a walk and adds them (the room stats).
 */
#ifndef WEIR_ENGINE_TALLIES_H
#define WEIR_ENGINE_TALLIES_H

#include <stddef.h>
#include <stdint.h>

#include "weir/account/tally.h"

struct engine;
struct frontend;
struct log_limit;
struct server;
struct session;
struct worker;

/* How many a worker has, and which is whose. Any thread. */
size_t tally_count(const struct engine *e);
size_t tally_of_frontend(const struct engine *e, const struct frontend *fe);
size_t tally_of_backend(const struct engine *e, size_t backend);
size_t tally_of_server(const struct engine *e, size_t backend, const struct server *s);

/* The worker's side. */
/* Limits lines of the log about the session's server; one per worker, so that no server's failures hide those
 * of another. */
struct log_limit *tally_server_limit(const struct session *s);
/* A client of a frontend that never becomes a session. */
void tally_turned_away(struct worker *w, const struct frontend *fe);
/* The same as tally_server_limit(), of lines about clients that a frontend kept out. */
struct log_limit *tally_frontend_limit(struct worker *w, const struct frontend *fe);
void tally_session_began(const struct session *s);
/* It was admitted, and `s->backend` is the one that it goes to. */
void tally_backend_entered(struct session *s);
/* `sessions`: how many the server has with this one. */
void tally_server_entered(const struct session *s, int sessions);
void tally_retried(const struct session *s);
void tally_redispatched(const struct session *s);
/* The reason is set, and the flows have moved their last byte. */
void tally_session_ended(const struct session *s);
/* Begins a walk through the sessions of `w`, which adds up what they have moved. A session that ends after
 * its walk has seen it is late: its bytes are in the sum of this walk already, and are counted when the next
 * one begins. So at the end of a walk, and until the next, sum and tallies have each byte once; all that had
 * moved when the walk began are among them, and no later walk finds fewer. A walk comes to its end before
 * the next begins. The worker's thread, or any other one when the worker has ended. */
void tally_begin_walk(struct worker *w);
/* What all workers have counted of the one at `index`, without the bytes of live sessions. Any thread. */
void tally_sum_up(const struct engine *e, size_t index, int64_t now_ns, struct tally_sum *out);

#endif

/* SPDX-License-Identifier: MIT
 *
 * tallies.h - a worker's tallies, one per frontend, backend and server: what is counted in which.
 *
 * A worker adds to its own tallies when a session begins, is retried and ends. The bytes of live sessions are
 * in their flows: control asks for these in a walk and adds them (the room stats).
 */
#ifndef WEIR_ENGINE_TALLIES_H
#define WEIR_ENGINE_TALLIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/account/tally.h"

struct backend;
struct engine;
struct frontend;
struct live;
struct log_limit;
struct server;
struct session;
struct worker;

/* All tallies of a worker are at slots below this, each at the slot of its frontend, backend or server. Any
 * thread. */
uint32_t tally_count(const struct engine *e);

/* The worker's side. */
/* Limits log lines about the session's server; one limit per server and worker, so that the failures of one
 * server do not hide those of another. */
struct log_limit *server_line_limit(const struct session *s);
/* Counts a client of a frontend that never becomes a session, and why. */
void tally_turned_away(struct worker *w, const struct frontend *fe, enum close_reason why);
/* Like server_line_limit(), for lines about clients that a frontend kept out. */
struct log_limit *frontend_line_limit(struct worker *w, const struct frontend *fe);
void tally_session_began(const struct session *s);
/* The session was admitted, and goes to `s->backend`. */
void tally_backend_entered(struct session *s);
/* It leaves that backend for another, before it has tried a server: it does not end there. */
void tally_backend_left(struct session *s);
/* `sessions`: how many the server has, including this one. */
void tally_server_entered(const struct session *s, int sessions);
void tally_retried(const struct session *s);
void tally_redispatched(const struct session *s);
/* The reason must be set, and the flows must have moved their last byte. */
void tally_session_ended(const struct session *s);
/* Begins a walk through the sessions of `w`, which adds up the bytes they have moved. A session that ends
 * after the walk has visited it is late: the sum of this walk includes its bytes already, so they are counted
 * when the next walk begins. So at the end of a walk, and until the next, sum and tallies together have each
 * byte once. They include all bytes that had moved when the walk began, and no later walk finds fewer. A walk
 * must end before the next begins. The worker's thread, or any other once the worker has ended. */
void tally_begin_walk(struct worker *w);
/* MAIL_MAXIMA, MAIL_TIMES: maxima, or average times, of all tallies of `w` begin anew. */
void tally_forget(struct worker *w, bool maxima, bool times);
/* Maxima begin anew in all workers, with `times` the average times too; before they answer anything that is
 * asked later. A rate counts for the maximum if its second begins later. Control thread. */
void tally_begin_anew(struct engine *e, bool times, int64_t now_ns);
/* What all workers have counted in the tally at `slot`, without the bytes of live sessions. Any thread. */
void tally_sum_up(const struct engine *e, uint32_t slot, int64_t now_ns, struct tally_sum *out);

/* The sessions that are open in the tally at `slot`, of all workers. They count at the same time, and being
 * off by one does no harm. Any thread. */
uint64_t tally_sessions(const struct engine *e, uint32_t slot);

/* A server leaves, and workers are about to clear its tallies: what they have counted is kept under its
 * backend `owner`. For struct live. Control thread. */
void tally_keep(struct live *l, uint32_t slot, uint32_t owner);
/* What is kept of the servers that have left the backend at `slot`: all but the bytes is complete. Control
 * thread. */
const struct tally_sum *tally_kept(const struct engine *e, uint32_t slot);

#endif

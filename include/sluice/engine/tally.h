/* SPDX-License-Identifier: MIT
 *
 * tally.h - what a worker counts for each frontend and each server; nothing is done for an event.
 *
 * A worker adds to its own tallies when a session begins, is tried again and ends: one writer, relaxed,
 * so that control may read them at any time. The bytes of live sessions are in their flows: the worker
 * adds these when control asks. Floor 4.
 */
#ifndef SLUICE_ENGINE_TALLY_H
#define SLUICE_ENGINE_TALLY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct engine;
struct frontend;
struct server;
struct session;
struct worker;

/* Of one frontend or one server, in one worker. */
struct tally {
	_Atomic uint64_t bytes_to_server; /* of sessions that have ended */
	_Atomic uint64_t bytes_to_client;
	_Atomic uint64_t sessions;     /* of a frontend: live, in this worker */
	_Atomic uint64_t sessions_max; /* of all workers together, as this one saw them */
	_Atomic uint64_t retries;      /* after a failure of this server */
	_Atomic uint64_t redispatches; /* of these, to another server */
	_Atomic uint64_t client_aborts;
	_Atomic uint64_t server_aborts;
};

/* The same as plain numbers, live sessions included: the text of an answer is an array of these, in the
 * order of tally_of_frontend() and tally_of_server(). */
struct tally_sum {
	uint64_t bytes_to_server;
	uint64_t bytes_to_client;
	uint64_t sessions; /* of a frontend; a server has a count of its own */
	uint64_t sessions_max;
	uint64_t retries;
	uint64_t redispatches;
	uint64_t client_aborts;
	uint64_t server_aborts;
};

/* How many a worker has, and which is whose. Any thread. */
size_t tally_count(const struct engine *e);
size_t tally_of_frontend(const struct engine *e, const struct frontend *fe);
size_t tally_of_server(const struct engine *e, size_t backend, const struct server *s);

/* The worker's side. */
void tally_session_began(const struct session *s);
/* `sessions`: how many the server has with this one. */
void tally_server_entered(const struct session *s, int sessions);
void tally_retried(const struct session *s);
void tally_redispatched(const struct session *s);
/* The reason is set, and the flows have moved their last byte. */
void tally_session_ended(const struct session *s);
/* Fills `out`, tally_count() of them, with what worker `w` has counted, live sessions included. The
 * worker's thread. */
void tally_take(const struct worker *w, struct tally_sum *out);
/* The same without live sessions: all there is once the worker has ended. Any thread. */
void tally_take_ended(const struct worker *w, struct tally_sum *out);
/* Adds an answer's sums; sessions_max is the larger of both. Any thread. */
void tally_add(struct tally_sum *to, const struct tally_sum *from);

#endif

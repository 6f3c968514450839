/* SPDX-License-Identifier: MIT
 *
 * tally.h - what a worker counts for each frontend, backend and server; nothing is done for an event.
 *
 * A worker adds to its own tallies when a session begins, is tried again and ends: one writer, relaxed, so
 * that control may read them at any time. The bytes of live sessions are in their flows: control asks for
 * these by a walk and adds them (admin/stat_gather.h). Rates are HAProxy's: what began in the present
 * second, and of the one before the part that is less than a second ago.
 */
#ifndef WEIR_ENGINE_TALLY_H
#define WEIR_ENGINE_TALLY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct engine;
struct frontend;
struct log_limit;
struct server;
struct session;
struct worker;

/* A time is the average of so many sessions, as in HAProxy. */
#define TALLY_SAMPLES 1024u

/* What a session's life is made of; of sessions that were connected. */
enum tally_time { TALLY_QUEUE, TALLY_CONNECT, TALLY_TOTAL, TALLY_TIMES };

/* Of one frontend, backend or server, in one worker. */
struct tally {
	_Atomic uint64_t bytes_to_server; /* of sessions that have ended, but for the late ones */
	_Atomic uint64_t bytes_to_client;
	uint64_t late_to_server; /* see tally_begin_walk(); the worker's alone */
	uint64_t late_to_client;
	_Atomic uint64_t sessions;     /* of a frontend or backend: live, in this worker */
	_Atomic uint64_t sessions_max; /* of all workers together, as this one saw them */
	_Atomic uint64_t own_max;      /* of a backend: the most in this worker */
	_Atomic uint64_t total;        /* that began; of a server: tries */
	_Atomic uint64_t retries;      /* after a failure of this server */
	_Atomic uint64_t redispatches; /* of these, to another server */
	_Atomic uint64_t client_aborts;
	_Atomic uint64_t server_aborts;
	_Atomic uint64_t internal_errors; /* ended by a shortage of ours */
	/* What began in the last second and in the one before in which anything did: the second in the upper
	 * half, the count in the lower. Other workers read them for the maximum. */
	_Atomic uint64_t this_second;
	_Atomic uint64_t last_second;
	_Atomic uint64_t rate_max; /* in one second, of all workers together */
	_Atomic uint64_t last_ns;  /* when one began last; 0 = never */
	_Atomic uint64_t samples;  /* sessions that had times; the sums are of the last TALLY_SAMPLES */
	_Atomic uint64_t times_us[TALLY_TIMES];
	_Atomic uint64_t times_max_us[TALLY_TIMES];
};

/* The same as plain numbers, of all workers together; in `bytes_to_...` late ones are not. */
struct tally_sum {
	uint64_t bytes_to_server;
	uint64_t bytes_to_client;
	uint64_t sessions; /* of a frontend or backend; a server has a count of its own */
	uint64_t sessions_max;
	uint64_t total;
	uint64_t retries;
	uint64_t redispatches;
	uint64_t client_aborts;
	uint64_t server_aborts;
	uint64_t internal_errors;
	uint64_t rate; /* that began in the last second */
	uint64_t rate_max;
	uint64_t last_ns; /* monotonic; 0 = never */
	uint64_t samples; /* of how many sessions the sums of times are */
	uint64_t times_us[TALLY_TIMES];
	uint64_t times_max_us[TALLY_TIMES];
};

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
/* Adds another sum; of maxima and of the last time it keeps the larger. Any thread. */
void tally_add(struct tally_sum *to, const struct tally_sum *from);

/* The average of a time in microseconds; 0 without any session. Any thread. */
uint64_t tally_average_us(const struct tally_sum *sum, enum tally_time time);

#endif

/* SPDX-License-Identifier: MIT
 *
 * tally.h - what a worker counts for each frontend, backend and server; nothing is done for an event.
 *
 * A worker adds to its own tallies when a session begins, is tried again and ends: one writer, relaxed, so
 * that control may read them at any time. The bytes of live sessions are in their flows: control asks for
 * these by a walk and adds them (the room stats). Rates are HAProxy's: what began in the present
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

/* Of a row of tallies.tbl.h: what is kept of each kind; a rate is made of the two seconds. */
#define TALLY_FIELD_TOTAL(field) _Atomic uint64_t field;
#define TALLY_FIELD_GAUGE(field) _Atomic uint64_t field;
#define TALLY_FIELD_MAX(field)	 _Atomic uint64_t field;
#define TALLY_FIELD_RATE(field)

/* Of one frontend, backend or server, in one worker. In `bytes_to_...` are sessions that have ended, but for
 * the late ones. */
struct tally {
	/* What began in the last second and in the one before in which anything did: the second in the upper
	 * half, the count in the lower. Other workers read them for the maximum. */
	_Atomic uint64_t this_second;
	_Atomic uint64_t last_second;
#define TALLY(field, kind, unit, shown, column, metric, help) TALLY_FIELD_##kind(field)
#include "weir/engine/tallies.tbl.h"
#undef TALLY
	uint64_t late_to_server; /* see tally_begin_walk(); the worker's alone */
	uint64_t late_to_client;
	_Atomic uint64_t own_max; /* of a backend: the most in this worker */
	_Atomic uint64_t times_us[TALLY_TIMES]; /* of the last TALLY_SAMPLES */
	_Atomic uint64_t times_max_us[TALLY_TIMES];
};

/* The same as plain numbers, of all workers together; in `bytes_to_...` late ones are not. */
struct tally_sum {
#define TALLY(field, kind, unit, shown, column, metric, help) uint64_t field;
#include "weir/engine/tallies.tbl.h"
#undef TALLY
	uint64_t times_us[TALLY_TIMES];
	uint64_t times_max_us[TALLY_TIMES];
};

enum tally_kind { TALLY_KIND_TOTAL, TALLY_KIND_GAUGE, TALLY_KIND_MAX, TALLY_KIND_RATE };

/* Whose column of `show stat` it is as it stands: a mask, with the bits of that command's types. */
enum tally_shown {
	TALLY_SHOWN_NONE = 0,
	TALLY_SHOWN_F = 1,
	TALLY_SHOWN_B = 2,
	TALLY_SHOWN_S = 4,
	TALLY_SHOWN_BS = TALLY_SHOWN_B | TALLY_SHOWN_S,
	TALLY_SHOWN_FBS = TALLY_SHOWN_F | TALLY_SHOWN_BS,
};

/* What tallies.tbl.h says of one of them; all text is static. */
struct tally_row {
	const char *field;
	enum tally_kind kind;
	const char *unit;   /* one of few words: "sessions", "tries", "bytes", "ns" */
	const char *column; /* of `show stat`, or "none" */
	const char *metric;
	const char *help;
	size_t offset; /* in struct tally_sum; see tally_at() */
};

/* The row at `i`; NULL behind the last. Any thread. */
const struct tally_row *tally_row(size_t i);

/* The number at the offset of a row. */
static inline uint64_t tally_at(const struct tally_sum *sum, size_t offset)
{
	return *(const uint64_t *)(const void *)((const char *)sum + offset);
}

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

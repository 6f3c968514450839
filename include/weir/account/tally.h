/* SPDX-License-Identifier: MIT
 *
 * tally.h - what is counted of one frontend, backend or server; nothing is done for an event.
 *
 * One writer, a worker, which adds when a session begins, is tried again and ends; relaxed, so that anybody
 * may read at any time. Rates are HAProxy's: what began in the present second, and of the one before the part
 * that is less than a second ago. Whose tally a session is counted in, the engine says (tallies.h).
 */
#ifndef WEIR_ACCOUNT_TALLY_H
#define WEIR_ACCOUNT_TALLY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/account/close_reason.h"
#include "weir/base/clock.h"
#include "weir/base/counters.h"

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
#include "weir/account/tallies.tbl.h"
#undef TALLY
	uint64_t late_to_server; /* see tally_count_late(); the writer's alone */
	uint64_t late_to_client;
	_Atomic uint64_t own_max; /* of a backend: the most in this worker */
	_Atomic uint64_t times_us[TALLY_TIMES]; /* of the last TALLY_SAMPLES */
	_Atomic uint64_t times_max_us[TALLY_TIMES];
};

/* The same as plain numbers, of all workers together; in `bytes_to_...` late ones are not. */
struct tally_sum {
#define TALLY(field, kind, unit, shown, column, metric, help) uint64_t field;
#include "weir/account/tallies.tbl.h"
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

/* ---- the writer's side ---- */

static inline void tally_keep_max(_Atomic uint64_t *max, uint64_t value)
{
	if (value > counter_get(max))
		counter_set(max, value);
}

/* Counts one more that began at `now_ns`, not the first in its second. */
void tally_count_one(struct tally *t, int64_t now_ns);
/* Counts one more that began at `now_ns`, the first in its second. `most`: the count of all writers together
 * in the previous one, tally_second(). */
void tally_begin_second(struct tally *t, int64_t now_ns, uint64_t most);
/* A session ended for this reason: whether a side gave it up, or a shortage of ours. */
void tally_count_reason(struct tally *t, enum close_reason reason);
/* What it has moved. `late`: a sum has it already, so it is counted by the next tally_count_late(). */
void tally_count_bytes(struct tally *t, uint64_t to_server, uint64_t to_client, bool late);
void tally_count_late(struct tally *t);
/* What a session's life was made of, in microseconds; of one that was connected. */
void tally_count_times(struct tally *t, const uint64_t us[static TALLY_TIMES]);

/* ---- any thread ---- */

/* Where `now_ns` belongs. */
static inline uint64_t tally_second_at(int64_t now_ns)
{
	return (uint64_t)now_ns / NS_PER_SEC;
}

/* The second in which one began last. */
static inline uint64_t tally_second(const struct tally *t)
{
	return counter_get(&t->this_second) >> 32;
}

/* What began in `second`, if that is one of the two that are kept; else 0. */
uint64_t tally_count_in(const struct tally *t, uint64_t second);
/* All of it as plain numbers. */
void tally_take(const struct tally *t, int64_t now_ns, struct tally_sum *out);
/* Adds another sum; of maxima and of the last time it keeps the larger. */
void tally_add(struct tally_sum *to, const struct tally_sum *from);
/* The average of a time in microseconds; 0 without any session. */
uint64_t tally_average_us(const struct tally_sum *sum, enum tally_time time);

#endif

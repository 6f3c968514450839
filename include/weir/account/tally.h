/* SPDX-License-Identifier: MIT
 *
 * tally.h - what is counted for one frontend, backend or server; single events cost nothing.
 *
 * Only one worker writes a tally, when a session begins, is retried and ends. Accesses are relaxed, so any
 * thread may read at any time. Rates are HAProxy's: what began in the current second, plus the part of the
 * previous second that is less than a second ago. The engine decides whose tally a session is counted in
 * (tallies.h).
 */
#ifndef WEIR_ACCOUNT_TALLY_H
#define WEIR_ACCOUNT_TALLY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/account/close_reason.h"
#include "weir/account/limited_by.h"
#include "weir/base/clock.h"
#include "weir/base/counters.h"

/* A time is the average over this many sessions, as in HAProxy. */
#define TALLY_SAMPLES 1024u

/* The parts of a session's life, for sessions that were connected. */
enum tally_time { TALLY_QUEUE, TALLY_CONNECT, TALLY_TOTAL, TALLY_TIMES };

/* The fields for a row of tallies.tbl.h, by kind; a rate is computed from the two seconds. */
#define TALLY_FIELD_TOTAL(field) _Atomic uint64_t field;
#define TALLY_FIELD_GAUGE(field) _Atomic uint64_t field;
#define TALLY_FIELD_MAX(field)	 _Atomic uint64_t field;
#define TALLY_FIELD_RATE(field)

/* For one frontend, backend or server, in one worker. `bytes_to_...` cover sessions that have ended, except
 * late ones. */
struct tally {
	/* The starts in the latest second that had any, and in the one before it that had any: the second is
	 * in the upper half, the count in the lower. Other workers read them for the maximum. */
	_Atomic uint64_t this_second;
	_Atomic uint64_t last_second;
#define TALLY(field, kind, unit, shown, column, metric, help) TALLY_FIELD_##kind(field)
#include "weir/account/tallies.tbl.h"
#undef TALLY
	uint64_t late_to_server; /* see tally_count_late(); for the writer alone */
	uint64_t late_to_client;
	uint64_t late_spliced;
	_Atomic uint64_t closes[CLOSE_REASONS]; /* how many sessions ended for each reason */
	_Atomic uint64_t own_max; /* for a backend: the maximum in this worker */
	_Atomic uint64_t times_us[TALLY_TIMES]; /* over the last TALLY_SAMPLES */
	_Atomic uint64_t times_max_us[TALLY_TIMES];
};

/* The same as plain numbers, over all workers together; `bytes_to_...` do not cover late sessions. */
struct tally_sum {
#define TALLY(field, kind, unit, shown, column, metric, help) uint64_t field;
#include "weir/account/tallies.tbl.h"
#undef TALLY
	uint64_t times_us[TALLY_TIMES];
	uint64_t times_max_us[TALLY_TIMES];
	uint64_t closes[CLOSE_REASONS];
};

enum tally_kind { TALLY_KIND_TOTAL, TALLY_KIND_GAUGE, TALLY_KIND_MAX, TALLY_KIND_RATE };

/* Whose column of `show stat` shows the value unchanged: a mask of the bits of that command's types. */
enum tally_shown {
	TALLY_SHOWN_NONE = 0,
	TALLY_SHOWN_F = 1,
	TALLY_SHOWN_B = 2,
	TALLY_SHOWN_S = 4,
	TALLY_SHOWN_BS = TALLY_SHOWN_B | TALLY_SHOWN_S,
	TALLY_SHOWN_FBS = TALLY_SHOWN_F | TALLY_SHOWN_BS,
};

/* What tallies.tbl.h says about one value; all text is static. */
struct tally_row {
	const char *field;
	enum tally_kind kind;
	const char *unit;   /* one of a few words: "sessions", "tries", "bytes", "ns" */
	const char *column; /* in `show stat`, or "none" */
	const char *metric;
	const char *help;
	size_t offset; /* in struct tally_sum; see tally_at() */
};

/* The row at `i`; NULL past the last. Any thread. */
const struct tally_row *tally_row(size_t i);

/* The value at the offset of a row. */
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

/* Counts one more start, at `now_ns`, that is not the first in its second. */
void tally_count_one(struct tally *t, int64_t now_ns);
/* Counts one more start, at `now_ns`, that is the first in its second. `most`: the count of all writers
 * together in the previous one, tally_second(). */
void tally_begin_second(struct tally *t, int64_t now_ns, uint64_t most);
/* Counts a session's end for this reason, and whether a side aborted it, or we ran short. */
void tally_count_reason(struct tally *t, enum close_reason reason);
/* Counts who slowed it down; nothing for LIMITED_UNKNOWN. */
void tally_count_limit(struct tally *t, enum limited_by by);
/* Counts the bytes it moved. `late`: a sum has them already, so the next tally_count_late() counts them. */
void tally_count_bytes(struct tally *t, uint64_t to_server, uint64_t to_client, bool late);
/* The same for the part of them that splice moved. */
void tally_count_spliced(struct tally *t, uint64_t bytes, bool late);
void tally_count_late(struct tally *t);
/* Counts the time that a session waited in queues. */
void tally_count_wait(struct tally *t, uint64_t wait_ns);
/* Counts the parts of a session's life, in microseconds; only for a session that was connected. */
void tally_count_times(struct tally *t, const uint64_t us[static TALLY_TIMES]);

/* Makes all of it zero. */
void tally_clear(struct tally *t);
/* Maxima begin anew, except for the time of the last start. */
void tally_forget_maxima(struct tally *t);
/* Average times begin anew. */
void tally_forget_times(struct tally *t);

/* ---- any thread ---- */

/* The second that `now_ns` belongs to. */
static inline uint64_t tally_second_at(int64_t now_ns)
{
	return (uint64_t)now_ns / NS_PER_SEC;
}

/* The latest second in which anything began. */
static inline uint64_t tally_second(const struct tally *t)
{
	return counter_get(&t->this_second) >> 32;
}

/* How many began in `second`, if it is one of the two that are kept; else 0. */
uint64_t tally_count_in(const struct tally *t, uint64_t second);
/* Reads all of it as plain numbers. */
void tally_take(const struct tally *t, int64_t now_ns, struct tally_sum *out);
/* Adds another sum; for maxima and for the last time it keeps the larger value. */
void tally_add(struct tally_sum *to, const struct tally_sum *from);
/* Leaves of the totals what was counted since `base` was taken, of the last time what is later, and all else
 * as it is. */
void tally_subtract(struct tally_sum *from, const struct tally_sum *base);
/* Keeps the larger of the totals, and leaves all else as it is: what was reported before does not fall. */
void tally_keep_totals(struct tally_sum *to, const struct tally_sum *from);
/* Keeps the larger of the maxima, and leaves all else as it is. */
void tally_keep_maxima(struct tally_sum *to, const struct tally_sum *from);
/* The average of a time, in microseconds; 0 without any session. */
uint64_t tally_average_us(const struct tally_sum *sum, enum tally_time time);

#endif

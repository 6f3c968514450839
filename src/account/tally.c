/* SPDX-License-Identifier: MIT
 *
 * tally.c - what is counted for one frontend, backend or server: rates, times, and sums of them.
 *
 * Owns no memory. The writer's thread, except for functions that tally.h allows on any thread.
 */
#include "weir/account/tally.h"

#include "weir/base/check.h"

static const struct tally_row rows[] = {
#define TALLY(field, kind, unit, shown, column, metric, help)                                                \
	{#field, TALLY_KIND_##kind, unit, #column, metric, help, offsetof(struct tally_sum, field)},
#include "weir/account/tallies.tbl.h"
#undef TALLY
};

const struct tally_row *tally_row(size_t i)
{
	return i < ARRAY_LEN(rows) ? &rows[i] : NULL;
}

/* ---- rates ---- */

/* Reads the later of the two first: if that has moved on to the next second meanwhile, its old content is now
 * in the other one. */
uint64_t tally_count_in(const struct tally *t, uint64_t second)
{
	const uint64_t now = atomic_load_explicit(&t->this_second, memory_order_acquire);
	const uint64_t last = counter_get(&t->last_second);

	if (now >> 32 == second)
		return (uint32_t)now;
	return last >> 32 == second ? (uint32_t)last : 0;
}

static void count_total(struct tally *t, int64_t now_ns)
{
	counter_add(&t->total, 1);
	counter_set(&t->last_ns, (uint64_t)now_ns);
}

void tally_begin_second(struct tally *t, int64_t now_ns, uint64_t most)
{
	check(tally_second(t) != tally_second_at(now_ns));
	count_total(t, now_ns);
	tally_keep_max(&t->rate_max, most);
	counter_set(&t->last_second, counter_get(&t->this_second));
	/* One store, so that no reader sees a second in which nothing began. */
	atomic_store_explicit(&t->this_second, tally_second_at(now_ns) << 32 | 1, memory_order_release);
}

void tally_count_one(struct tally *t, int64_t now_ns)
{
	check(tally_second(t) == tally_second_at(now_ns));
	count_total(t, now_ns);
	counter_add(&t->this_second, 1);
}

static uint64_t rate(const struct tally *t, int64_t now_ns)
{
	const uint64_t second = tally_second_at(now_ns);
	const uint64_t left_ns = NS_PER_SEC - (uint64_t)now_ns % NS_PER_SEC;

	return tally_count_in(t, second) +
	       (tally_count_in(t, second - 1) * left_ns + NS_PER_SEC / 2) / NS_PER_SEC;
}

/* ---- sessions that ended ---- */

void tally_count_reason(struct tally *t, enum close_reason reason)
{
	check((unsigned)reason < CLOSE_REASONS);
	counter_add(&t->closes[reason], 1);
	switch (reason) {
	case CLOSE_CLIENT_GONE:
	case CLOSE_CLIENT_RESET:
	case CLOSE_CLIENT_LOST:
		counter_add(&t->client_aborts, 1);
		break;
	case CLOSE_SERVER_RESET:
	case CLOSE_SERVER_LOST:
		counter_add(&t->server_aborts, 1);
		break;
	case CLOSE_NO_RESOURCE:
	case CLOSE_NO_SOCKET:
	case CLOSE_RING_LOST:
	case CLOSE_INTERNAL:
		counter_add(&t->internal_errors, 1);
		break;
	case CLOSE_LIFETIME:
		counter_add(&t->lifetime_ends, 1);
		break;
	case CLOSE_REMOVED:
		counter_add(&t->removed_ends, 1);
		break;
	case CLOSE_DRAINED:
		counter_add(&t->drained_ends, 1);
		break;
	default:
		break;
	}
}

void tally_count_limit(struct tally *t, enum limited_by by)
{
	switch (by) {
#define LIMIT(name, word)                                                                                    \
	case LIMITED_##name:                                                                                 \
		counter_add(&t->limited_by_##word, 1);                                                       \
		break;
#include "weir/account/limits.tbl.h"
#undef LIMIT
	case LIMITED_UNKNOWN:
	case LIMITS:
		break;
	}
}

void tally_count_bytes(struct tally *t, uint64_t to_server, uint64_t to_client, bool late)
{
	if (unlikely(late)) {
		t->late_to_server += to_server;
		t->late_to_client += to_client;
		return;
	}
	counter_add(&t->bytes_to_server, to_server);
	counter_add(&t->bytes_to_client, to_client);
}

void tally_count_spliced(struct tally *t, uint64_t bytes, bool late)
{
	if (bytes == 0)
		return;
	if (unlikely(late))
		t->late_spliced += bytes;
	else
		counter_add(&t->bytes_spliced, bytes);
}

void tally_count_wait(struct tally *t, uint64_t wait_ns)
{
	counter_add(&t->queued, 1);
	counter_add(&t->queue_ns, wait_ns);
}

void tally_count_late(struct tally *t)
{
	if (likely((t->late_to_server | t->late_to_client | t->late_spliced) == 0))
		return; /* most sessions: their cache lines stay clean */
	counter_add(&t->bytes_spliced, t->late_spliced);
	t->late_spliced = 0;
	counter_add(&t->bytes_to_server, t->late_to_server);
	counter_add(&t->bytes_to_client, t->late_to_client);
	t->late_to_server = 0;
	t->late_to_client = 0;
}

/* HAProxy's swrate_add(): approximately the sum of the last TALLY_SAMPLES values. Until there are that many,
 * it is the sum of all. */
static void add_time(struct tally *t, enum tally_time time, uint64_t us, bool full)
{
	uint64_t sum = counter_get(&t->times_us[time]);

	if (full)
		sum -= (sum + TALLY_SAMPLES - 1) / TALLY_SAMPLES;
	counter_set(&t->times_us[time], sum + us);
	tally_keep_max(&t->times_max_us[time], us);
}

void tally_count_times(struct tally *t, const uint64_t us[static TALLY_TIMES])
{
	const bool full = counter_get(&t->samples) >= TALLY_SAMPLES;

	for (unsigned i = 0; i < TALLY_TIMES; i++)
		add_time(t, (enum tally_time)i, us[i], full);
	if (!full)
		counter_add(&t->samples, 1);
}

#define CLEAR_TOTAL(field) counter_set(&t->field, 0);
#define CLEAR_GAUGE(field) counter_set(&t->field, 0);
#define CLEAR_MAX(field)   counter_set(&t->field, 0);
#define CLEAR_RATE(field)

void tally_clear(struct tally *t)
{
	counter_set(&t->this_second, 0);
	counter_set(&t->last_second, 0);
#define TALLY(field, kind, unit, shown, column, metric, help) CLEAR_##kind(field)
#include "weir/account/tallies.tbl.h"
#undef TALLY
	t->late_to_server = 0;
	t->late_to_client = 0;
	t->late_spliced = 0;
	for (unsigned i = 0; i < CLOSE_REASONS; i++)
		counter_set(&t->closes[i], 0);
	counter_set(&t->own_max, 0);
	for (unsigned i = 0; i < TALLY_TIMES; i++) {
		counter_set(&t->times_us[i], 0);
		counter_set(&t->times_max_us[i], 0);
	}
}

#define FORGET_TOTAL(field)
#define FORGET_GAUGE(field)
#define FORGET_MAX(field)                                                                                    \
	if (offsetof(struct tally, field) != offsetof(struct tally, last_ns))                                \
		counter_set(&t->field, 0);
#define FORGET_RATE(field)

void tally_forget_maxima(struct tally *t)
{
#define TALLY(field, kind, unit, shown, column, metric, help) FORGET_##kind(field)
#include "weir/account/tallies.tbl.h"
#undef TALLY
	counter_set(&t->own_max, 0);
	for (unsigned i = 0; i < TALLY_TIMES; i++)
		counter_set(&t->times_max_us[i], 0);
}

void tally_forget_times(struct tally *t)
{
	counter_set(&t->samples, 0);
	for (unsigned i = 0; i < TALLY_TIMES; i++)
		counter_set(&t->times_us[i], 0);
}

/* ---- sums ---- */

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

#define TAKE_TOTAL(field) counter_get(&t->field)
#define TAKE_GAUGE(field) counter_get(&t->field)
#define TAKE_MAX(field)	  counter_get(&t->field)
#define TAKE_RATE(field)  rate(t, now_ns)

void tally_take(const struct tally *t, int64_t now_ns, struct tally_sum *out)
{
	*out = (struct tally_sum){
#define TALLY(field, kind, unit, shown, column, metric, help) .field = TAKE_##kind(field),
#include "weir/account/tallies.tbl.h"
#undef TALLY
	};
	for (unsigned i = 0; i < TALLY_TIMES; i++) {
		out->times_us[i] = counter_get(&t->times_us[i]);
		out->times_max_us[i] = counter_get(&t->times_max_us[i]);
	}
	for (unsigned i = 0; i < CLOSE_REASONS; i++)
		out->closes[i] = counter_get(&t->closes[i]);
}

#define JOIN_TOTAL(a, b) ((a) + (b))
#define JOIN_GAUGE(a, b) ((a) + (b))
#define JOIN_MAX(a, b)	 larger(a, b)
#define JOIN_RATE(a, b)	 ((a) + (b))

void tally_add(struct tally_sum *to, const struct tally_sum *from)
{
#define TALLY(field, kind, unit, shown, column, metric, help) to->field = JOIN_##kind(to->field, from->field);
#include "weir/account/tallies.tbl.h"
#undef TALLY
	for (unsigned i = 0; i < TALLY_TIMES; i++) {
		to->times_us[i] += from->times_us[i];
		to->times_max_us[i] = larger(to->times_max_us[i], from->times_max_us[i]);
	}
	for (unsigned i = 0; i < CLOSE_REASONS; i++)
		to->closes[i] += from->closes[i];
}

/* A count that began anew, as with another health check, is below its base. */
static uint64_t since(uint64_t now, uint64_t base)
{
	return now >= base ? now - base : now;
}

#define SINCE_TOTAL(now, base) since(now, base)
#define SINCE_GAUGE(now, base) (now)
#define SINCE_MAX(now, base)   (now)
#define SINCE_RATE(now, base)  (now)

void tally_subtract(struct tally_sum *from, const struct tally_sum *base)
{
#define TALLY(field, kind, unit, shown, column, metric, help)                                                \
	from->field = SINCE_##kind(from->field, base->field);
#include "weir/account/tallies.tbl.h"
#undef TALLY
	for (unsigned i = 0; i < CLOSE_REASONS; i++)
		from->closes[i] = since(from->closes[i], base->closes[i]);
	if (from->last_ns <= base->last_ns)
		from->last_ns = 0;
}

#define GROWN_TOTAL(to, from) larger(to, from)
#define GROWN_GAUGE(to, from) (to)
#define GROWN_MAX(to, from)   (to)
#define GROWN_RATE(to, from)  (to)

void tally_keep_totals(struct tally_sum *to, const struct tally_sum *from)
{
#define TALLY(field, kind, unit, shown, column, metric, help)                                                \
	to->field = GROWN_##kind(to->field, from->field);
#include "weir/account/tallies.tbl.h"
#undef TALLY
	for (unsigned i = 0; i < CLOSE_REASONS; i++)
		to->closes[i] = larger(to->closes[i], from->closes[i]);
}

#define KEEP_TOTAL(to, from) (to)
#define KEEP_GAUGE(to, from) (to)
#define KEEP_MAX(to, from)   larger(to, from)
#define KEEP_RATE(to, from)  (to)

void tally_keep_maxima(struct tally_sum *to, const struct tally_sum *from)
{
#define TALLY(field, kind, unit, shown, column, metric, help) to->field = KEEP_##kind(to->field, from->field);
#include "weir/account/tallies.tbl.h"
#undef TALLY
	for (unsigned i = 0; i < TALLY_TIMES; i++)
		to->times_max_us[i] = larger(to->times_max_us[i], from->times_max_us[i]);
}

uint64_t tally_average_us(const struct tally_sum *sum, enum tally_time time)
{
	return sum->samples > 0 ? sum->times_us[time] / sum->samples : 0;
}

/* SPDX-License-Identifier: MIT
 *
 * tally.c - what a worker counts for each frontend, backend and server; nothing is done for an event.
 *
 * Owns no memory: the array is the worker's, which alone writes it. A worker's thread, but for the sums and
 * the rows of tallies.tbl.h.
 */
#include "weir/engine/tally.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "extra.h"
#include "payload.h"
#include "session.h"
#include "worker.h"

static const struct tally_row rows[] = {
#define TALLY(field, kind, unit, shown, column, metric, help)                                                \
	{#field, TALLY_KIND_##kind, unit, #column, metric, help, offsetof(struct tally_sum, field)},
#include "weir/engine/tallies.tbl.h"
#undef TALLY
};

const struct tally_row *tally_row(size_t i)
{
	return i < ARRAY_LEN(rows) ? &rows[i] : NULL;
}

size_t tally_count(const struct engine *e)
{
	return e->tally_count;
}

size_t tally_of_frontend(const struct engine *e, const struct frontend *fe)
{
	return (size_t)(fe - e->frontends);
}

/* A backend, then its servers. */
size_t tally_of_backend(const struct engine *e, size_t backend)
{
	return e->first_tally[backend];
}

size_t tally_of_server(const struct engine *e, size_t backend, const struct server *s)
{
	return e->first_tally[backend] + 1 + s->index;
}

static size_t frontend_index(const struct session *s)
{
	return tally_of_frontend(s->worker->engine, s->endpoint->frontend);
}

static size_t backend_index(const struct session *s)
{
	const struct engine *e = s->worker->engine;

	return tally_of_backend(e, (size_t)(s->backend - e->backends));
}

static size_t server_index(const struct session *s)
{
	const struct engine *e = s->worker->engine;

	return tally_of_server(e, (size_t)(s->backend - e->backends), s->server);
}

struct log_limit *tally_server_limit(const struct session *s)
{
	return &s->worker->line_limits[server_index(s)];
}

struct log_limit *tally_frontend_limit(struct worker *w, const struct frontend *fe)
{
	return &w->line_limits[tally_of_frontend(w->engine, fe)];
}

static void keep_max(_Atomic uint64_t *max, uint64_t value)
{
	if (value > counter_get(max))
		counter_set(max, value);
}

/* ---- rates ---- */

/* What began in `second`, by one worker's count. The later of its two is read first: when it is one second
 * further on, what was in its place is in the other. */
static uint64_t count_in(const struct tally *t, uint64_t second)
{
	const uint64_t now = atomic_load_explicit(&t->this_second, memory_order_acquire);
	const uint64_t last = counter_get(&t->last_second);

	if (now >> 32 == second)
		return (uint32_t)now;
	return last >> 32 == second ? (uint32_t)last : 0;
}

static uint64_t count_of_all(const struct engine *e, size_t index, uint64_t second)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < e->worker_count; i++)
		if (e->workers[i] != NULL)
			sum += count_in(&e->workers[i]->tallies[index], second);
	return sum;
}

static uint64_t second_of(const struct tally *t)
{
	return counter_get(&t->this_second) >> 32;
}

/* The worker that leaves a second last sees what all have counted in it. */
static void begin_second(const struct engine *e, size_t index, struct tally *t, uint64_t second)
{
	keep_max(&t->rate_max, count_of_all(e, index, second_of(t)));
	counter_set(&t->last_second, counter_get(&t->this_second));
	atomic_store_explicit(&t->this_second, second << 32 | 1, memory_order_release);
}

/* One more began. */
static void count_one(struct worker *w, size_t index)
{
	struct tally *t = &w->tallies[index];
	const uint64_t now_ns = (uint64_t)w->loop.now_ns;
	const uint64_t second = now_ns / NS_PER_SEC;

	counter_add(&t->total, 1);
	counter_set(&t->last_ns, now_ns);
	if (likely(counter_get(&t->this_second) >> 32 == second))
		counter_add(&t->this_second, 1);
	else
		begin_second(w->engine, index, t, second);
}

static uint64_t rate(const struct tally *t, int64_t now_ns)
{
	const uint64_t second = (uint64_t)now_ns / NS_PER_SEC;
	const uint64_t left_ns = NS_PER_SEC - (uint64_t)now_ns % NS_PER_SEC;

	return count_in(t, second) + (count_in(t, second - 1) * left_ns + NS_PER_SEC / 2) / NS_PER_SEC;
}

/* ---- sessions ---- */

/* Other workers count at the same time: one more or less is no lie. */
static uint64_t live_sessions(const struct engine *e, size_t index)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < e->worker_count; i++)
		if (e->workers[i] != NULL)
			sum += counter_get(&e->workers[i]->tallies[index].sessions);
	return sum;
}

void tally_turned_away(struct worker *w, const struct frontend *fe)
{
	count_one(w, tally_of_frontend(w->engine, fe));
}

void tally_session_began(const struct session *s)
{
	const struct frontend *fe = s->endpoint->frontend;
	const size_t index = frontend_index(s);
	struct tally *t = &s->worker->tallies[index];

	count_one(s->worker, index);
	counter_add(&t->sessions, 1);
	/* Places that listeners have reserved are in this count too, so the other workers' counts are looked
	 * at only when there may be a new maximum. (Who waits in SESSION_HELD, for a moment, is not.) */
	if ((uint64_t)atomic_load_explicit(&fe->sessions, memory_order_relaxed) >
	    counter_get(&t->sessions_max))
		keep_max(&t->sessions_max, live_sessions(s->worker->engine, index));
}

void tally_backend_entered(struct session *s)
{
	const size_t index = backend_index(s);
	struct tally *t = &s->worker->tallies[index];

	check(!s->backend_counted);
	s->backend_counted = true;
	count_one(s->worker, index);
	counter_add(&t->sessions, 1);
	/* The other workers' counts are looked at only when this one's stands higher than it ever did, so
	 * that with several workers the maximum may be a little too small. */
	if (counter_get(&t->sessions) > counter_get(&t->own_max)) {
		counter_set(&t->own_max, counter_get(&t->sessions));
		keep_max(&t->sessions_max, live_sessions(s->worker->engine, index));
	}
}

void tally_server_entered(const struct session *s, int sessions)
{
	check(sessions > 0);
	count_one(s->worker, server_index(s));
	keep_max(&s->worker->tallies[server_index(s)].sessions_max, (uint64_t)sessions);
}

void tally_retried(const struct session *s)
{
	counter_add(&s->worker->tallies[server_index(s)].retries, 1);
}

void tally_redispatched(const struct session *s)
{
	counter_add(&s->worker->tallies[server_index(s)].redispatches, 1);
}

static void count_bytes(const struct session *s, struct tally *t)
{
	const uint64_t to_server = payload_to_server(s);
	const uint64_t to_client = s->flows[FLOW_TO_CLIENT].bytes_out;

	if (unlikely(s->sum_mark != 0) && s->sum_mark == s->worker->sum_mark) {
		t->late_to_server += to_server;
		t->late_to_client += to_client;
		return;
	}
	counter_add(&t->bytes_to_server, to_server);
	counter_add(&t->bytes_to_client, to_client);
}

static void count_end(const struct session *s, struct tally *t)
{
	count_bytes(s, t);
	switch ((enum close_reason)s->reason) {
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
	default:
		break;
	}
}

/* HAProxy's swrate_add(): a sum of the last TALLY_SAMPLES values, about. Until there are so many it is the
 * sum of all. */
static void add_time(struct tally *t, enum tally_time time, uint64_t us, bool full)
{
	uint64_t sum = counter_get(&t->times_us[time]);

	if (full)
		sum -= (sum + TALLY_SAMPLES - 1) / TALLY_SAMPLES;
	counter_set(&t->times_us[time], sum + us);
	keep_max(&t->times_max_us[time], us);
}

static void add_times(struct tally *t, const uint64_t us[static TALLY_TIMES])
{
	const bool full = counter_get(&t->samples) >= TALLY_SAMPLES;

	for (unsigned i = 0; i < TALLY_TIMES; i++)
		add_time(t, (enum tally_time)i, us[i], full);
	if (!full)
		counter_add(&t->samples, 1);
}

static void count_times(const struct session *s, struct tally *backend, struct tally *server)
{
	const uint64_t queue_us = s->extra != NULL ? s->extra->wait_ns / NS_PER_US : 0;
	const uint64_t us[TALLY_TIMES] = {
		[TALLY_QUEUE] = queue_us,
		[TALLY_CONNECT] = s->connect_us - 1,
		[TALLY_TOTAL] = (uint64_t)(s->worker->loop.now_ns - s->accepted_ns) / NS_PER_US,
	};

	add_times(backend, us);
	add_times(server, us);
}

static void backend_ended(const struct session *s)
{
	struct tally *backend = &s->worker->tallies[backend_index(s)];
	struct tally *server;

	count_end(s, backend);
	counter_set(&backend->sessions, counter_get(&backend->sessions) - 1);
	if (s->server == NULL)
		return;
	server = &s->worker->tallies[server_index(s)];
	count_end(s, server);
	if (s->connect_us > 0)
		count_times(s, backend, server);
}

void tally_session_ended(const struct session *s)
{
	struct tally *t = &s->worker->tallies[frontend_index(s)];

	count_end(s, t);
	counter_set(&t->sessions, counter_get(&t->sessions) - 1);
	if (s->backend_counted)
		backend_ended(s);
}

/* ---- sums ---- */

void tally_begin_walk(struct worker *w)
{
	w->sum_mark = w->sum_mark == 1 ? 2 : 1;
	for (size_t i = 0; i < w->engine->tally_count; i++) {
		struct tally *t = &w->tallies[i];

		if (likely((t->late_to_server | t->late_to_client) == 0))
			continue; /* most: their cache lines stay clean */
		counter_add(&t->bytes_to_server, t->late_to_server);
		counter_add(&t->bytes_to_client, t->late_to_client);
		t->late_to_server = 0;
		t->late_to_client = 0;
	}
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

#define TAKE_TOTAL(field) counter_get(&t->field)
#define TAKE_GAUGE(field) counter_get(&t->field)
#define TAKE_MAX(field)	  counter_get(&t->field)
#define TAKE_RATE(field)  rate(t, now_ns)

static void take(const struct tally *t, int64_t now_ns, struct tally_sum *out)
{
	*out = (struct tally_sum){
#define TALLY(field, kind, unit, shown, column, metric, help) .field = TAKE_##kind(field),
#include "weir/engine/tallies.tbl.h"
#undef TALLY
	};
	for (unsigned i = 0; i < TALLY_TIMES; i++) {
		out->times_us[i] = counter_get(&t->times_us[i]);
		out->times_max_us[i] = counter_get(&t->times_max_us[i]);
	}
}

void tally_sum_up(const struct engine *e, size_t index, int64_t now_ns, struct tally_sum *out)
{
	uint64_t second = 0;
	struct tally_sum one;

	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < e->worker_count; i++) {
		const struct tally *t = &e->workers[i]->tallies[index];

		take(t, now_ns, &one);
		/* Perhaps no worker has left this second yet; mostly it is the same one for all. */
		if (second_of(t) != second)
			one.rate_max = larger(one.rate_max, count_of_all(e, index, second_of(t)));
		second = second_of(t);
		tally_add(out, &one);
	}
}

#define JOIN_TOTAL(a, b) ((a) + (b))
#define JOIN_GAUGE(a, b) ((a) + (b))
#define JOIN_MAX(a, b)	 larger(a, b)
#define JOIN_RATE(a, b)	 ((a) + (b))

void tally_add(struct tally_sum *to, const struct tally_sum *from)
{
#define TALLY(field, kind, unit, shown, column, metric, help) to->field = JOIN_##kind(to->field, from->field);
#include "weir/engine/tallies.tbl.h"
#undef TALLY
	for (unsigned i = 0; i < TALLY_TIMES; i++) {
		to->times_us[i] += from->times_us[i];
		to->times_max_us[i] = larger(to->times_max_us[i], from->times_max_us[i]);
	}
}

uint64_t tally_average_us(const struct tally_sum *sum, enum tally_time time)
{
	return sum->samples > 0 ? sum->times_us[time] / sum->samples : 0;
}

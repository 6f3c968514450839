/* SPDX-License-Identifier: MIT
 *
 * tallies.c - a worker's tallies, one per frontend, backend and server: what is counted in which.
 *
 * Owns no memory: the array belongs to the worker, the only writer. A worker's thread, except for the sums.
 */
#include "weir/engine/tallies.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/engine/histograms.h"
#include "extra.h"
#include "payload.h"
#include "session.h"
#include "worker.h"

uint32_t tally_count(const struct engine *e)
{
	return slot_space_peak(&e->live.objects);
}

static struct tally *tally_at_slot(const struct worker *w, uint32_t slot)
{
	return chunks_at(&w->tallies, slot);
}

struct log_limit *server_line_limit(const struct session *s)
{
	return chunks_at(&s->worker->line_limits, s->at->server->slot);
}

struct log_limit *frontend_line_limit(struct worker *w, const struct frontend *fe)
{
	return chunks_at(&w->line_limits, fe->slot);
}

/* ---- what all workers have counted ---- */

static uint64_t count_of_all(const struct engine *e, uint32_t slot, uint64_t second)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < e->worker_count; i++)
		if (e->workers[i] != NULL)
			sum += tally_count_in(tally_at_slot(e->workers[i], slot), second);
	return sum;
}

/* What counts for the maximum of the rate. */
static uint64_t rate_in(const struct engine *e, uint32_t slot, uint64_t second)
{
	if (second <= atomic_load_explicit(&e->rates_since, memory_order_relaxed))
		return 0;
	return count_of_all(e, slot, second);
}

/* Counts one more start. The worker that leaves a second last sees what all have counted in it. */
static void count_one(struct worker *w, uint32_t slot)
{
	const int64_t now_ns = w->loop.now_ns;
	struct tally *t = tally_at_slot(w, slot);

	if (unlikely(tally_second(t) != tally_second_at(now_ns)))
		tally_begin_second(t, now_ns, rate_in(w->engine, slot, tally_second(t)));
	else
		tally_count_one(t, now_ns);
}

/* ---- sessions ---- */

uint64_t tally_sessions(const struct engine *e, uint32_t slot)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < e->worker_count; i++)
		if (e->workers[i] != NULL)
			sum += counter_get(&tally_at_slot(e->workers[i], slot)->sessions);
	return sum;
}

static void count_close(struct worker *w, enum close_reason why)
{
	counter_add(&w->closes[why], 1);
	recent_add(&w->closes_lately[why], w->loop.now_ns);
}

void tally_turned_away(struct worker *w, const struct frontend *fe, enum close_reason why)
{
	count_one(w, fe->slot);
	count_close(w, why);
	tally_count_reason(tally_at_slot(w, fe->slot), why);
}

void tally_session_began(const struct session *s)
{
	const struct frontend *fe = s->entry->frontend;
	const uint32_t slot = s->entry->frontend->slot;
	struct tally *t = tally_at_slot(s->worker, slot);

	count_one(s->worker, slot);
	counter_add(&t->sessions, 1);
	/* This count includes slots that listeners have reserved, so the other workers' counts are read only
	 * when there may be a new maximum. (It does not include clients that wait in SESSION_HELD, for a
	 * moment.) */
	if ((uint64_t)atomic_load_explicit(&fe->sessions, memory_order_relaxed) >
	    counter_get(&t->sessions_max))
		tally_keep_max(&t->sessions_max, tally_sessions(s->worker->engine, slot));
}

void tally_backend_entered(struct session *s)
{
	const uint32_t slot = s->back->backend->slot;
	struct tally *t = tally_at_slot(s->worker, slot);

	check(!s->backend_counted);
	s->backend_counted = true;
	count_one(s->worker, slot);
	counter_add(&t->sessions, 1);
	/* The other workers' counts are read only when this worker's count is higher than ever before, so
	 * with several workers the maximum may be a little too low. */
	if (counter_get(&t->sessions) > counter_get(&t->own_max)) {
		counter_set(&t->own_max, counter_get(&t->sessions));
		tally_keep_max(&t->sessions_max, tally_sessions(s->worker->engine, slot));
	}
}

void tally_backend_left(struct session *s)
{
	struct tally *t = tally_at_slot(s->worker, s->back->backend->slot);

	check(s->backend_counted);
	check(counter_get(&t->sessions) > 0);
	s->backend_counted = false;
	counter_set(&t->sessions, counter_get(&t->sessions) - 1);
}

void tally_server_entered(const struct session *s, int sessions)
{
	check(sessions > 0);
	count_one(s->worker, s->at->server->slot);
	tally_keep_max(&tally_at_slot(s->worker, s->at->server->slot)->sessions_max, (uint64_t)sessions);
}

void tally_retried(const struct session *s)
{
	counter_add(&tally_at_slot(s->worker, s->at->server->slot)->retries, 1);
}

void tally_redispatched(const struct session *s)
{
	counter_add(&tally_at_slot(s->worker, s->at->server->slot)->redispatches, 1);
}

static void count_end(const struct session *s, struct tally *t)
{
	const bool late = s->sum_mark != 0 && s->sum_mark == s->worker->sum_mark;

	tally_count_bytes(t, payload_to_server(s), s->flows[FLOW_TO_CLIENT].bytes_out, late);
	tally_count_spliced(t, payload_spliced(s), late);
	tally_count_reason(t, (enum close_reason)s->reason);
	if (unlikely(s->limited_by != LIMITED_UNKNOWN))
		tally_count_limit(t, (enum limited_by)s->limited_by);
}

static void count_times(const struct session *s, struct tally *backend, struct tally *server)
{
	const uint64_t queue_us = s->extra != NULL ? s->extra->wait_ns / NS_PER_US : 0;
	const uint64_t us[TALLY_TIMES] = {
		[TALLY_QUEUE] = queue_us,
		[TALLY_CONNECT] = s->connect_us - 1,
		[TALLY_TOTAL] = (uint64_t)(s->worker->loop.now_ns - s->accepted_ns) / NS_PER_US,
	};

	tally_count_times(backend, us);
	tally_count_times(server, us);
}

static void backend_ended(const struct session *s)
{
	struct tally *backend = tally_at_slot(s->worker, s->back->backend->slot);
	struct tally *server;

	count_end(s, backend);
	counter_set(&backend->sessions, counter_get(&backend->sessions) - 1);
	if (s->extra != NULL && s->extra->queued_ns > 0)
		tally_count_wait(backend, s->extra->wait_ns);
	if (s->at == NULL)
		return;
	server = tally_at_slot(s->worker, s->at->server->slot);
	count_end(s, server);
	if (s->extra != NULL && s->extra->queued_ns > 0)
		tally_count_wait(server, s->extra->wait_ns);
	if (s->connect_us > 0)
		count_times(s, backend, server);
}

void tally_session_ended(const struct session *s)
{
	struct tally *t = tally_at_slot(s->worker, s->entry->frontend->slot);

	count_close(s->worker, (enum close_reason)s->reason);
	if (unlikely(s->limited_by != LIMITED_UNKNOWN))
		recent_add(&s->worker->limits_lately[s->limited_by], s->worker->loop.now_ns);
	count_end(s, t);
	counter_set(&t->sessions, counter_get(&t->sessions) - 1);
	if (s->extra != NULL && s->extra->queued_ns > 0)
		tally_count_wait(t, s->extra->wait_ns);
	if (s->backend_counted)
		backend_ended(s);
	if (unlikely(atomic_load_explicit(&s->worker->engine->histograms, memory_order_relaxed) !=
		     HISTOGRAMS_NONE))
		histograms_session_ended(s);
}

/* ---- sums ---- */

void tally_begin_walk(struct worker *w)
{
	w->sum_mark = w->sum_mark == 1 ? 2 : 1;
	for (uint32_t i = 0; i < tally_count(w->engine) && chunks_has(&w->tallies, i); i++)
		tally_count_late(tally_at_slot(w, i));
}

void tally_forget(struct worker *w, bool maxima, bool times)
{
	for (uint32_t i = 0; i < tally_count(w->engine) && chunks_has(&w->tallies, i); i++) {
		if (maxima)
			tally_forget_maxima(tally_at_slot(w, i));
		if (times)
			tally_forget_times(tally_at_slot(w, i));
	}
}

void tally_sum_up(const struct engine *e, uint32_t slot, int64_t now_ns, struct tally_sum *out)
{
	uint64_t second = 0, most = 0;
	struct tally_sum one;

	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < e->worker_count; i++) {
		const struct tally *t = tally_at_slot(e->workers[i], slot);

		tally_take(t, now_ns, &one);
		/* Perhaps no worker has left this second yet; usually it is the same second for all. */
		if (tally_second(t) != second)
			most = rate_in(e, slot, tally_second(t));
		one.rate_max = one.rate_max > most ? one.rate_max : most;
		second = tally_second(t);
		tally_add(out, &one);
	}
}

void tally_keep(struct live *l, uint32_t slot, uint32_t owner)
{
	struct engine *e = container_of(l, struct engine, live);
	struct tally_sum sum;

	tally_sum_up(e, slot, clock_mono_ns(), &sum);
	sum.rate = 0; /* of a moment that passes */
	tally_add(chunks_at(&e->kept, owner), &sum);
}

const struct tally_sum *tally_kept(const struct engine *e, uint32_t slot)
{
	return chunks_at(&e->kept, slot);
}

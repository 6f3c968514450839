/* SPDX-License-Identifier: MIT
 *
 * tally.c - what a worker counts for each frontend and each server; nothing is done for an event.
 *
 * Owns no memory: the array is the worker's. A session is counted when it ends, so a session that
 * tally_take() finds in a list has not been counted yet, and none is counted twice. A worker's thread.
 * Floor 4.
 */
#include "sluice/engine/tally.h"

#include <string.h>

#include "sluice/base/check.h"
#include "sluice/engine/handshake.h"
#include "sluice/engine/session.h"
#include "sluice/engine/worker.h"

size_t tally_count(const struct engine *e)
{
	return e->tally_count;
}

size_t tally_of_frontend(const struct engine *e, const struct frontend *fe)
{
	return (size_t)(fe - e->frontends);
}

size_t tally_of_server(const struct engine *e, size_t backend, const struct server *s)
{
	return e->first_tally[backend] + s->index;
}

static size_t frontend_index(const struct session *s)
{
	return tally_of_frontend(s->worker->engine, s->endpoint->frontend);
}

static size_t server_index(const struct session *s)
{
	const struct engine *e = s->worker->engine;

	return tally_of_server(e, (size_t)(s->backend - e->backends), s->server);
}

static void keep_max(_Atomic uint64_t *max, uint64_t sessions)
{
	if (sessions > counter_get(max))
		counter_set(max, sessions);
}

/* Other workers count at the same time: one more or less is no lie. */
static uint64_t live_sessions(const struct engine *e, size_t frontend)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < e->worker_count; i++)
		if (e->workers[i] != NULL)
			sum += counter_get(&e->workers[i]->tallies[frontend].sessions);
	return sum;
}

void tally_session_began(const struct session *s)
{
	const struct frontend *fe = s->endpoint->frontend;
	const size_t index = frontend_index(s);
	struct tally *t = &s->worker->tallies[index];

	counter_add(&t->sessions, 1);
	/* Places that listeners have reserved are in this count too. So it is never too small, and the other
	 * workers' counts are looked at only when there may be a new maximum. */
	if ((uint64_t)atomic_load_explicit(&fe->sessions, memory_order_relaxed) >
	    counter_get(&t->sessions_max))
		keep_max(&t->sessions_max, live_sessions(s->worker->engine, index));
}

void tally_server_entered(const struct session *s, int sessions)
{
	check(sessions > 0);
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

static void count_end(const struct session *s, struct tally *t)
{
	counter_add(&t->bytes_to_server, handshake_payload(s));
	counter_add(&t->bytes_to_client, s->flows[FLOW_TO_CLIENT].bytes_out);
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
	default:
		break;
	}
}

void tally_session_ended(const struct session *s)
{
	struct tally *t = &s->worker->tallies[frontend_index(s)];

	count_end(s, t);
	counter_set(&t->sessions, counter_get(&t->sessions) - 1);
	if (s->server != NULL)
		count_end(s, &s->worker->tallies[server_index(s)]);
}

static void add_live(const struct session *s, struct tally_sum *to)
{
	to->bytes_to_server += handshake_payload(s);
	to->bytes_to_client += s->flows[FLOW_TO_CLIENT].bytes_out;
}

static void add_list(const struct list *sessions, struct tally_sum *out)
{
	for (const struct list *pos = sessions->next; pos != sessions; pos = pos->next) {
		const struct session *s = list_entry(pos, struct session, link);

		add_live(s, &out[frontend_index(s)]);
		if (s->server != NULL)
			add_live(s, &out[server_index(s)]);
	}
}

void tally_take_ended(const struct worker *w, struct tally_sum *out)
{
	for (size_t i = 0; i < w->engine->tally_count; i++) {
		const struct tally *t = &w->tallies[i];

		out[i] = (struct tally_sum){
			.bytes_to_server = counter_get(&t->bytes_to_server),
			.bytes_to_client = counter_get(&t->bytes_to_client),
			.sessions = counter_get(&t->sessions),
			.sessions_max = counter_get(&t->sessions_max),
			.retries = counter_get(&t->retries),
			.redispatches = counter_get(&t->redispatches),
			.client_aborts = counter_get(&t->client_aborts),
			.server_aborts = counter_get(&t->server_aborts),
		};
	}
}

void tally_take(const struct worker *w, struct tally_sum *out)
{
	tally_take_ended(w, out);
	add_list(&w->live, out);
	add_list(&w->closing, out);
	add_list(&w->waiting, out);
}

void tally_add(struct tally_sum *to, const struct tally_sum *from)
{
	to->bytes_to_server += from->bytes_to_server;
	to->bytes_to_client += from->bytes_to_client;
	to->sessions += from->sessions;
	if (from->sessions_max > to->sessions_max)
		to->sessions_max = from->sessions_max;
	to->retries += from->retries;
	to->redispatches += from->redispatches;
	to->client_aborts += from->client_aborts;
	to->server_aborts += from->server_aborts;
}

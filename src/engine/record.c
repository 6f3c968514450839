/* SPDX-License-Identifier: MIT
 *
 * record.c - what a worker reports about its sessions: to the log when one ends, to `show sess` while it
 * lives.
 *
 * Each session that was let in gets a line. Of clients that were not, a few per second get one and the others
 * are counted (log_causes.tbl.h), so that no stranger can fill the log. `log-sample` leaves out sessions that
 * ended well, `log-empty` those whose client sent nothing. A worker's thread.
 */
#include "record.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "weir/account/session_record.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/hash.h"
#include "weir/base/log.h"
#include "weir/engine/tallies.h"
#include "extra.h"
#include "failing.h"
#include "payload.h"
#include "server_port.h"
#include "session.h"
#include "worker.h"

/* For clients that were not let in: per worker, frontend and cause. */
#define REFUSALS_PER_SECOND 8

static enum log_cause cause_of(enum close_reason why)
{
	switch (why) {
	case CLOSE_DENIED:
	case CLOSE_DENIED_UID:
	case CLOSE_PROXY_UNTRUSTED:
		return LOG_CAUSE_DENIED;
	case CLOSE_SOURCE_LIMIT:
		return LOG_CAUSE_SOURCE_LIMIT;
	case CLOSE_SOURCE_RATE:
		return LOG_CAUSE_SOURCE_RATE;
	case CLOSE_NO_RESOURCE:
	case CLOSE_RING_LOST:
		return LOG_CAUSE_SHORTAGE;
	default:
		return LOG_CAUSE_HANDSHAKE; /* whatever else ends before it is let in */
	}
}

/* There are LOG_LIMIT_KEYS such causes, so that none hides the first line of another. */
static bool may_tell_refusal(struct worker *w, const struct frontend *fe, enum close_reason why)
{
	const enum log_cause cause = cause_of(why);

	return log_limit_ok(frontend_line_limit(w, fe), cause, cause, w->loop.now_ns, REFUSALS_PER_SECOND);
}

/* The client still has its places of maxconn, and is no longer in the tally of its backend. */
static void take_counts(struct session_record *r, struct worker *w, const struct frontend *fe,
			const struct backend *b)
{
	r->process_sessions = (uint32_t)atomic_load_explicit(&w->engine->sessions, memory_order_relaxed);
	r->frontend_sessions = (uint32_t)atomic_load_explicit(&fe->sessions, memory_order_relaxed);
	r->backend_sessions = (uint32_t)tally_sessions(w->engine, b->slot);
}

static uint32_t others_at_server(const struct session *s)
{
	if (s->at == NULL)
		return 0;
	return (uint32_t)(atomic_load_explicit(&s->at->server->sessions, memory_order_relaxed) -
			  (s->server_counted ? 1 : 0));
}

/* Where a client would go is not known before it is let in, if there is no default. */
static const struct config_backend nowhere = {.name = "-"};

void record_turned_away(struct worker *w, const struct endpoint_settings *entry,
			const struct addr_brief *client, enum close_reason why)
{
	const uint32_t number = w->next_number++;
	struct session_record r;

	failing_turned_away(w, entry, client, why, number);
	if (!log_wants(LOG_LEVEL_INFO) || !may_tell_refusal(w, entry->frontend, why))
		return;
	memset(&r, 0, offsetof(struct session_record, tail));
	r.frontend = entry->front->config;
	r.backend = entry->front->config->routes_only ? &nowhere :
		    backend_settings(entry->front->backend)->config;
	r.client = *client;
	r.queue_ns = -1;
	r.connect_ns = -1;
	r.worker = w->index;
	r.number = number;
	r.bind = entry->endpoint->number;
	if (unlikely(log_wants_counts()))
		take_counts(&r, w, entry->frontend, entry->front->backend);
	r.reason = (uint8_t)why;
	r.state = SESSION_ACCEPTED;
	session_record_log(&r);
}

static const struct config_backend *known_backend(const struct session *s)
{
	return s->entry->front->config->routes_only && !s->backend_counted ? &nowhere : s->back->config;
}

/* Is this session among those of `log-sample`? Those that chance chooses stand for the others. */
static bool is_sampled(const struct session *s, uint32_t *stands_for)
{
	const unsigned share = s->entry->front->config->log_sample;

	*stands_for = 1;
	if (likely(share <= 1) || close_reason_row((enum close_reason)s->reason)->is_error || s->tries > 1)
		return true;
	*stands_for = share;
	return share != UINT_MAX && hash_nth(s->worker->index, s->number) % share == 0;
}

/* What is logged of the name that the client asked for. */
static void note_name(struct session_record *r, const struct session_name *n)
{
	r->has_sni = n->from_hello || n->len > 0;
	r->sni_len = n->len;
	if (n->len > 0)
		memcpy(session_record_sni(r), session_name_text(n), n->len);
}

/* Where a client went who chose the server by its name; after the name. */
static void note_found(struct session_record *r, const struct session *s)
{
	const struct addr_brief found = server_port_found(s);

	if (likely(found.family == 0))
		return;
	r->found_len = found.family == AF_INET ? 4 : 16;
	memcpy(session_record_found(r), found.ip, r->found_len);
}

static void note_queue(struct session_record *r, const struct session_extra *x)
{
	if (x == NULL || x->queued_ns == 0)
		return;
	r->queue_ns = (int64_t)x->wait_ns;
	r->before = x->waiter.before;
	r->queued_at_server = x->waiter.at_server;
}

void record_session_end(const struct session *s)
{
	const int64_t now_ns = s->worker->loop.now_ns;
	struct session_record r;
	uint32_t sample;

	if (unlikely(s->empty)) {
		counter_add(&s->worker->counters.empty_sessions, 1);
		return;
	}
	if (!log_wants(LOG_LEVEL_INFO) || !is_sampled(s, &sample))
		return;
	if (unlikely(!s->backend_counted) &&
	    !may_tell_refusal(s->worker, s->entry->frontend, (enum close_reason)s->reason))
		return;
	memset(&r, 0, offsetof(struct session_record, tail));
	r.frontend = s->entry->front->config;
	r.backend = known_backend(s);
	r.server = s->at != NULL ? s->at->config : NULL;
	r.address = s->at != NULL ? &s->at->addr : NULL;
	r.server_port = server_port_last(s);
	r.client = s->client;
	r.bytes_to_server = payload_to_server(s);
	r.bytes_to_client = s->flows[FLOW_TO_CLIENT].bytes_out;
	r.bytes_spliced = payload_spliced(s);
	r.unacked_in = s->unacked[SIDE_SERVER];
	r.unacked_out = s->unacked[SIDE_CLIENT];
	r.queue_ns = -1;
	note_queue(&r, s->extra);
	r.connect_ns = s->connect_us > 0 ? (int64_t)(s->connect_us - 1) * NS_PER_US : -1;
	r.duration_ns = now_ns - s->accepted_ns;
	r.worker = s->worker->index;
	r.number = s->number;
	r.sample = sample;
	r.bind = s->entry->endpoint->number;
	if (unlikely(log_wants_counts())) {
		take_counts(&r, s->worker, s->entry->frontend, s->back->backend);
		r.server_sessions = others_at_server(s);
	}
	r.limited_by = s->limited_by;
	r.tries = s->tries;
	r.redispatched = s->redispatched;
	r.is_server_late = s->server_late;
	r.reason = s->reason;
	r.state = s->log_state;
	r.proto = s->extra != NULL ? s->extra->proto : 0;
	if (s->extra != NULL && s->extra->unique_id_len > 0) {
		r.unique_id_len = s->extra->unique_id_len;
		memcpy(r.tail, s->extra->unique_id, r.unique_id_len);
	}
	if (s->extra != NULL)
		note_name(&r, &s->extra->name);
	note_found(&r, s);
	session_record_log(&r);
}

void record_take(const struct session *s, struct session_facts *out)
{
	const struct session_extra *x = s->extra;

	check(s->state != SESSION_FREE);
	memcpy(out->frontend, s->entry->front->config->name, sizeof(out->frontend));
	memcpy(out->backend, known_backend(s)->name, sizeof(out->backend));
	out->frontend_slot = s->entry->frontend->slot;
	out->backend_slot = s->back->backend->slot;
	out->server[0] = '\0';
	if (s->at != NULL) {
		memcpy(out->server, s->at->config->name, sizeof(out->server));
		out->server_slot = s->at->server->slot;
		out->address = server_port_shown(s);
	}
	out->bytes_to_server = payload_to_server(s);
	out->bytes_to_client = s->flows[FLOW_TO_CLIENT].bytes_out;
	out->age_ns = s->worker->loop.now_ns - s->accepted_ns;
	out->client = s->client;
	out->worker = s->worker->index;
	out->number = s->number;
	out->entry = s->entry->endpoint->slot;
	out->entry_is_unix = s->entry->config->addr.kind == ADDR_UNIX;
	out->fds[SIDE_CLIENT] = s->sides[SIDE_CLIENT].sock.fd;
	out->fds[SIDE_SERVER] = s->sides[SIDE_SERVER].sock.fd;
	for (int i = 0; i < 2; i++) {
		out->held[i] = flow_held(&s->flows[i]);
		out->flow_state[i] = s->flows[i].state;
	}
	out->state = s->state;
	out->tries = s->tries;
	out->pipes = (uint8_t)((s->flows[0].pipe != NULL) + (s->flows[1].pipe != NULL));
	out->backend_counted = s->backend_counted;
	out->detailed = false;
	out->unique_id_len = x != NULL ? x->unique_id_len : 0;
	if (out->unique_id_len > 0)
		memcpy(out->unique_id, x->unique_id, out->unique_id_len);
	out->has_sni = x != NULL && (x->name.from_hello || x->name.len > 0);
	out->sni_len = x != NULL ? x->name.len : 0;
	out->proto = x != NULL ? x->proto : 0;
	if (out->sni_len > 0)
		memcpy(out->sni, session_name_text(&x->name), out->sni_len);
}

void record_take_detail(const struct session *s, struct session_facts *out)
{
	const int64_t now_ns = s->worker->loop.now_ns;
	const int64_t since_ns = s->last_ns > 0 ? s->last_ns : s->accepted_ns;

	out->detailed = true;
	out->idle_ns = now_ns > since_ns ? now_ns - since_ns : 0;
	out->left_ns = -1;
	if (s->fixed_ns > now_ns && s->fixed_ns != CLOCK_NEVER)
		out->left_ns = s->fixed_ns - now_ns;
	for (int i = 0; i < 2; i++) {
		out->tcp[i] = (struct tcp_facts){0};
		if (s->sides[i].sock.fd >= 0)
			tcp_facts_take(s->sides[i].sock.fd, &out->tcp[i]);
	}
}

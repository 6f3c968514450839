/* SPDX-License-Identifier: MIT
 *
 * record.c - a session as a line of text: in the log when it ends, in `show sess` while it lives.
 *
 * The worker copies a small record; text is made by the reader of the log, so that a line costs the
 * worker no formatting. Each session that was let in has a line. Of clients that were not, a few in a second
 * have one and the others are counted (log_causes.tbl.h), so that no stranger fills the log. A field has one
 * name, in text, JSON and `show sess` (log_fields.h). Names are borrowed from the configuration, which
 * outlives the log.
 */
#include "weir/engine/record.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/log.h"
#include "weir/base/log_fields.h"
#include "extra.h"
#include "payload.h"
#include "session.h"
#include "worker.h"

/* Of those who were not let in: of one worker, for each frontend and cause. */
#define REFUSALS_PER_SECOND 8

#define TIME_TEXT_MAX	   32
#define REASON_MAX	   64
#define UNIQUE_ID_TEXT_MAX (4 * PROXY_UNIQUE_ID_MAX + 1)
#define REST_TEXT_MAX	   (UNIQUE_ID_TEXT_MAX + 64)

struct session_record {
	const struct config_frontend *frontend; /* borrows */
	const struct config_backend *backend;   /* borrows */
	const struct config_server *server;     /* borrows; NULL when none was tried */
	const struct addr *address;             /* borrows; the server's, published for ever */
	struct addr_brief client;
	uint64_t bytes_in;
	uint64_t bytes_out;
	uint64_t bytes_spliced;
	uint32_t unacked[2]; /* of each side, when its socket was closed */
	int64_t queue_ns;   /* -1 = never waited in a queue */
	int64_t connect_ns; /* -1 = never connected */
	int64_t duration_ns;
	uint32_t worker;
	uint32_t number;
	uint32_t before; /* how many waited in the queue when it came */
	uint8_t tries;
	uint8_t reason;
	char code[2];
	uint8_t unique_id_len; /* 0 = none */
	/* The last: only what is used of it goes into the log. */
	uint8_t unique_id[PROXY_UNIQUE_ID_MAX];
};

static const char *const state_words[] = {
	[SESSION_FREE] = "free",
	[SESSION_ACCEPTED] = "accepted",
	[SESSION_HANDSHAKE] = "handshake",
	[SESSION_HELD] = "held",
	[SESSION_QUEUED] = "queued",
	[SESSION_CONNECTING] = "connecting",
	[SESSION_WAITING] = "waiting",
	[SESSION_FORWARDING] = "forwarding",
	[SESSION_CLOSING] = "closing",
};

static const char *const flow_words[] = {
	[FLOW_IDLE] = "idle", [FLOW_OPEN] = "open", [FLOW_ENDED] = "ended",
	[FLOW_BROKEN] = "broken", [FLOW_DONE] = "done", [FLOW_DEAD] = "dead",
};

static const struct addr *server_addr(const struct server *server)
{
	return server != NULL ? atomic_load_explicit(&server->addr, memory_order_acquire) : NULL;
}

static size_t record_bytes(const struct session_record *r)
{
	return offsetof(struct session_record, unique_id) + r->unique_id_len;
}

static double ms(int64_t ns)
{
	return ns < 0 ? -1.0 : (double)ns / (double)NS_PER_MS;
}

static double seconds(int64_t ns)
{
	return (double)ns / (double)NS_PER_SEC;
}

static char state_letter(enum session_state state)
{
	switch (state) {
	case SESSION_QUEUED:
		return 'Q';
	case SESSION_FORWARDING:
		return 'D';
	default:
		return 'C';
	}
}

/* HAProxy's two letters: what ended it, and the state that it was in. */
static void set_code(struct session_record *r, enum session_state state)
{
	const struct close_reason_row *row = close_reason_row((enum close_reason)r->reason);

	r->code[0] = row->letter1;
	r->code[1] = row->letter2 != 0 ? row->letter2 : state_letter(state);
}

/* Whatever a client's header brought is one word, and the same one wherever it is shown. */
static const char *unique_id_word(const uint8_t *id, size_t len, char buf[static UNIQUE_ID_TEXT_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		const bool plain = id[i] > ' ' && id[i] < 127 && id[i] != '"' && id[i] != '\\';

		n += (size_t)snprintf(buf + n, UNIQUE_ID_TEXT_MAX - n, plain ? "%c" : "\\x%02x", id[i]);
	}
	buf[n] = '\0';
	return buf;
}

/* "-" for a time that there is not. */
static const char *seconds_text(int64_t ns, char buf[static TIME_TEXT_MAX])
{
	(void)snprintf(buf, TIME_TEXT_MAX, ns < 0 ? "-" : "%.6f", seconds(ns)); /* always fits */
	return buf;
}

/* "SERVER_RESET" as "server_reset". */
static const char *reason_word(const struct close_reason_row *row, char buf[static REASON_MAX])
{
	size_t n = 0;

	for (; row->name[n] != '\0' && n < REASON_MAX - 1; n++)
		buf[n] = row->name[n] >= 'A' && row->name[n] <= 'Z' ? (char)(row->name[n] + 'a' - 'A')
								    : row->name[n];
	buf[n] = '\0';
	return buf;
}

static bool has_unacked(const struct session_record *r)
{
	return (r->unacked[SIDE_CLIENT] | r->unacked[SIDE_SERVER]) != 0;
}

/* What few sessions have: behind everything else. */
static const char *rest_text(const struct session_record *r, char buf[static REST_TEXT_MAX])
{
	char id[UNIQUE_ID_TEXT_MAX];
	int n = 0;

	buf[0] = '\0';
	if (has_unacked(r))
		n = snprintf(buf, REST_TEXT_MAX, " unacked_in=%u unacked_out=%u", r->unacked[SIDE_SERVER],
			     r->unacked[SIDE_CLIENT]);
	if (r->unique_id_len > 0)
		(void)snprintf(buf + n, REST_TEXT_MAX - (size_t)n, " unique_id=%s",
			       unique_id_word(r->unique_id, r->unique_id_len, id)); /* always fits */
	return buf;
}

static size_t format_end_text(const struct session_record *r, char *out, size_t room)
{
	const struct close_reason_row *row = close_reason_row((enum close_reason)r->reason);
	char client[ADDR_TEXT_MAX], server[ADDR_TEXT_MAX], queue_s[TIME_TEXT_MAX], connect_s[TIME_TEXT_MAX];
	char queue[16] = "-", reason[REASON_MAX], rest[REST_TEXT_MAX];
	int n;

	if (r->queue_ns >= 0)
		(void)snprintf(queue, sizeof(queue), "%u", r->before); /* always fits */
	n = snprintf(out, room,
		     "session client=%s frontend=%s backend=%s server=%s server_address=%s bytes_in=%llu "
		     "bytes_out=%llu bytes_spliced=%llu queue=%s queue_s=%s connect_s=%s duration_s=%.6f "
		     "tries=%u ts_code=%c%c reason=%s reason_text=\"%s\" id=%u.%u%s",
		     addr_brief_format(&r->client, client), r->frontend->name, r->backend->name,
		     r->server ? r->server->name : "-", r->address ? addr_format(r->address, server) : "-",
		     (unsigned long long)r->bytes_in, (unsigned long long)r->bytes_out,
		     (unsigned long long)r->bytes_spliced, queue, seconds_text(r->queue_ns, queue_s),
		     seconds_text(r->connect_ns, connect_s), seconds(r->duration_ns), r->tries, r->code[0],
		     r->code[1], reason_word(row, reason), row->words, r->worker, r->number,
		     rest_text(r, rest));
	if (n < 0)
		return 0;
	return (size_t)n < room ? (size_t)n : room - 1;
}

/* The members that log_fields.h promises. */
static size_t format_end_json(const struct session_record *r, char *out, size_t room)
{
	const struct close_reason_row *row = close_reason_row((enum close_reason)r->reason);
	char text[ADDR_TEXT_MAX], word[UNIQUE_ID_TEXT_MAX];
	struct log_fields f;

	log_fields_init(&f, out, room);
	log_fields_text(&f, "event", "session");
	log_fields_text(&f, "frontend", r->frontend->name);
	log_fields_text(&f, "backend", r->backend->name);
	if (r->server != NULL)
		log_fields_text(&f, "server", r->server->name);
	if (r->client.family != 0)
		log_fields_text(&f, "client", addr_brief_format(&r->client, text));
	if (r->address != NULL)
		log_fields_text(&f, "server_address", addr_format(r->address, text));
	log_fields_number(&f, "duration_s", "%.6f", seconds(r->duration_ns));
	if (r->queue_ns >= 0) {
		log_fields_number(&f, "queue_s", "%.6f", seconds(r->queue_ns));
		log_fields_number(&f, "queue", "%u", r->before);
	}
	if (r->connect_ns >= 0)
		log_fields_number(&f, "connect_s", "%.6f", seconds(r->connect_ns));
	log_fields_number(&f, "bytes_in", "%llu", (unsigned long long)r->bytes_in);
	log_fields_number(&f, "bytes_out", "%llu", (unsigned long long)r->bytes_out);
	log_fields_number(&f, "bytes_spliced", "%llu", (unsigned long long)r->bytes_spliced);
	if (has_unacked(r)) {
		log_fields_number(&f, "unacked_in", "%u", r->unacked[SIDE_SERVER]);
		log_fields_number(&f, "unacked_out", "%u", r->unacked[SIDE_CLIENT]);
	}
	log_fields_number(&f, "tries", "%u", r->tries);
	log_fields_text(&f, "reason", reason_word(row, word));
	log_fields_text(&f, "reason_text", row->words);
	log_fields_bytes(&f, "ts_code", r->code, sizeof(r->code));
	log_fields_number(&f, "worker", "%u", r->worker);
	(void)snprintf(text, sizeof(text), "%u.%u", r->worker, r->number); /* always fits */
	log_fields_text(&f, "id", text);
	if (r->unique_id_len > 0)
		log_fields_text(&f, "unique_id", unique_id_word(r->unique_id, r->unique_id_len, word));
	return f.text.len;
}

static size_t format_end(enum log_style style, const void *body, size_t len, char *out, size_t room)
{
	struct session_record r;

	check(len >= offsetof(struct session_record, unique_id));
	check(len <= sizeof(r));
	memcpy(&r, body, len);
	check(len == record_bytes(&r));
	return style == LOG_STYLE_JSON ? format_end_json(&r, out, room) : format_end_text(&r, out, room);
}

static enum log_cause cause_of(enum close_reason why)
{
	switch (why) {
	case CLOSE_DENIED:
	case CLOSE_DENIED_UID:
	case CLOSE_PROXY_UNTRUSTED:
		return LOG_CAUSE_DENIED;
	case CLOSE_SOURCE_LIMIT:
		return LOG_CAUSE_SOURCE_LIMIT;
	case CLOSE_NO_RESOURCE:
	case CLOSE_RING_LOST:
		return LOG_CAUSE_SHORTAGE;
	default:
		return LOG_CAUSE_HANDSHAKE; /* what else ends before it is let in */
	}
}

/* These are LOG_LIMIT_KEYS causes, so that none hides the first line of another. */
static bool may_tell_refusal(struct worker *w, const struct frontend *fe, enum close_reason why)
{
	const enum log_cause cause = cause_of(why);

	return log_limit_ok(tally_frontend_limit(w, fe), cause, cause, w->loop.now_ns, REFUSALS_PER_SECOND);
}

void record_turned_away(struct worker *w, const struct endpoint *ep, const struct addr_brief *client,
			enum close_reason why)
{
	const uint32_t number = w->next_number++;
	struct session_record r;

	if (!log_wants(LOG_LEVEL_INFO) || !may_tell_refusal(w, ep->frontend, why))
		return;
	memset(&r, 0, sizeof(r));
	r.frontend = ep->frontend->config;
	r.backend = ep->frontend->backend->config;
	r.client = *client;
	r.queue_ns = -1;
	r.connect_ns = -1;
	r.worker = w->index;
	r.number = number;
	r.reason = (uint8_t)why;
	set_code(&r, SESSION_ACCEPTED);
	log_record(LOG_LEVEL_INFO, format_end, &r, record_bytes(&r));
}

void record_session_end(const struct session *s)
{
	const int64_t now_ns = s->worker->loop.now_ns;
	struct session_record r;

	if (!log_wants(LOG_LEVEL_INFO))
		return;
	if (unlikely(!s->backend_counted) &&
	    !may_tell_refusal(s->worker, s->endpoint->frontend, (enum close_reason)s->reason))
		return;
	memset(&r, 0, sizeof(r));
	r.frontend = s->endpoint->frontend->config;
	r.backend = s->backend->config;
	r.server = s->server ? s->server->config : NULL;
	r.address = server_addr(s->server);
	r.client = s->client;
	r.bytes_in = payload_to_server(s);
	r.bytes_out = s->flows[FLOW_TO_CLIENT].bytes_out;
	r.bytes_spliced = s->flows[FLOW_TO_SERVER].bytes_spliced + s->flows[FLOW_TO_CLIENT].bytes_spliced;
	memcpy(r.unacked, s->unacked, sizeof(r.unacked));
	r.queue_ns = -1;
	if (s->extra != NULL && s->extra->queued_ns > 0) {
		r.queue_ns = (int64_t)s->extra->wait_ns;
		r.before = s->extra->waiter.before;
	}
	r.connect_ns = s->connect_us > 0 ? (int64_t)(s->connect_us - 1) * NS_PER_US : -1;
	r.duration_ns = now_ns - s->accepted_ns;
	r.worker = s->worker->index;
	r.number = s->number;
	r.tries = s->tries;
	r.reason = s->reason;
	set_code(&r, (enum session_state)s->log_state);
	if (s->extra != NULL && s->extra->unique_id_len > 0) {
		r.unique_id_len = s->extra->unique_id_len;
		memcpy(r.unique_id, s->extra->unique_id, r.unique_id_len);
	}
	log_record(LOG_LEVEL_INFO, format_end, &r, record_bytes(&r));
}

void record_take(const struct session *s, struct session_facts *out)
{
	const struct session_extra *x = s->extra;

	check(s->state != SESSION_FREE);
	out->frontend = s->endpoint->frontend;
	out->backend = s->backend;
	out->server = s->server;
	out->bytes_in = payload_to_server(s);
	out->bytes_out = s->flows[FLOW_TO_CLIENT].bytes_out;
	out->age_ns = s->worker->loop.now_ns - s->accepted_ns;
	out->client = s->client;
	out->worker = s->worker->index;
	out->number = s->number;
	for (int i = 0; i < 2; i++) {
		out->held[i] = flow_held(&s->flows[i]);
		out->flow_state[i] = s->flows[i].state;
	}
	out->state = s->state;
	out->tries = s->tries;
	out->pipes = (uint8_t)((s->flows[0].pipe != NULL) + (s->flows[1].pipe != NULL));
	out->backend_counted = s->backend_counted;
	out->unique_id_len = x != NULL ? x->unique_id_len : 0;
	if (out->unique_id_len > 0)
		memcpy(out->unique_id, x->unique_id, out->unique_id_len);
}

/* Where the fields of a living session go: as " key=value", or as members of an object. */
struct fields {
	struct text *text; /* borrows; NULL = `json` */
	struct json *json; /* borrows */
};

static void put(const struct fields *to, const char *key, const char *value)
{
	const size_t len = strlen(value);

	if (to->text == NULL) {
		json_word(to->json, key, value, len);
		return;
	}
	text_add(to->text, " ", 1);
	text_add(to->text, key, strlen(key));
	text_add(to->text, "=", 1);
	text_add(to->text, value, len);
}

__attribute__((format(printf, 3, 4))) static void put_as(const struct fields *to, const char *key,
							  const char *fmt, ...)
{
	char value[64];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	check(n > 0);
	check((size_t)n < sizeof(value));
	put(to, key, value);
}

/* What `show sess` shows, in its order; a new field goes to the end. */
static void put_fields(const struct session_facts *f, const struct fields *to)
{
	const struct addr *address = server_addr(f->server);
	char text[ADDR_TEXT_MAX], id[UNIQUE_ID_TEXT_MAX];

	put_as(to, "id", "%u.%u", f->worker, f->number);
	put(to, "state", state_words[f->state]);
	put(to, "client", addr_brief_format(&f->client, text));
	put(to, "frontend", f->frontend->config->name);
	put(to, "backend", f->backend->config->name);
	put(to, "server", f->server != NULL ? f->server->config->name : "-");
	put(to, "server_address", address != NULL ? addr_format(address, text) : "-");
	put_as(to, "age_ms", "%.0f", ms(f->age_ns));
	put_as(to, "tries", "%u", f->tries);
	put_as(to, "bytes_in", "%llu", (unsigned long long)f->bytes_in);
	put_as(to, "bytes_out", "%llu", (unsigned long long)f->bytes_out);
	put_as(to, "held", "%u,%u", f->held[FLOW_TO_SERVER], f->held[FLOW_TO_CLIENT]);
	put_as(to, "flows", "%s,%s", flow_words[f->flow_state[FLOW_TO_SERVER]],
	       flow_words[f->flow_state[FLOW_TO_CLIENT]]);
	put_as(to, "pipes", "%u", f->pipes);
	if (f->unique_id_len > 0)
		put(to, "unique_id", unique_id_word(f->unique_id, f->unique_id_len, id));
}

void record_show(const struct session_facts *f, struct text *out)
{
	const struct fields to = {.text = out};

	text_add(out, "session", strlen("session"));
	put_fields(f, &to);
	text_add(out, "\n", 1);
}

void record_show_json(const struct session_facts *f, struct json *out)
{
	const struct fields to = {.json = out};

	json_object(out, NULL);
	put_fields(f, &to);
	json_object_end(out);
}

/* SPDX-License-Identifier: MIT
 *
 * change_log.c - log lines about changes of servers and backends: as text, and as fields.
 *
 * A record has copies of the names, so it may outlive the objects it names. Control thread; the log's reader
 * formats the text.
 */
#include "weir/balance/change_log.h"

#include <stdio.h>
#include <string.h>

#include "weir/balance/backend.h"
#include "weir/balance/server.h"
#include "weir/base/check.h"
#include "weir/base/log.h"
#include "weir/base/log_fields.h"

#define CAUSE_MAX 256

struct record {
	enum change_what what;
	uint32_t from;
	uint32_t to;
	size_t usable; /* usable servers of the backend, and all of them */
	size_t servers;
	int sessions;
	int queued;
	char backend[CONFIG_NAME_MAX];
	char server[CONFIG_NAME_MAX];
	char cause[CAUSE_MAX]; /* last, because only the used part goes into the log */
};

struct down_record {
	size_t used;
	size_t servers;
	char backend[CONFIG_NAME_MAX];
	char fallback[CONFIG_NAME_MAX]; /* "" = none */
};

const char *change_word(enum change_what what)
{
	static const char *const words[CHANGES] = {
		[CHANGE_STATE] = "state", [CHANGE_WEIGHT] = "weight", [CHANGE_MAXCONN] = "maxconn"};

	check(what < CHANGES);
	return words[what];
}

static void copy_text(char *out, size_t room, const char *text)
{
	(void)snprintf(out, room, "%s", text); /* a truncated cause will do; names fit */
}

static int sentence_of(const struct record *r, char *out, size_t room)
{
	const char *colon = r->cause[0] != '\0' ? ": " : "";

	if (r->what != CHANGE_STATE)
		return snprintf(out, room, "server %s/%s: %s %u, was %u%s%s", r->backend, r->server,
				change_word(r->what), r->to, r->from, colon, r->cause);
	return snprintf(out, room,
			"server %s/%s is %s%s%s; %zu of %zu servers %s, %d sessions active, %d queued",
			r->backend, r->server, server_state_text((enum server_state)r->to), colon, r->cause,
			r->usable, r->servers, r->to == SERVER_UP ? "up" : "left", r->sessions, r->queued);
}

static void add_bounds(struct log_fields *f, const struct record *r)
{
	if (r->what == CHANGE_STATE) {
		log_fields_text(f, "from", server_state_text((enum server_state)r->from));
		log_fields_text(f, "to", server_state_text((enum server_state)r->to));
		return;
	}
	log_fields_number(f, "from", "%u", r->from);
	log_fields_number(f, "to", "%u", r->to);
}

static size_t format(enum log_style style, const void *body, size_t len, char *out, size_t room)
{
	char text[LOG_RECORD_MAX], event[32];
	struct log_fields f;
	struct record r;
	int n;

	check(len <= sizeof(r));
	memset(&r, 0, sizeof(r));
	memcpy(&r, body, len);
	n = sentence_of(&r, text, sizeof(text));
	check(n > 0);
	check((size_t)n < sizeof(text));
	if (style == LOG_STYLE_TEXT)
		return log_plain(text, (size_t)n, out, room);
	(void)snprintf(event, sizeof(event), "server_%s", change_word(r.what)); /* short */
	log_fields_init(&f, out, room);
	log_fields_text(&f, "event", event);
	log_fields_text(&f, "backend", r.backend);
	log_fields_text(&f, "server", r.server);
	add_bounds(&f, &r);
	log_fields_text(&f, "reason", r.cause);
	if (r.what == CHANGE_STATE) {
		log_fields_number(&f, "usable", "%zu", r.usable);
		log_fields_number(&f, "servers", "%zu", r.servers);
		log_fields_number(&f, "sessions", "%d", r.sessions);
		log_fields_number(&f, "queued", "%d", r.queued);
	}
	log_fields_text(&f, "message", text);
	return f.text.len;
}

void change_log(const struct server *s, enum change_what what, uint32_t from, uint32_t to, const char *cause)
{
	const bool bad = what == CHANGE_STATE && (to == SERVER_DOWN || to == SERVER_UNRESOLVED);
	struct record r;

	memset(&r, 0, sizeof(r));
	r.what = what;
	r.from = from;
	r.to = to;
	r.usable = s->owner->usable;
	r.servers = s->owner->server_count;
	r.sessions = atomic_load(&s->sessions);
	r.queued = atomic_load(&s->queued);
	copy_text(r.backend, sizeof(r.backend), s->backend->name);
	copy_text(r.server, sizeof(r.server), s->config->name);
	copy_text(r.cause, sizeof(r.cause), cause);
	log_record(bad ? LOG_LEVEL_WARNING : LOG_LEVEL_NOTICE, format, &r,
		   offsetof(struct record, cause) + strlen(r.cause) + 1);
}

static size_t format_down(enum log_style style, const void *body, size_t len, char *out, size_t room)
{
	char text[256];
	struct log_fields f;
	struct down_record r;
	int n;

	check(len == sizeof(r));
	memcpy(&r, body, len);
	if (r.used > 0)
		n = snprintf(text, sizeof(text),
			     "backend %s has no server left; 'panic' keeps %zu of its %zu servers in use",
			     r.backend, r.used, r.servers);
	else if (r.fallback[0] != '\0')
		n = snprintf(text, sizeof(text),
			     "backend %s has no server left; new clients go to backend %s", r.backend,
			     r.fallback);
	else
		n = snprintf(text, sizeof(text),
			     "backend %s has no server left; no client is served until one is up", r.backend);
	check(n > 0);
	check((size_t)n < sizeof(text));
	if (style == LOG_STYLE_TEXT)
		return log_plain(text, (size_t)n, out, room);
	log_fields_init(&f, out, room);
	log_fields_text(&f, "event", "backend_down");
	log_fields_text(&f, "backend", r.backend);
	if (r.fallback[0] != '\0')
		log_fields_text(&f, "fallback", r.fallback);
	log_fields_number(&f, "used", "%zu", r.used);
	log_fields_number(&f, "servers", "%zu", r.servers);
	log_fields_text(&f, "message", text);
	return f.text.len;
}

void change_log_backend_down(const struct backend *b, size_t used)
{
	struct down_record r;

	memset(&r, 0, sizeof(r));
	r.used = used;
	r.servers = b->server_count;
	copy_text(r.backend, sizeof(r.backend), b->config->name);
	if (b->config->fallback_backend != NULL)
		copy_text(r.fallback, sizeof(r.fallback), b->config->fallback_backend);
	log_record(LOG_LEVEL_ALERT, format_down, &r, sizeof(r));
}

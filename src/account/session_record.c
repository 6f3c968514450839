/* SPDX-License-Identifier: MIT
 *
 * session_record.c - what is logged about a session that ended: as text, and as JSON.
 *
 * A field has the same name in text, JSON and `show sess` (log_fields.h). Formats on the thread that reads
 * the log.
 */
#include "weir/account/session_record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "weir/account/close_reason.h"
#include "weir/account/limited_by.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/log.h"
#include "weir/base/log_fields.h"
#include "session_words.h"
#include "unique_id.h"

#define TIME_TEXT_MAX 32
#define REST_TEXT_MAX (UNIQUE_ID_TEXT_MAX + SERVER_NAME_TEXT_MAX + 128)

static size_t record_bytes(const struct session_record *r)
{
	return offsetof(struct session_record, tail) + r->unique_id_len + r->sni_len + r->found_len;
}

static double seconds(int64_t ns)
{
	return (double)ns / (double)NS_PER_SEC;
}

/* "-" for a time that does not exist. */
static const char *seconds_text(int64_t ns, char buf[static TIME_TEXT_MAX])
{
	(void)snprintf(buf, TIME_TEXT_MAX, ns < 0 ? "-" : "%.6f", seconds(ns)); /* always fits */
	return buf;
}

static bool has_unacked(const struct session_record *r)
{
	return (r->unacked_in | r->unacked_out) != 0;
}

/* Fields that few sessions have; they follow all others. */
static const char *rest_text(const struct session_record *r, char buf[static REST_TEXT_MAX])
{
	char id[UNIQUE_ID_TEXT_MAX], name[SERVER_NAME_TEXT_MAX];
	int n = 0;

	buf[0] = '\0';
	if (has_unacked(r))
		n = snprintf(buf, REST_TEXT_MAX, " unacked_in=%u unacked_out=%u", r->unacked_in,
			     r->unacked_out);
	if (r->limited_by != LIMITED_UNKNOWN)
		n += snprintf(buf + n, REST_TEXT_MAX - (size_t)n, " limited_by=%s",
			      limited_by_word((enum limited_by)r->limited_by));
	if (r->sample > 1)
		n += snprintf(buf + n, REST_TEXT_MAX - (size_t)n, " sample=%u", r->sample);
	if (r->unique_id_len > 0)
		n += snprintf(buf + n, REST_TEXT_MAX - (size_t)n, " unique_id=%s",
			      unique_id_word(r->tail, r->unique_id_len, id)); /* always fits */
	if (r->has_sni)
		n += snprintf(buf + n, REST_TEXT_MAX - (size_t)n, " sni=\"%s\"",
			      server_name_word(r->tail + r->unique_id_len, r->sni_len, name)); /* likewise */
	if (config_proto_word(r->proto) != NULL)
		(void)snprintf(buf + n, REST_TEXT_MAX - (size_t)n, " sniffed=%s",
			       config_proto_word(r->proto)); /* likewise */
	return buf;
}

const char *session_record_address(const struct session_record *r, char *buf)
{
	struct addr_brief found = {.family = r->found_len == 4 ? AF_INET : AF_INET6};
	struct addr a = {.len = 0};

	if (r->address != NULL)
		a = *r->address;
	if (r->found_len > 0) {
		memcpy(found.ip, r->tail + r->unique_id_len + r->sni_len, r->found_len);
		addr_of_brief(&a, &found);
	}
	if (r->server_port != 0)
		addr_set_port(&a, r->server_port);
	return addr_format(&a, buf);
}

static size_t format_end_text(const struct session_record *r, char *out, size_t room)
{
	const struct close_reason_row *row = close_reason_row((enum close_reason)r->reason);
	char client[ADDR_TEXT_MAX], server[ADDR_TEXT_MAX], queue_s[TIME_TEXT_MAX], connect_s[TIME_TEXT_MAX];
	char queue[16] = "-", reason[SESSION_REASON_MAX], rest[REST_TEXT_MAX], code[2];
	int n;

	session_code(r, code);
	if (r->queue_ns >= 0)
		(void)snprintf(queue, sizeof(queue), "%u", r->before); /* always fits */
	n = snprintf(out, room,
		     "session client=%s frontend=%s backend=%s server=%s server_address=%s bytes_in=%llu "
		     "bytes_out=%llu bytes_spliced=%llu queue=%s queue_s=%s connect_s=%s duration_s=%.6f "
		     "tries=%u ts_code=%c%c reason=%s reason_text=\"%s\" id=%u.%u%s",
		     addr_brief_format(&r->client, client), r->frontend->name, r->backend->name,
		     r->server ? r->server->name : "-", session_record_address(r, server),
		     (unsigned long long)r->bytes_to_server, (unsigned long long)r->bytes_to_client,
		     (unsigned long long)r->bytes_spliced, queue, seconds_text(r->queue_ns, queue_s),
		     seconds_text(r->connect_ns, connect_s), seconds(r->duration_ns), r->tries, code[0],
		     code[1], session_reason_word(row, reason), row->words, r->worker, r->number,
		     rest_text(r, rest));
	if (n < 0)
		return 0;
	return (size_t)n < room ? (size_t)n : room - 1;
}

/* The members that log_fields.h promises. */
static size_t format_end_json(const struct session_record *r, char *out, size_t room)
{
	const struct close_reason_row *row = close_reason_row((enum close_reason)r->reason);
	char text[ADDR_TEXT_MAX], word[UNIQUE_ID_TEXT_MAX], name[SERVER_NAME_TEXT_MAX], code[2];
	struct log_fields f;

	session_code(r, code);
	log_fields_init(&f, out, room);
	log_fields_text(&f, "event", "session");
	log_fields_text(&f, "frontend", r->frontend->name);
	log_fields_text(&f, "backend", r->backend->name);
	if (r->server != NULL)
		log_fields_text(&f, "server", r->server->name);
	if (r->client.family != 0)
		log_fields_text(&f, "client", addr_brief_format(&r->client, text));
	if (r->address != NULL)
		log_fields_text(&f, "server_address", session_record_address(r, text));
	log_fields_number(&f, "duration_s", "%.6f", seconds(r->duration_ns));
	if (r->queue_ns >= 0) {
		log_fields_number(&f, "queue_s", "%.6f", seconds(r->queue_ns));
		log_fields_number(&f, "queue", "%u", r->before);
	}
	if (r->connect_ns >= 0)
		log_fields_number(&f, "connect_s", "%.6f", seconds(r->connect_ns));
	log_fields_number(&f, "bytes_in", "%llu", (unsigned long long)r->bytes_to_server);
	log_fields_number(&f, "bytes_out", "%llu", (unsigned long long)r->bytes_to_client);
	log_fields_number(&f, "bytes_spliced", "%llu", (unsigned long long)r->bytes_spliced);
	if (has_unacked(r)) {
		log_fields_number(&f, "unacked_in", "%u", r->unacked_in);
		log_fields_number(&f, "unacked_out", "%u", r->unacked_out);
	}
	if (r->limited_by != LIMITED_UNKNOWN)
		log_fields_text(&f, "limited_by", limited_by_word((enum limited_by)r->limited_by));
	log_fields_number(&f, "tries", "%u", r->tries);
	log_fields_text(&f, "reason", session_reason_word(row, word));
	log_fields_text(&f, "reason_text", row->words);
	log_fields_bytes(&f, "ts_code", code, sizeof(code));
	log_fields_number(&f, "worker", "%u", r->worker);
	(void)snprintf(text, sizeof(text), "%u.%u", r->worker, r->number); /* always fits */
	log_fields_text(&f, "id", text);
	if (r->sample > 1)
		log_fields_number(&f, "sample", "%u", r->sample);
	if (r->unique_id_len > 0)
		log_fields_text(&f, "unique_id", unique_id_word(r->tail, r->unique_id_len, word));
	if (r->has_sni)
		log_fields_text(&f, "sni", server_name_word(r->tail + r->unique_id_len, r->sni_len, name));
	if (config_proto_word(r->proto) != NULL)
		log_fields_text(&f, "sniffed", config_proto_word(r->proto));
	return f.text.len;
}

/* The bytes of a body; they may not be aligned as a record is. */
static void take(const void *body, size_t len, struct session_record *r)
{
	check(len >= offsetof(struct session_record, tail));
	check(len <= sizeof(*r));
	memcpy(r, body, len);
	check(len == record_bytes(r));
}

static size_t format_end(enum log_style style, const void *body, size_t len, char *out, size_t room)
{
	struct session_record r;

	take(body, len, &r);
	return style == LOG_STYLE_JSON ? format_end_json(&r, out, room) : format_end_text(&r, out, room);
}

void session_record_log(const struct session_record *r)
{
	log_record(LOG_LEVEL_INFO, format_end, r, record_bytes(r));
}

bool session_record_is(const struct log_entry *e)
{
	return e->format == format_end;
}

void session_record_take(const struct log_entry *e, struct session_record *r)
{
	check(session_record_is(e));
	take(e->body, e->len, r);
}

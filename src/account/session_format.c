/* SPDX-License-Identifier: MIT
 *
 * session_format.c - the line of a session in a format of the configuration: tcplog, or fields by name.
 *
 * A value that does not exist is "-", or -1 where HAProxy prints that. On the thread that reads the log.
 */
#include "weir/account/session_format.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "weir/account/close_reason.h"
#include "weir/account/limited_by.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/log_fields.h"
#include "weir/base/text.h"
#include "weir/base/wall_time.h"
#include "session_words.h"
#include "unique_id.h"

struct line {
	struct session_record r;
	const struct close_reason_row *row;
	int64_t wall_ns; /* when it was logged: when the session ended */
};

enum shape { SHAPE_PUT, SHAPE_NUMBER, SHAPE_SECONDS, SHAPE_MILLIS };

/* How a field gets its text: from a member of the record, or by a function. */
struct value {
	enum shape shape;
	size_t offset;
	size_t size;
	void (*put)(struct text *t, const struct line *l);
};

static void put_word(struct text *t, const char *word)
{
	text_add(t, word, strlen(word));
}

/* ---- fields of our own ---- */

static void put_ts(struct text *t, const struct line *l)
{
	char text[WALL_TIME_MAX];

	put_word(t, wall_time_format_ms(l->wall_ns, text));
}

static void put_client(struct text *t, const struct line *l)
{
	char text[ADDR_TEXT_MAX];

	put_word(t, addr_brief_format(&l->r.client, text));
}

static void put_frontend(struct text *t, const struct line *l)
{
	put_word(t, l->r.frontend->name);
}

static void put_backend(struct text *t, const struct line *l)
{
	put_word(t, l->r.backend->name);
}

static void put_server(struct text *t, const struct line *l)
{
	put_word(t, l->r.server != NULL ? l->r.server->name : "-");
}

static void put_server_address(struct text *t, const struct line *l)
{
	char text[ADDR_TEXT_MAX];

	put_word(t, session_record_address(&l->r, text));
}

static void put_queue(struct text *t, const struct line *l)
{
	if (l->r.queue_ns < 0)
		put_word(t, "-");
	else
		text_printf(t, "%u", l->r.before);
}

static void put_limited_by(struct text *t, const struct line *l)
{
	const char *word = limited_by_word((enum limited_by)l->r.limited_by);

	put_word(t, word != NULL ? word : "-");
}

static void put_reason(struct text *t, const struct line *l)
{
	char word[SESSION_REASON_MAX];

	put_word(t, session_reason_word(l->row, word));
}

static void put_reason_text(struct text *t, const struct line *l)
{
	put_word(t, l->row->words);
}

static void put_ts_code(struct text *t, const struct line *l)
{
	char code[2];

	session_code(&l->r, code);
	text_add(t, code, sizeof(code));
}

static void put_id(struct text *t, const struct line *l)
{
	text_printf(t, "%u.%u", l->r.worker, l->r.number);
}

static void put_unique_id(struct text *t, const struct line *l)
{
	char word[UNIQUE_ID_TEXT_MAX];

	put_word(t, l->r.unique_id_len > 0 ? unique_id_word(l->r.tail, l->r.unique_id_len, word) : "-");
}

static void put_sni(struct text *t, const struct line *l)
{
	const uint8_t *name = l->r.tail + l->r.unique_id_len;
	char word[SERVER_NAME_TEXT_MAX];

	put_word(t, l->r.sni_len > 0 ? server_name_word(name, l->r.sni_len, word) : "-");
}

static void put_sniffed(struct text *t, const struct line *l)
{
	const char *word = config_proto_word(l->r.proto);

	put_word(t, word != NULL ? word : "-");
}

static void put_sample(struct text *t, const struct line *l)
{
	text_printf(t, "%u", l->r.sample > 1 ? l->r.sample : 1);
}

/* ---- HAProxy's ---- */

static void put_client_ip(struct text *t, const struct line *l)
{
	const struct addr_brief *a = &l->r.client;
	char text[INET6_ADDRSTRLEN];

	if (a->family == AF_INET || a->family == AF_INET6) {
		check(inet_ntop(a->family, a->ip, text, sizeof(text)) != NULL);
		put_word(t, text);
	} else {
		put_word(t, a->family == AF_UNIX ? "unix" : "-");
	}
}

static void put_client_port(struct text *t, const struct line *l)
{
	if (l->r.client.family == 0)
		put_word(t, "-");
	else
		text_printf(t, "%u", l->r.client.family == AF_UNIX ? l->r.bind : l->r.client.port);
}

static void put_date(struct text *t, const struct line *l)
{
	static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
					   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	const int64_t ns = l->wall_ns - l->r.duration_ns;
	const time_t seconds = (time_t)(ns / NS_PER_SEC);
	struct tm tm;

	(void)localtime_r(&seconds, &tm); /* fails only if the year exceeds an int */
	text_printf(t, "%02d/%s/%04d:%02d:%02d:%02d.%03d", tm.tm_mday, months[tm.tm_mon % 12],
		    tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(ns % NS_PER_SEC / NS_PER_MS));
}

static void put_server_or_none(struct text *t, const struct line *l)
{
	put_word(t, l->r.server != NULL ? l->r.server->name : "<NOSRV>");
}

/* HAProxy subtracts the time of a request, which is -1 in mode tcp: a session that did not wait has 1. */
static void put_queue_ms(struct text *t, const struct line *l)
{
	const int64_t waited_ns = l->r.queue_ns > 0 ? l->r.queue_ns : 0;

	if (l->r.tries == 0 && l->r.queue_ns < 0)
		put_word(t, "-1");
	else
		text_printf(t, "%lld", (long long)(waited_ns / NS_PER_MS + 1));
}

static void put_retries(struct text *t, const struct line *l)
{
	text_printf(t, "%s%d", l->r.redispatched ? "+" : "", l->r.tries > 1 ? l->r.tries - 1 : 0);
}

/* HAProxy counts the client itself. */
static void put_place(struct text *t, const struct line *l, bool at_server)
{
	const bool is_there = l->r.queue_ns >= 0 && l->r.queued_at_server == at_server;

	text_printf(t, "%u", is_there ? l->r.before + 1 : 0);
}

static void put_server_queue(struct text *t, const struct line *l)
{
	put_place(t, l, true);
}

static void put_backend_queue(struct text *t, const struct line *l)
{
	put_place(t, l, false);
}

/* ---- all of them ---- */

#define PLACE(member)                                                                                        \
	offsetof(struct session_record, member), sizeof(((struct session_record *)NULL)->member)
#define MEMBER(shape, member) {shape, PLACE(member), NULL}
#define NUMBER(member)	MEMBER(SHAPE_NUMBER, member)
#define SECONDS(member) MEMBER(SHAPE_SECONDS, member)
#define MILLIS(member)	MEMBER(SHAPE_MILLIS, member)
#define PUT(function)	{SHAPE_PUT, 0, 0, function}

static const struct value values[LOG_NAMES] = {
	[LOG_NAME_TS] = PUT(put_ts),
	[LOG_NAME_CLIENT] = PUT(put_client),
	[LOG_NAME_FRONTEND] = PUT(put_frontend),
	[LOG_NAME_BACKEND] = PUT(put_backend),
	[LOG_NAME_SERVER] = PUT(put_server),
	[LOG_NAME_SERVER_ADDRESS] = PUT(put_server_address),
	[LOG_NAME_DURATION_S] = SECONDS(duration_ns),
	[LOG_NAME_QUEUE_S] = SECONDS(queue_ns),
	[LOG_NAME_QUEUE] = PUT(put_queue),
	[LOG_NAME_CONNECT_S] = SECONDS(connect_ns),
	[LOG_NAME_BYTES_IN] = NUMBER(bytes_to_server),
	[LOG_NAME_BYTES_OUT] = NUMBER(bytes_to_client),
	[LOG_NAME_BYTES_SPLICED] = NUMBER(bytes_spliced),
	[LOG_NAME_UNACKED_IN] = NUMBER(unacked_in),
	[LOG_NAME_UNACKED_OUT] = NUMBER(unacked_out),
	[LOG_NAME_LIMITED_BY] = PUT(put_limited_by),
	[LOG_NAME_TRIES] = NUMBER(tries),
	[LOG_NAME_REASON] = PUT(put_reason),
	[LOG_NAME_REASON_TEXT] = PUT(put_reason_text),
	[LOG_NAME_TS_CODE] = PUT(put_ts_code),
	[LOG_NAME_WORKER] = NUMBER(worker),
	[LOG_NAME_ID] = PUT(put_id),
	[LOG_NAME_UNIQUE_ID] = PUT(put_unique_id),
	[LOG_NAME_SAMPLE] = PUT(put_sample),
	[LOG_NAME_SNI] = PUT(put_sni),
	[LOG_NAME_SNIFFED] = PUT(put_sniffed),
	[LOG_NAME_HA_CLIENT_IP] = PUT(put_client_ip),
	[LOG_NAME_HA_CLIENT_PORT] = PUT(put_client_port),
	[LOG_NAME_HA_DATE] = PUT(put_date),
	[LOG_NAME_HA_FRONTEND] = PUT(put_frontend),
	[LOG_NAME_HA_BACKEND] = PUT(put_backend),
	[LOG_NAME_HA_SERVER] = PUT(put_server_or_none),
	[LOG_NAME_HA_QUEUE_MS] = PUT(put_queue_ms),
	[LOG_NAME_HA_CONNECT_MS] = MILLIS(connect_ns),
	[LOG_NAME_HA_DURATION_MS] = MILLIS(duration_ns),
	[LOG_NAME_HA_BYTES_OUT] = NUMBER(bytes_to_client),
	[LOG_NAME_HA_BYTES_IN] = NUMBER(bytes_to_server),
	[LOG_NAME_HA_CODE] = PUT(put_ts_code),
	[LOG_NAME_HA_PROCESS] = NUMBER(process_sessions),
	[LOG_NAME_HA_FRONTEND_COUNT] = NUMBER(frontend_sessions),
	[LOG_NAME_HA_BACKEND_COUNT] = NUMBER(backend_sessions),
	[LOG_NAME_HA_SERVER_COUNT] = NUMBER(server_sessions),
	[LOG_NAME_HA_RETRIES] = PUT(put_retries),
	[LOG_NAME_HA_SERVER_QUEUE] = PUT(put_server_queue),
	[LOG_NAME_HA_BACKEND_QUEUE] = PUT(put_backend_queue),
};

static void put_number(struct text *t, const char *member, size_t size)
{
	uint64_t wide = 0;
	uint32_t number = 0;

	if (size == sizeof(wide))
		memcpy(&wide, member, sizeof(wide));
	else if (size == sizeof(number))
		memcpy(&number, member, sizeof(number));
	else
		number = (uint8_t)*member;
	text_printf(t, "%llu", (unsigned long long)(wide + number));
}

static void put_time(struct text *t, const char *member, enum shape shape)
{
	int64_t ns;

	memcpy(&ns, member, sizeof(ns));
	if (ns < 0)
		put_word(t, shape == SHAPE_MILLIS ? "-1" : "-");
	else if (shape == SHAPE_MILLIS)
		text_printf(t, "%lld", (long long)(ns / NS_PER_MS));
	else
		text_printf(t, "%.6f", (double)ns / (double)NS_PER_SEC);
}

static void put_field(struct text *t, const struct line *l, enum log_name name)
{
	const struct value *v = &values[name];
	const char *member = (const char *)&l->r + v->offset;

	switch (v->shape) {
	case SHAPE_PUT:
		check(v->put != NULL);
		v->put(t, l);
		return;
	case SHAPE_NUMBER:
		put_number(t, member, v->size);
		return;
	case SHAPE_SECONDS:
	case SHAPE_MILLIS:
		put_time(t, member, v->shape);
		return;
	}
}

size_t session_format_line(const struct log_format *f, const struct log_entry *e, char *out, size_t room)
{
	struct line l = {.wall_ns = e->wall_ns};
	struct text t;

	check(room > sizeof(LOG_CUT_MARK));
	session_record_take(e, &l.r);
	l.row = close_reason_row((enum close_reason)l.r.reason);
	text_over(&t, out, room - (sizeof(LOG_CUT_MARK) - 1));
	for (size_t i = 0; i < f->count; i++) {
		const struct log_piece *p = &f->pieces[i];

		if (p->name == LOG_NAME_NONE)
			text_add(&t, f->text + p->start, p->len);
		else
			put_field(&t, &l, (enum log_name)p->name);
	}
	if (!t.failed)
		return t.len;
	memcpy(out + t.len, LOG_CUT_MARK, sizeof(LOG_CUT_MARK));
	return t.len + sizeof(LOG_CUT_MARK) - 1;
}

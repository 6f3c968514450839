/* SPDX-License-Identifier: MIT
 *
 * session_facts.c - a live session as `show sess` prints it: a line of text, or a JSON object.
 *
 * A field has the same name in text, JSON and the log (log_fields.h). A line begins with HAProxy's fields, in
 * its order, for the programs that read them. Any thread.
 */
#include "weir/account/session_facts.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "weir/account/session_state.h"
#include "weir/balance/backend.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "session_fields.h"
#include "unique_id.h"

void fields_put(const struct fields *to, const char *key, const char *value)
{
	const size_t len = strlen(value);

	if (to->text == NULL)
		json_word(to->json, key, value, len);
	else
		text_printf(to->text, to->lines ? "%s: %s\n" : " %s=%s", key, value);
}

void fields_put_as(const struct fields *to, const char *key, const char *fmt, ...)
{
	char value[64];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	check(n > 0);
	check((size_t)n < sizeof(value));
	fields_put(to, key, value);
}

static double ms(int64_t ns)
{
	return ns < 0 ? -1.0 : (double)ns / (double)NS_PER_MS;
}

/* What `show sess` prints, in its order; new fields go to the end. */
void session_fields_put(const struct session_facts *f, const struct fields *to)
{
	const bool has_server = f->server[0] != '\0';
	char text[ADDR_TEXT_MAX], id[UNIQUE_ID_TEXT_MAX], name[SERVER_NAME_TEXT_MAX];

	fields_put_as(to, "id", "%u.%u", f->worker, f->number);
	fields_put(to, "state", session_state_word((enum session_state)f->state));
	fields_put(to, "client", addr_brief_format(&f->client, text));
	fields_put(to, "frontend", f->frontend);
	fields_put(to, "backend", f->backend);
	fields_put(to, "server", has_server ? f->server : "-");
	fields_put(to, "server_address", has_server ? addr_format(&f->address, text) : "-");
	fields_put_as(to, "age_ms", "%.0f", ms(f->age_ns));
	fields_put_as(to, "tries", "%u", f->tries);
	fields_put_as(to, "bytes_in", "%llu", (unsigned long long)f->bytes_to_server);
	fields_put_as(to, "bytes_out", "%llu", (unsigned long long)f->bytes_to_client);
	fields_put_as(to, "held", "%u,%u", f->held[FLOW_TO_SERVER], f->held[FLOW_TO_CLIENT]);
	fields_put_as(to, "flows", "%s,%s", flow_state_word((enum flow_state)f->flow_state[FLOW_TO_SERVER]),
	       flow_state_word((enum flow_state)f->flow_state[FLOW_TO_CLIENT]));
	fields_put_as(to, "pipes", "%u", f->pipes);
	if (f->unique_id_len > 0)
		fields_put(to, "unique_id", unique_id_word(f->unique_id, f->unique_id_len, id));
	if (f->has_sni)
		fields_put(to, "sni", f->sni_len > 0 ? server_name_word(f->sni, f->sni_len, name) : "-");
	if (config_proto_word(f->proto) != NULL)
		fields_put(to, "sniffed", config_proto_word(f->proto));
}

/* ---- HAProxy's fields ---- */

#define MINUTE 60
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)
#define AGE_MAX 32

/* The two largest units that are not zero: "24s", "2m5s", "1d3h". */
static const char *age_text(int64_t age_ns, char out[static AGE_MAX])
{
	static const struct {
		char unit;
		int64_t seconds;
	} units[] = {{'d', DAY}, {'h', HOUR}, {'m', MINUTE}, {'s', 1}};
	int64_t left = age_ns > 0 ? age_ns / NS_PER_SEC : 0;
	unsigned shown = 0;
	size_t len = 0;

	if (left == 0)
		return memcpy(out, "0s", sizeof("0s"));
	for (size_t i = 0; i < ARRAY_LEN(units) && shown < 2; i++) {
		const int64_t count = left / units[i].seconds;

		if (count == 0)
			continue;
		len += (size_t)snprintf(out + len, AGE_MAX - len, "%lld%c", (long long)count, units[i].unit);
		left %= units[i].seconds;
		shown++;
	}
	return out;
}

/* Of the listener. One that accepts IPv4 and IPv6 is what its client is. */
static const char *proto_of(const struct session_facts *f)
{
	if (f->entry_is_unix || f->client.family == AF_UNIX)
		return "unix_stream";
	return f->client.family == AF_INET6 ? "tcpv6" : "tcpv4";
}

static void add_source(const struct session_facts *f, const char *key, struct text *out)
{
	char host[INET6_ADDRSTRLEN] = "";

	if (f->client.family == AF_UNIX)
		text_printf(out, " %s=unix:%u", key, f->entry + 1);
	else if (f->client.family != 0 &&
		 inet_ntop(f->client.family, f->client.ip, host, sizeof(host)) != NULL)
		text_printf(out, " %s=%s:%u", key, host, f->client.port);
}

void session_facts_show(const struct session_facts *f, struct text *out)
{
	const struct fields to = {.text = out};
	char age[AGE_MAX];

	text_printf(out, "0x%llx: proto=%s", (unsigned long long)session_key(f->worker, f->number),
		    proto_of(f));
	add_source(f, "src", out);
	text_printf(out, " fe=%s be=%s srv=%s age=%s", f->frontend, f->backend,
		    f->server[0] != '\0' ? f->server : "<none>", age_text(f->age_ns, age));
	session_fields_put(f, &to);
	text_add(out, "\n", 1);
}

/* When it was accepted: "23/Nov/2026:16:11:26.166548", local time. */
static void add_date(int64_t at_us, struct text *out)
{
	const time_t seconds = (time_t)(at_us / 1000000);
	char date[32] = "-";
	struct tm tm;

	if (localtime_r(&seconds, &tm) != NULL)
		(void)strftime(date, sizeof(date), "%d/%b/%Y:%H:%M:%S", &tm); /* always fits */
	text_printf(out, " [%s.%06d]", date, (int)(at_us % 1000000));
}

void session_facts_show_large(const struct session_facts *f, int64_t now_us, struct text *out)
{
	const struct fields to = {.text = out};
	char address[ADDR_TEXT_MAX], age[AGE_MAX];

	text_printf(out, "0x%llx:", (unsigned long long)session_key(f->worker, f->number));
	add_date(now_us - f->age_ns / NS_PER_US, out);
	text_printf(out, " id=%u proto=%s", f->number, proto_of(f));
	add_source(f, "source", out);
	text_printf(out, "\n  conn_retries=%u\n", f->tries > 1 ? f->tries - 1u : 0);
	text_printf(out, "  frontend=%s (mode=tcp), listener=? (id=%u)\n", f->frontend, f->entry + 1);
	text_printf(out, "  backend=%s (mode=tcp)\n", f->backend);
	if (f->server[0] != '\0')
		text_printf(out, "  server=%s addr=%s\n", f->server, addr_format(&f->address, address));
	else
		text_printf(out, "  server=<NONE>\n");
	text_printf(out, "  task (tmask=0x%llx age=%s)\n", 1ULL << f->worker % 64, age_text(f->age_ns, age));
	text_printf(out, "  weir:");
	session_fields_put(f, &to);
	text_add(out, "\n", 1);
}

/* ---- its sockets ---- */

static const char *family_word(unsigned family)
{
	return family == AF_INET ? "ipv4" : family == AF_INET6 ? "ipv6" : "unix";
}

static void add_fd(const struct session_facts *f, unsigned side, struct text *out)
{
	text_printf(out, "%7d : tmask=0x%llx owner=0x%llx back=%u", f->fds[side], 1ULL << f->worker % 64,
		    (unsigned long long)session_key(f->worker, f->number), side);
}

void session_facts_show_fds(const struct session_facts *f, int only, struct text *out)
{
	if (f->fds[0] >= 0 && (only < 0 || only == f->fds[0])) {
		add_fd(f, 0, out);
		text_printf(out, " fam=%s", f->entry_is_unix ? "unix" : family_word(f->client.family));
		if (f->client.port != 0)
			text_printf(out, " rport=%u", f->client.port);
		text_printf(out, " fe=%s\n", f->frontend);
	}
	if (f->fds[1] >= 0 && f->server[0] != '\0' && (only < 0 || only == f->fds[1])) {
		add_fd(f, 1, out);
		text_printf(out, " fam=%s", family_word(f->address.sa.sa_family));
		if (addr_port(&f->address) != 0)
			text_printf(out, " rport=%u", addr_port(&f->address));
		text_printf(out, " sv=%s/%s\n", f->backend, f->server);
	}
}

void session_facts_show_json(const struct session_facts *f, struct json *out)
{
	const struct fields to = {.json = out};

	json_object(out, NULL);
	session_fields_put(f, &to);
	json_object_end(out);
}

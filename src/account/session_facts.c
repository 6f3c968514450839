/* SPDX-License-Identifier: MIT
 *
 * session_facts.c - a live session as `show sess` prints it: a line of text, or a JSON object.
 *
 * A field has the same name in text, JSON and the log (log_fields.h). Any thread.
 */
#include "weir/account/session_facts.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "weir/account/session_state.h"
#include "weir/balance/backend.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "unique_id.h"

/* Where the fields of a live session are written: as " key=value", or as members of an object. */
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

static double ms(int64_t ns)
{
	return ns < 0 ? -1.0 : (double)ns / (double)NS_PER_MS;
}

/* What `show sess` prints, in its order; new fields go to the end. */
static void put_fields(const struct session_facts *f, const struct fields *to)
{
	const bool has_server = f->server[0] != '\0';
	char text[ADDR_TEXT_MAX], id[UNIQUE_ID_TEXT_MAX];

	put_as(to, "id", "%u.%u", f->worker, f->number);
	put(to, "state", session_state_word((enum session_state)f->state));
	put(to, "client", addr_brief_format(&f->client, text));
	put(to, "frontend", f->frontend);
	put(to, "backend", f->backend);
	put(to, "server", has_server ? f->server : "-");
	put(to, "server_address", has_server ? addr_format(&f->address, text) : "-");
	put_as(to, "age_ms", "%.0f", ms(f->age_ns));
	put_as(to, "tries", "%u", f->tries);
	put_as(to, "bytes_in", "%llu", (unsigned long long)f->bytes_to_server);
	put_as(to, "bytes_out", "%llu", (unsigned long long)f->bytes_to_client);
	put_as(to, "held", "%u,%u", f->held[FLOW_TO_SERVER], f->held[FLOW_TO_CLIENT]);
	put_as(to, "flows", "%s,%s", flow_state_word((enum flow_state)f->flow_state[FLOW_TO_SERVER]),
	       flow_state_word((enum flow_state)f->flow_state[FLOW_TO_CLIENT]));
	put_as(to, "pipes", "%u", f->pipes);
	if (f->unique_id_len > 0)
		put(to, "unique_id", unique_id_word(f->unique_id, f->unique_id_len, id));
}

void session_facts_show(const struct session_facts *f, struct text *out)
{
	const struct fields to = {.text = out};

	text_add(out, "session", strlen("session"));
	put_fields(f, &to);
	text_add(out, "\n", 1);
}

void session_facts_show_json(const struct session_facts *f, struct json *out)
{
	const struct fields to = {.json = out};

	json_object(out, NULL);
	put_fields(f, &to);
	json_object_end(out);
}

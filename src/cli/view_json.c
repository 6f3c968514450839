/* SPDX-License-Identifier: MIT
 *
 * view_json.c - the page of `status` and `top` as one JSON object.
 *
 * Whole numbers, never shortened; rates only with a second view to reckon them from. Main thread.
 */
#include <string.h>

#include "weir/admin/admin_answers.h"
#include "weir/base/clock.h"
#include "view.h"

static void add_number(const char *name, uint64_t value, struct text *out)
{
	text_printf(out, ",\"%s\":%llu", name, (unsigned long long)value);
}

static void add_word(const char *sign, const char *name, const char *value, struct text *out)
{
	text_printf(out, "%s\"%s\":", sign, name);
	admin_json_string(value, strlen(value), out);
}

static void add_rate(const char *name, uint64_t now, uint64_t before, int64_t ns, struct text *out)
{
	const double seconds = (double)ns / (double)NS_PER_SEC;

	text_printf(out, ",\"%s\":%.1f", name,
		    ns > 0 && now >= before ? (double)(now - before) / seconds : 0.);
}

/* The addresses of a frontend stand in one text, with blanks between them. */
static void add_addresses(const char *list, struct text *out)
{
	const char *sign = "";

	text_printf(out, ",\"listen\":[");
	while (*list != '\0') {
		const size_t len = strcspn(list, " ");

		text_printf(out, "%s", sign);
		admin_json_string(list, len, out);
		sign = ",";
		list += len + strspn(list + len, " ");
	}
	text_printf(out, "]");
}

static void add_row(const struct view_row *row, bool server, struct text *out)
{
	if (server) {
		add_word("{", "backend", row->proxy, out);
		add_word(",", "name", row->name, out);
	} else {
		add_word("{", "name", row->proxy, out);
	}
	add_word(",", "state", row->state, out);
	add_number("sessions", row->sessions, out);
	add_number("sessions_max", row->sessions_max, out);
	add_number("total", row->total, out);
	add_number("bytes_from_clients", row->bytes_in, out);
	add_number("bytes_to_clients", row->bytes_out, out);
	if (server) {
		add_number("failures", row->failures, out);
		add_number("queue", row->queue, out);
		add_number("maxconn", row->limit, out);
		add_number("weight", row->weight, out);
		add_word(",", "address", row->address, out);
	} else {
		add_number("maxconn", row->limit, out);
		add_number("denied", row->denied, out);
		add_addresses(row->address, out);
	}
}

static void add_rows(const struct view_row *rows, size_t count, bool servers, struct text *out)
{
	text_printf(out, ",\n \"%s\":[", servers ? "servers" : "frontends");
	for (size_t i = 0; i < count; i++) {
		text_printf(out, i == 0 ? "\n  " : ",\n  ");
		add_row(&rows[i], servers, out);
		text_printf(out, "}");
	}
	text_printf(out, "]");
}

/* With the state that HAProxy's BACKEND rows have: down when no server may be used. */
static void add_backends(const struct view *v, struct text *out)
{
	text_printf(out, ",\n \"backends\":[");
	for (size_t i = 0; i < v->backend_count; i++) {
		add_word(i == 0 ? "{" : ",{", "name", v->backends[i].proxy, out);
		add_word(",", "state", v->backends[i].state, out);
		add_number("sessions", v->backends[i].sessions, out);
		add_number("queue", v->backends[i].queue, out);
		text_printf(out, "}");
	}
	text_printf(out, "]");
}

void view_show_json(const struct view *v, const struct view *before, struct text *out)
{
	add_word("{", "version", v->version, out);
	add_word(",", "state", v->state, out);
	add_word(",", "driver", v->driver, out);
	add_number("pid", v->pid, out);
	add_number("uptime_s", v->uptime_s, out);
	add_number("workers", v->workers, out);
	add_number("sessions", v->sessions, out);
	add_number("maxconn", v->maxconn, out);
	add_number("accepted", v->accepted, out);
	add_number("queued", v->queued, out);
	add_number("bytes_to_server", v->bytes_to_server, out);
	add_number("bytes_to_client", v->bytes_to_client, out);
	add_number("bytes_spliced", v->bytes_spliced, out);
	if (before != NULL) {
		const int64_t ns = v->taken_ns - before->taken_ns;

		add_rate("accepted_per_s", v->accepted, before->accepted, ns, out);
		add_rate("bytes_to_server_per_s", v->bytes_to_server, before->bytes_to_server, ns, out);
		add_rate("bytes_to_client_per_s", v->bytes_to_client, before->bytes_to_client, ns, out);
	}
	add_backends(v, out);
	add_rows(v->frontends, v->frontend_count, false, out);
	add_rows(v->servers, v->server_count, true, out);
	text_printf(out, "}\n");
}

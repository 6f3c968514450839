/* SPDX-License-Identifier: MIT
 *
 * view_json.c - the page of `status` and `top` as one JSON object.
 *
 * Whole numbers, never shortened. Rates only if there is a second view to calculate them from. Main thread.
 */
#include <string.h>

#include "weir/base/clock.h"
#include "weir/base/json.h"
#include "view.h"

static void add_rate(struct json *j, const char *name, uint64_t now, uint64_t before, int64_t ns)
{
	const double seconds = (double)ns / (double)NS_PER_SEC;

	json_printf(j, name, "%.1f", ns > 0 && now >= before ? (double)(now - before) / seconds : 0.);
}

/* The addresses of a frontend are one string, separated by blanks. */
static void add_addresses(struct json *j, const char *list)
{
	json_array(j, "listen");
	while (*list != '\0') {
		const size_t len = strcspn(list, " ");

		json_string_of(j, NULL, list, len);
		list += len + strspn(list + len, " ");
	}
	json_array_end(j);
}

static void add_row_json(struct json *j, const struct view_row *row, bool server)
{
	json_object(j, NULL);
	json_string(j, server ? "backend" : "name", row->proxy);
	if (server)
		json_string(j, "name", row->name);
	json_string(j, "state", row->state);
	json_unsigned(j, "sessions", row->sessions);
	json_unsigned(j, "sessions_max", row->sessions_max);
	json_unsigned(j, "total", row->total);
	json_unsigned(j, "bytes_from_clients", row->bytes_in);
	json_unsigned(j, "bytes_to_clients", row->bytes_out);
	if (server) {
		json_unsigned(j, "failures", row->failures);
		json_unsigned(j, "queue", row->queue);
		json_unsigned(j, "maxconn", row->limit);
		json_unsigned(j, "weight", row->weight);
		json_string(j, "address", row->address);
	} else {
		json_unsigned(j, "maxconn", row->limit);
		json_unsigned(j, "denied", row->denied);
		add_addresses(j, row->address);
	}
	json_object_end(j);
}

static void add_rows(struct json *j, const struct view_row *rows, size_t count, bool servers)
{
	json_line(j, 1);
	json_array(j, servers ? "servers" : "frontends");
	for (size_t i = 0; i < count; i++) {
		json_line(j, 2);
		add_row_json(j, &rows[i], servers);
	}
	json_array_end(j);
}

/* With the state of HAProxy's BACKEND rows: down if no server is usable. */
static void add_backends(struct json *j, const struct view *v)
{
	json_line(j, 1);
	json_array(j, "backends");
	for (size_t i = 0; i < v->backend_count; i++) {
		json_object(j, NULL);
		json_string(j, "name", v->backends[i].proxy);
		json_string(j, "state", v->backends[i].state);
		json_unsigned(j, "sessions", v->backends[i].sessions);
		json_unsigned(j, "queue", v->backends[i].queue);
		json_object_end(j);
	}
	json_array_end(j);
}

static void add_totals(struct json *j, const struct view *v)
{
	json_string(j, "version", v->version);
	json_string(j, "state", v->state);
	json_string(j, "driver", v->driver);
	json_string(j, "config", v->config);
	json_unsigned(j, "pid", v->pid);
	json_unsigned(j, "uptime_s", v->uptime_s);
	json_unsigned(j, "workers", v->workers);
	json_unsigned(j, "sessions", v->sessions);
	json_unsigned(j, "maxconn", v->maxconn);
	json_unsigned(j, "accepted", v->accepted);
	json_unsigned(j, "queued", v->queued);
	json_unsigned(j, "bytes_to_server", v->bytes_to_server);
	json_unsigned(j, "bytes_to_client", v->bytes_to_client);
	json_unsigned(j, "bytes_spliced", v->bytes_spliced);
}

void view_show_json(const struct view *v, const struct view *before, struct text *out)
{
	struct json j;

	json_init(&j, out, JSON_CODES);
	json_object(&j, NULL);
	add_totals(&j, v);
	if (before != NULL) {
		const int64_t ns = v->taken_ns - before->taken_ns;

		add_rate(&j, "accepted_per_s", v->accepted, before->accepted, ns);
		add_rate(&j, "bytes_to_server_per_s", v->bytes_to_server, before->bytes_to_server, ns);
		add_rate(&j, "bytes_to_client_per_s", v->bytes_to_client, before->bytes_to_client, ns);
	}
	add_backends(&j, v);
	add_rows(&j, v->frontends, v->frontend_count, false);
	add_rows(&j, v->servers, v->server_count, true);
	json_object_end(&j);
	text_add(out, "\n", 1);
}

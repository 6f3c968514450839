/* SPDX-License-Identifier: MIT
 *
 * report.c - what a demo has measured, whether that is good, and how to print it.
 *
 * Main thread.
 */
#include "report.h"

#include <stdarg.h>

#include "weir/base/json.h"
#include "figures.h"

void report_why(struct report *r, const char *fmt, ...)
{
	va_list args;

	if (r->why[0] != '\0')
		return;
	va_start(args, fmt);
	(void)vsnprintf(r->why, sizeof(r->why), fmt, args); /* may be truncated */
	va_end(args);
}

static uint64_t server_errors(const struct report *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < PLAN_SERVERS; i++)
		sum += r->servers[i].errors;
	return sum;
}

uint64_t report_server_connections(const struct report_server *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->start_count; i++)
		sum += s->starts[i];
	return sum;
}

bool report_ok(const struct report *r)
{
	if (r->broken || r->client_errors != 0 || server_errors(r) != 0)
		return false;
	if (r->daemon_exit != 0 || r->sessions_left != 0)
		return false;
	/* Nothing went wrong, but did anything happen at all? */
	return r->connections > 0 || r->interrupted;
}

static void add_server_json(struct json *j, const char *name, const struct report_server *s)
{
	json_object(j, NULL);
	json_string(j, "name", name);
	json_unsigned(j, "connections", report_server_connections(s));
	json_array(j, "starts");
	for (size_t i = 0; i < s->start_count; i++)
		json_unsigned(j, NULL, s->starts[i]);
	json_array_end(j);
	json_unsigned(j, "errors", s->errors);
	json_object_end(j);
}

/* Our own text, but it may quote a library, so strip control bytes. */
static void add_why(struct json *j, const char *why)
{
	char words[REPORT_WHY_MAX];
	size_t len = 0;

	for (; *why != '\0'; why++)
		if ((unsigned char)*why >= ' ')
			words[len++] = *why;
	json_string_of(j, "why", words, len);
}

static void add_load(struct json *j, const struct report *r)
{
	json_printf(j, "seconds", "%.1f", r->seconds);
	json_unsigned(j, "connections", r->connections);
	json_unsigned(j, "requests", r->requests);
	json_unsigned(j, "bytes", r->bytes);
	json_unsigned(j, "bytes_spliced", r->bytes_spliced);
	json_printf(j, "spliced_share", "%.3f", figure_percent(r->bytes_spliced, r->bytes) / 100);
	json_unsigned(j, "retries", r->retries);
	json_unsigned(j, "reloads", r->reloads);
	json_unsigned(j, "reloads_refused", r->reloads_refused);
	json_unsigned(j, "rollbacks", r->rollbacks);
	json_printf(j, "slowest_ms", "%.1f", (double)r->slowest_ns / 1e6);
	json_unsigned(j, "client_errors", r->client_errors);
}

void report_json(const struct report *r, FILE *out)
{
	struct text text;
	struct json j;

	text_init(&text);
	json_init(&j, &text, JSON_UTF8);
	json_object(&j, NULL);
	add_load(&j, r);
	json_array(&j, "servers");
	for (size_t i = 0; i < PLAN_SERVERS; i++)
		add_server_json(&j, demo_plan_server_name(i), &r->servers[i]);
	json_array_end(&j);
	json_unsigned(&j, "sessions_left", r->sessions_left);
	json_signed(&j, "daemon_exit", r->daemon_exit);
	json_bool(&j, "interrupted", r->interrupted);
	add_why(&j, r->why);
	json_bool(&j, "ok", report_ok(r));
	json_object_end(&j);
	text_add(&text, "\n", 1);
	text_print(&text, out);
	text_free(&text);
}

void report_text(const struct report *r, const char *good, const char *bad, const char *plain, FILE *out)
{
	char connections[FIGURE_MAX], requests[FIGURE_MAX], bytes[FIGURE_MAX], retries[FIGURE_MAX];
	char slowest[FIGURE_MAX], errors[FIGURE_MAX];
	uint64_t wrong = server_errors(r);

	fprintf(out, " summary   %.1f s   %s connections   %s requests   slowest %s\n", r->seconds,
		figure_grouped(r->connections, connections), figure_grouped(r->requests, requests),
		figure_time(r->slowest_ns, slowest));
	fprintf(out, "           %s moved, every byte verified   %.1f %% spliced   retries %s\n",
		figure_bytes((double)r->bytes, bytes), figure_percent(r->bytes_spliced, r->bytes),
		figure_grouped(r->retries, retries));
	fprintf(out, "           %sclient errors %s%s", r->client_errors == 0 ? good : bad,
		figure_grouped(r->client_errors, errors), plain);
	fprintf(out, "   %sserver errors %s%s\n", wrong == 0 ? good : bad, figure_grouped(wrong, errors),
		plain);
	if (report_ok(r))
		return;
	if (r->sessions_left != 0)
		fprintf(out, "           %sweir still had %s sessions%s\n", bad,
			figure_grouped(r->sessions_left, errors), plain);
	if (r->daemon_exit != 0)
		fprintf(out, "           %sweir ended with exit code %d%s\n", bad, r->daemon_exit, plain);
	fprintf(out, " %sfailed%s    %s\n", bad, plain,
		r->why[0] != '\0' ? r->why : "no client got an answer");
}

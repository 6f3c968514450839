/* SPDX-License-Identifier: MIT
 *
 * report.c - what a demo has measured, whether that is well, and how it is told.
 *
 * Main thread.
 */
#include "report.h"

#include <stdarg.h>

#include "figures.h"

void report_why(struct report *r, const char *fmt, ...)
{
	va_list args;

	if (r->why[0] != '\0')
		return;
	va_start(args, fmt);
	(void)vsnprintf(r->why, sizeof(r->why), fmt, args); /* cut: it is for people */
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
	/* Nothing went wrong, and nothing went at all. */
	return r->connections > 0 || r->interrupted;
}

static void json_servers(const struct report *r, FILE *out)
{
	for (size_t i = 0; i < PLAN_SERVERS; i++) {
		const struct report_server *s = &r->servers[i];

		fprintf(out, "%s{\"name\":\"%s\",\"connections\":%llu,\"starts\":[", i > 0 ? "," : "",
			plan_server_name(i), (unsigned long long)report_server_connections(s));
		for (size_t j = 0; j < s->start_count; j++)
			fprintf(out, "%s%llu", j > 0 ? "," : "", (unsigned long long)s->starts[j]);
		fprintf(out, "],\"errors\":%llu}", (unsigned long long)s->errors);
	}
}

/* Our own words, but one may quote what a library said. */
static void json_string(const char *text, FILE *out)
{
	fputc('"', out);
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		if ((unsigned char)*text >= 0x20)
			fputc(*text, out);
	}
	fputc('"', out);
}

void report_json(const struct report *r, FILE *out)
{
	fprintf(
	    out,
	    "{\"seconds\":%.1f,\"connections\":%llu,\"requests\":%llu,\"bytes\":%llu,\"bytes_spliced\":%llu,"
	    "\"spliced_share\":%.3f,\"retries\":%llu,\"slowest_ms\":%.1f,\"client_errors\":%llu,\"servers\":"
	    "[",
	    r->seconds, (unsigned long long)r->connections, (unsigned long long)r->requests,
	    (unsigned long long)r->bytes, (unsigned long long)r->bytes_spliced,
	    figure_percent(r->bytes_spliced, r->bytes) / 100, (unsigned long long)r->retries,
	    (double)r->slowest_ns / 1e6, (unsigned long long)r->client_errors);
	json_servers(r, out);
	fprintf(out, "],\"sessions_left\":%llu,\"daemon_exit\":%d,\"interrupted\":%s,\"why\":",
		(unsigned long long)r->sessions_left, r->daemon_exit, r->interrupted ? "true" : "false");
	json_string(r->why, out);
	fprintf(out, ",\"ok\":%s}\n", report_ok(r) ? "true" : "false");
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
		r->why[0] != '\0' ? r->why : "no client had an answer");
}

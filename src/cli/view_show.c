/* SPDX-License-Identifier: MIT
 *
 * view_show.c - the page of `status` and `top`, as text and as JSON.
 *
 * Fits 80 columns; an address takes what the others leave. Main thread. Floor 7.
 */
#include <stdio.h>
#include <string.h>

#include "weir/base/clock.h"
#include "weir/cli/view.h"

#define NAME_MIN     8u
#define NAME_MAX_80  20u
#define NUMBER_MAX   24
#define COLOUR_BOLD  "\x1b[1m"
#define COLOUR_RED   "\x1b[31m"
#define COLOUR_AMBER "\x1b[33m"
#define COLOUR_NONE  "\x1b[0m"
#define MIDDLE_MAX   (2 * NUMBER_MAX)
#define ROW_NAME_MAX (2 * CONFIG_NAME_MAX + 1)

/* "1234", "12.3k", "4.5M": six letters at most. */
static const char *short_number(uint64_t n, unsigned base, char buf[static NUMBER_MAX])
{
	static const char units[] = "kMGTPE";
	double value = (double)n;
	size_t unit = 0;

	if (n < 100000 && (base == 1000 || n < 1024)) {
		(void)snprintf(buf, NUMBER_MAX, "%llu", (unsigned long long)n); /* five digits */
		return buf;
	}
	value /= base;
	for (; value >= 999.5 && unit + 2 < sizeof(units); unit++)
		value /= base;
	(void)snprintf(buf, NUMBER_MAX, value < 99.95 ? "%.1f%c" : "%.0f%c", value, units[unit]);
	return buf;
}

static const char *short_count(uint64_t n, char buf[static NUMBER_MAX])
{
	return short_number(n, 1000, buf);
}

static const char *short_bytes(uint64_t n, char buf[static NUMBER_MAX])
{
	return short_number(n, 1024, buf);
}

/* What was added in a second between two views; 0 when the daemon is another since. */
static uint64_t rate(uint64_t now, uint64_t before, int64_t ns)
{
	if (ns <= 0 || now < before)
		return 0;
	return (uint64_t)((double)(now - before) * (double)NS_PER_SEC / (double)ns + 0.5);
}

static const char *uptime(uint64_t s, char buf[static NUMBER_MAX])
{
	if (s >= 86400)
		(void)snprintf(buf, NUMBER_MAX, "%llud%02uh", (unsigned long long)(s / 86400 % 100000),
			       (unsigned)(s / 3600 % 24));
	else if (s >= 3600)
		(void)snprintf(buf, NUMBER_MAX, "%uh%02um", (unsigned)(s / 3600), (unsigned)(s / 60 % 60));
	else
		(void)snprintf(buf, NUMBER_MAX, "%um%02us", (unsigned)(s / 60), (unsigned)(s % 60));
	return buf;
}

/* Adds a line, cut to the page; colour takes no room. */
static void add_line(const struct view_style *style, const char *colour, const char *line, struct text *out)
{
	size_t len = strlen(line);

	while (len > 0 && line[len - 1] == ' ')
		len--;
	if (style->columns != 0 && len > style->columns)
		len = style->columns;
	if (style->colour && colour[0] != '\0')
		text_printf(out, "%s%.*s" COLOUR_NONE "\n", colour, (int)len, line);
	else
		text_printf(out, "%.*s\n", (int)len, line);
}

static void add_head(const struct view *v, const struct view *before, const struct view_style *style,
		     struct text *out)
{
	const int64_t ns = before != NULL ? v->taken_ns - before->taken_ns : 0;
	const uint64_t bytes = v->bytes_to_server + v->bytes_to_client;
	const uint64_t spliced =
		bytes > 0 ? (uint64_t)(100. * (double)v->bytes_spliced / (double)bytes) : 0;
	char line[256], a[NUMBER_MAX], b[NUMBER_MAX], c[NUMBER_MAX], d[NUMBER_MAX];
	char waiting[NUMBER_MAX + 32] = "";

	if (v->queued > 0)
		(void)snprintf(waiting, sizeof(waiting), ", %s wait for a server", short_count(v->queued, d));
	(void)snprintf(line, sizeof(line), "weir %s  %s  pid %llu  up %s  %llu worker%s  %s", v->version,
		       v->state, (unsigned long long)v->pid, uptime(v->uptime_s, a),
		       (unsigned long long)v->workers, v->workers == 1 ? "" : "s", v->driver);
	add_line(style, strcmp(v->state, "ready") == 0 ? COLOUR_BOLD : COLOUR_RED, line, out);
	if (before == NULL)
		(void)snprintf(line, sizeof(line), "connections  %s open of %s, %s in all%s",
			       short_count(v->sessions, a), short_count(v->maxconn, b),
			       short_count(v->accepted, c), waiting);
	else
		(void)snprintf(line, sizeof(line), "connections  %s open of %s, %s new a second%s",
			       short_count(v->sessions, a), short_count(v->maxconn, b),
			       short_count(rate(v->accepted, before->accepted, ns), c), waiting);
	add_line(style, "", line, out);
	(void)snprintf(line, sizeof(line), "bytes        %s to servers, %s to clients%s, %s %% spliced",
		       short_bytes(before == NULL ? v->bytes_to_server
						  : rate(v->bytes_to_server, before->bytes_to_server, ns),
				   a),
		       short_bytes(before == NULL ? v->bytes_to_client
						  : rate(v->bytes_to_client, before->bytes_to_client, ns),
				   b),
		       before == NULL ? "" : " a second",
		       short_count(spliced, d));
	add_line(style, "", line, out);
}

static const char *row_name(const struct view_row *row, bool server, char buf[static ROW_NAME_MAX])
{
	(void)snprintf(buf, ROW_NAME_MAX, "%s%s%s", row->proxy, server ? "/" : "", server ? row->name : "");
	return buf;
}

/* The column of names is as wide as the longest, within reason. */
static int name_width(const struct view *v, const struct view_style *style)
{
	const size_t most = style->columns == 0 || style->columns > 100 ? 40 : NAME_MAX_80;
	size_t width = NAME_MIN;
	char name[ROW_NAME_MAX];

	for (size_t i = 0; i < v->frontend_count + v->server_count; i++) {
		const bool server = i >= v->frontend_count;
		const struct view_row *row = server ? &v->servers[i - v->frontend_count] : &v->frontends[i];
		const size_t len = strlen(row_name(row, server, name));

		if (len > width)
			width = len;
	}
	return (int)(width < most ? width : most);
}

/* The same thing earlier: rows keep their order while the daemon runs, but it may be another. */
static const struct view_row *earlier(const struct view_row *row, const struct view_row *rows, size_t count,
				      size_t i)
{
	static const struct view_row nothing;

	if (i >= count || strcmp(rows[i].proxy, row->proxy) != 0 || strcmp(rows[i].name, row->name) != 0)
		return &nothing;
	return &rows[i];
}

struct list_of_rows {
	const struct view_row *rows;
	size_t count;
	const struct view_row *before; /* NULL = sums */
	size_t before_count;
	int64_t ns;
	bool servers;
	int width;
};

/* What was told to be so is no fault. */
static const char *row_colour(const struct view_row *row)
{
	if (strcmp(row->state, "open") == 0 || strcmp(row->state, "up") == 0)
		return "";
	return strcmp(row->state, "drain") == 0 || strcmp(row->state, "maint") == 0 ? COLOUR_AMBER
										   : COLOUR_RED;
}

/* The columns between those that all rows have: a server's queue and weight, a frontend's maximum. */
static void middle(const struct view_row *row, bool server, char buf[static MIDDLE_MAX])
{
	char queue[NUMBER_MAX], weight[NUMBER_MAX];

	if (server)
		(void)snprintf(buf, MIDDLE_MAX, "%5s %4s", short_count(row->queue, queue),
			       short_count(row->weight, weight)); /* a cut number is still one column */
	else
		(void)snprintf(buf, MIDDLE_MAX, "%6s", short_count(row->sessions_max, queue));
}

static void add_row(const struct list_of_rows *l, size_t i, const struct view_style *style, struct text *out)
{
	const struct view_row *row = &l->rows[i];
	char line[ADDR_TEXT_MAX + 256], name[ROW_NAME_MAX], between[MIDDLE_MAX];
	char a[NUMBER_MAX], c[NUMBER_MAX], d[NUMBER_MAX], e[NUMBER_MAX], f[NUMBER_MAX];
	uint64_t in = row->bytes_in, bytes_out = row->bytes_out;
	uint64_t extra = l->servers ? row->failures : row->limit;

	if (l->before != NULL) {
		const struct view_row *old = earlier(row, l->before, l->before_count, i);

		in = rate(in, old->bytes_in, l->ns);
		bytes_out = rate(bytes_out, old->bytes_out, l->ns);
		extra = rate(row->total, old->total, l->ns);
	}
	middle(row, l->servers, between);
	(void)snprintf(line, sizeof(line), "%-*.*s  %-5.5s %6s %s %7s %6s %6s %6s  %s", l->width, l->width,
		       row_name(row, l->servers, name), row->state, short_count(row->sessions, a), between,
		       short_count(row->total, c), short_count(extra, d), short_bytes(in, e),
		       short_bytes(bytes_out, f), row->address);
	add_line(style, row_colour(row), line, out);
}

static void add_rows(const struct list_of_rows *l, const struct view_style *style, struct text *out)
{
	const bool rates = l->before != NULL;
	char line[256];

	text_printf(out, "\n");
	(void)snprintf(line, sizeof(line), "%-*s  %-5s %6s %s %7s %6s %6s %6s  %s", l->width,
		       l->servers ? "SERVER" : "FRONTEND", "STATE", "NOW",
		       l->servers ? "QUEUE WGHT" : "  MOST", "TOTAL",
		       rates ? "NEW/S" : l->servers ? "FAILED" : "LIMIT", rates ? "IN/S" : "IN",
		       rates ? "OUT/S" : "OUT", "ADDRESS");
	add_line(style, COLOUR_BOLD, line, out);
	for (size_t i = 0; i < l->count; i++)
		add_row(l, i, style, out);
}

void view_show(const struct view *v, const struct view *before, const struct view_style *style,
	       struct text *out)
{
	struct list_of_rows l = {.rows = v->frontends, .count = v->frontend_count};

	l.width = name_width(v, style);
	if (before != NULL) {
		l.ns = v->taken_ns - before->taken_ns;
		l.before = before->frontends != NULL ? before->frontends : v->frontends;
		l.before_count = before->frontend_count;
	}
	add_head(v, before, style, out);
	add_rows(&l, style, out);
	l.servers = true;
	l.rows = v->servers;
	l.count = v->server_count;
	if (before != NULL) {
		l.before = before->servers != NULL ? before->servers : v->servers;
		l.before_count = before->server_count;
	}
	if (l.count > 0)
		add_rows(&l, style, out);
}

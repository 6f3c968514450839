/* SPDX-License-Identifier: MIT
 *
 * view_show.c - the page of `status` and `top` as text.
 *
 * Fits in 80 columns: names and addresses share the width that the numbers leave, and keep their ends, which
 * is where they differ. What is down comes first. Main thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "weir/admin/daemon_state.h"
#include "weir/admin/stat_words.h"
#include "weir/balance/server.h"
#include "weir/base/clock.h"
#include "view.h"

#define NAME_MIN     8u
#define ADDRESS_MIN  21u /* 255.255.255.255:65535 */
#define NUMBER_MAX   24
#define NUMBERS_WIDE 45u /* all columns except name, weight and address, with the blanks between them */
#define WEIGHT_WIDE  5u
#define WEIGHT_FROM  100u /* minimum width of a terminal to show weights */
#define DOWN_MAX     512
#define COLOUR_BOLD  "\x1b[1m"
#define COLOUR_RED   "\x1b[31m"
#define COLOUR_AMBER "\x1b[33m"
#define COLOUR_NONE  "\x1b[0m"
#define MIDDLE_MAX   (2 * NUMBER_MAX)
#define FIT_MAX      (ADDR_TEXT_MAX + 32)
#define ROW_NAME_MAX (2 * CONFIG_NAME_MAX + 1)

/* "1234", "12.3k", "4.5M": at most five characters. */
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

/* The increase per second between two views; 0 if the daemon was restarted between them. */
static uint64_t per_s(uint64_t now, uint64_t before, int64_t ns)
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

/* Appends a line, truncated to the page; colour codes do not count. */
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

static bool is_ready(const struct view *v)
{
	return strcmp(v->state, daemon_state_word(DAEMON_READY)) == 0;
}

static bool is_up(const struct view_row *row)
{
	return strcmp(row->state, server_state_word(SERVER_UP)) == 0 ||
	       strcasecmp(row->state, STAT_STATUS_OPEN) == 0;
}

/* True if an operator took it out. */
static bool is_taken_out(const struct view_row *row)
{
	return strcmp(row->state, server_state_word(SERVER_DRAIN)) == 0 ||
	       strcmp(row->state, server_state_word(SERVER_MAINT)) == 0 ||
	       strcasecmp(row->state, STAT_STATUS_PAUSED) == 0;
}

/* Names the backends whose servers are all down. */
static void add_down(const struct view *v, const struct view_style *style, struct text *out)
{
	char line[DOWN_MAX] = "no server up:";
	const size_t wide = style->columns;
	const size_t limit = wide != 0 && wide < sizeof(line) ? wide : sizeof(line);
	size_t len = strlen(line), named = 0, down = 0;

	for (size_t i = 0; i < v->backend_count; i++) {
		const struct view_row *b = &v->backends[i];

		if (is_up(b))
			continue;
		down++;
		/* Leaves room for ", 999 more". */
		if (named + 1 < down || len + strlen(b->proxy) + 12 > limit)
			continue;
		len += (size_t)snprintf(line + len, sizeof(line) - len, "%s %s", named > 0 ? "," : "",
					b->proxy); /* length checked above */
		named++;
	}
	if (down == 0)
		return;
	if (named < down)
		(void)snprintf(line + len, sizeof(line) - len, "%s %zu%s", named > 0 ? "," : "", down - named,
			       named > 0 ? " more" : " backends"); /* may be truncated */
	add_line(style, COLOUR_RED, line, out);
}

/* Only what needs attention: something other than the files is in effect. */
static void add_config(const struct view *v, const struct view_style *style, struct text *out)
{
	char line[VIEW_NOTE_MAX + 16];

	if (v->config[0] == '\0' || strcmp(v->config, "files") == 0)
		return;
	(void)snprintf(line, sizeof(line), "config       %s", v->config); /* fits */
	add_line(style, COLOUR_RED, line, out);
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
	add_line(style, is_ready(v) ? COLOUR_BOLD : COLOUR_RED, line, out);
	add_config(v, style, out);
	add_down(v, style, out);
	if (before == NULL)
		(void)snprintf(line, sizeof(line), "connections  %s open of %s, %s in all%s",
			       short_count(v->sessions, a), short_count(v->maxconn, b),
			       short_count(v->accepted, c), waiting);
	else
		(void)snprintf(line, sizeof(line), "connections  %s open of %s, %s new a second%s",
			       short_count(v->sessions, a), short_count(v->maxconn, b),
			       short_count(per_s(v->accepted, before->accepted, ns), c), waiting);
	add_line(style, "", line, out);
	(void)snprintf(line, sizeof(line), "bytes        %s to servers, %s to clients%s, %s %% spliced",
		       short_bytes(before == NULL ? v->bytes_to_server
						  : per_s(v->bytes_to_server, before->bytes_to_server, ns),
				   a),
		       short_bytes(before == NULL ? v->bytes_to_client
						  : per_s(v->bytes_to_client, before->bytes_to_client, ns),
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

/* The same item in the earlier view. Rows keep their order while the daemon runs, but it may have been
 * restarted. */
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
	const struct view_row *before; /* NULL = show totals */
	size_t before_count;
	int64_t ns;
	bool servers;
	bool weights;
	unsigned name_wide;
	unsigned address_wide;
	enum view_sort sort;
};

/* ---- widths ---- */

/* Truncates text for a narrow column, keeping its end, which is where names and addresses differ. */
static const char *fit(const char *text, unsigned wide, char buf[static FIT_MAX])
{
	const size_t len = strlen(text);

	if (len <= wide)
		return text;
	if (wide <= 2)
		return "";
	(void)snprintf(buf, FIT_MAX, "..%s", text + len - (wide - 2)); /* as wide as the column */
	return buf;
}

/* A frontend may have several addresses: shows the first one, and how many more there are. */
static const char *fit_addresses(const char *list, unsigned wide, char buf[static FIT_MAX])
{
	char first[ADDR_TEXT_MAX], cut[FIT_MAX];
	unsigned more = 0;

	if (strlen(list) <= wide || strchr(list, ' ') == NULL || wide <= 6)
		return fit(list, wide, buf);
	for (const char *c = list; (c = strchr(c, ' ')) != NULL; c++)
		more++;
	(void)snprintf(first, sizeof(first), "%.*s", (int)strcspn(list, " "), list);
	(void)snprintf(buf, FIT_MAX, "%.*s +%u", ADDR_TEXT_MAX, fit(first, wide - 4, cut), more);
	return buf;
}

static void widen(unsigned *wide, const char *text)
{
	const size_t len = strlen(text);

	if (len > *wide)
		*wide = (unsigned)len;
}

/* Sets the width of names and addresses, the same in both lists. */
static void plan_widths(const struct view *v, const struct view_style *style, struct list_of_rows *l)
{
	unsigned name_most = NAME_MIN, address_most = 0, left, taken = NUMBERS_WIDE;
	char name[ROW_NAME_MAX];

	for (size_t i = 0; i < v->frontend_count + v->server_count; i++) {
		const bool server = i >= v->frontend_count;
		const struct view_row *row = server ? &v->servers[i - v->frontend_count] : &v->frontends[i];

		widen(&name_most, row_name(row, server, name));
		widen(&address_most, row->address);
	}
	l->weights = style->columns == 0 || style->columns >= WEIGHT_FROM;
	l->name_wide = name_most;
	l->address_wide = address_most;
	taken += l->weights ? WEIGHT_WIDE : 0;
	left = style->columns > taken ? style->columns - taken : 0;
	if (style->columns == 0 || name_most + address_most <= left)
		return;
	if (left < NAME_MIN + ADDRESS_MIN)
		l->name_wide = NAME_MIN;
	else if (left - ADDRESS_MIN < name_most)
		l->name_wide = left - ADDRESS_MIN;
	if (address_most < ADDRESS_MIN && left > address_most + l->name_wide)
		l->name_wide = left - address_most;
	l->address_wide = left > l->name_wide ? left - l->name_wide : 0;
}

/* ---- order ---- */

static uint64_t sort_key(const struct list_of_rows *l, size_t i)
{
	const struct view_row *row = &l->rows[i];
	const struct view_row *old = l->before != NULL ? earlier(row, l->before, l->before_count, i) : NULL;
	const uint64_t bytes = row->bytes_in + row->bytes_out;

	switch (l->sort) {
	case VIEW_SORT_SESSIONS:
		return row->sessions;
	case VIEW_SORT_NEW:
		return old != NULL ? per_s(row->total, old->total, l->ns) : row->total;
	case VIEW_SORT_BYTES:
		return old != NULL ? per_s(bytes, old->bytes_in + old->bytes_out, l->ns) : bytes;
	default:
		return is_up(row) ? 0 : is_taken_out(row) ? 1 : 2;
	}
}

static int compare_rows(const void *left, const void *right, void *arg)
{
	const struct list_of_rows *l = arg;
	const size_t a = *(const size_t *)left, b = *(const size_t *)right;
	const uint64_t x = sort_key(l, a), y = sort_key(l, b);
	int by_name = 0;

	if (l->sort == VIEW_SORT_NAME) {
		by_name = strcmp(l->rows[a].proxy, l->rows[b].proxy);
		if (by_name == 0)
			by_name = strcmp(l->rows[a].name, l->rows[b].name);
	} else if (x != y) {
		return x > y ? -1 : 1;
	}
	return by_name != 0 ? by_name : a < b ? -1 : 1;
}

/* ---- rows ---- */

static const char *row_colour(const struct view_row *row)
{
	return is_up(row) ? "" : is_taken_out(row) ? COLOUR_AMBER : COLOUR_RED;
}

/* The columns that not all rows have: a server's queue and weight, a frontend's maximum. */
static void middle(const struct list_of_rows *l, const struct view_row *row, char buf[static MIDDLE_MAX])
{
	char number[NUMBER_MAX], weight[NUMBER_MAX] = "";

	if (l->weights && l->servers)
		(void)short_count(row->weight, weight);
	(void)snprintf(buf, MIDDLE_MAX, l->weights ? "%5s %4s" : "%5s%s",
		       short_count(l->servers ? row->queue : row->sessions_max, number),
		       weight); /* a cut number is still one column */
}

static void show_row(const struct list_of_rows *l, size_t i, const struct view_style *style, struct text *out)
{
	const struct view_row *row = &l->rows[i];
	char line[FIT_MAX + ROW_NAME_MAX + 512], name[ROW_NAME_MAX], between[MIDDLE_MAX];
	char short_name[FIT_MAX], address[FIT_MAX];
	char a[NUMBER_MAX], c[NUMBER_MAX], d[NUMBER_MAX], e[NUMBER_MAX], f[NUMBER_MAX];
	uint64_t in = row->bytes_in, bytes_out = row->bytes_out;
	uint64_t extra = l->servers ? row->failures : row->limit;

	if (l->before != NULL) {
		const struct view_row *old = earlier(row, l->before, l->before_count, i);

		in = per_s(in, old->bytes_in, l->ns);
		bytes_out = per_s(bytes_out, old->bytes_out, l->ns);
		extra = per_s(row->total, old->total, l->ns);
	}
	middle(l, row, between);
	(void)snprintf(line, sizeof(line), "%-*s  %-5.5s %5s %s %5s %5s %5s %5s  %s", (int)l->name_wide,
		       fit(row_name(row, l->servers, name), l->name_wide, short_name), row->state,
		       short_count(row->sessions, a), between, short_count(row->total, c),
		       short_count(extra, d), short_bytes(in, e), short_bytes(bytes_out, f),
		       l->servers ? fit(row->address, l->address_wide, address)
				  : fit_addresses(row->address, l->address_wide, address));
	add_line(style, row_colour(row), line, out);
}

static void add_rows(const struct list_of_rows *l, const struct view_style *style, struct text *out)
{
	const bool rates = l->before != NULL;
	size_t *order = malloc((l->count + 1) * sizeof(*order));
	char line[ROW_NAME_MAX + 128];

	if (order == NULL) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < l->count; i++)
		order[i] = i;
	qsort_r(order, l->count, sizeof(*order), compare_rows, (void *)l);
	text_printf(out, "\n");
	(void)snprintf(line, sizeof(line), "%-*s  %-5s %5s %s%s %5s %5s %5s %5s  %s", (int)l->name_wide,
		       l->servers ? "SERVER" : "FRONTEND", "STATE", "NOW", l->servers ? "QUEUE" : " MOST",
		       l->weights ? (l->servers ? " WGHT" : "     ") : "", "TOTAL",
		       rates ? "NEW/S" : l->servers ? " FAIL" : "LIMIT", rates ? "IN/S" : "IN",
		       rates ? "OUT/S" : "OUT", l->address_wide >= strlen("ADDRESS") ? "ADDRESS" : "");
	add_line(style, COLOUR_BOLD, line, out);
	for (size_t i = 0; i < l->count; i++)
		show_row(l, order[i], style, out);
	free(order);
}

void view_show(const struct view *v, const struct view *before, const struct view_style *style,
	       struct text *out)
{
	struct list_of_rows l = {.rows = v->frontends, .count = v->frontend_count, .sort = style->sort};

	plan_widths(v, style, &l);
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

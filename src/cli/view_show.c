/* SPDX-License-Identifier: MIT
 *
 * view_show.c - the page of `status` and `top` as text.
 *
 * Fits in 80 columns: names and addresses share the width that the numbers leave, and keep their ends, which
 * is where they differ. What is down comes first. Main thread.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trend.h"
#include "view_text.h"

#define NAME_MIN     8u
#define TREND_MIN    10u
#define ADDRESS_MIN  21u /* 255.255.255.255:65535 */
#define NUMBERS_WIDE 45u /* all columns except name, weight and address, with the blanks between them */
#define WEIGHT_WIDE  5u
#define WEIGHT_FROM  100u /* minimum width of a terminal to show weights */
#define MIDDLE_MAX   (2 * VIEW_NUMBER_MAX)
#define ROW_NAME_MAX (2 * CONFIG_NAME_MAX + 1)

static const char *row_name(const struct view_row *row, bool server, char buf[static ROW_NAME_MAX])
{
	(void)snprintf(buf, ROW_NAME_MAX, "%s%s%s", row->proxy, server ? "/" : "", server ? row->name : "");
	return buf;
}

/* A row, and what is known of it. */
struct item {
	const struct view_row *row;
	const struct view_row *old; /* in the earlier view; `nothing` if it was not there */
	const struct server_trend *trend; /* NULL = none */
	size_t at;                  /* in the view */
	uint64_t key;		    /* the order: the largest first */
};

struct list_of_rows {
	const struct view_row *rows;
	size_t count;
	const struct view_row *before; /* the earlier view */
	size_t before_count;
	bool rates; /* show them, not totals */
	int64_t ns;
	bool servers;
	bool weights;
	unsigned name_wide;
	unsigned address_wide;
	unsigned trend_wide;
	enum view_sort sort;
};

static const struct view_row nothing;

/* ---- widths ---- */

/* A frontend may have several addresses: shows the first one, and how many more there are. */
static const char *fit_addresses(const char *list, unsigned wide, char buf[static VIEW_FIT_MAX])
{
	char first[ADDR_TEXT_MAX], cut[VIEW_FIT_MAX];
	unsigned more = 0;

	if (strlen(list) <= wide || strchr(list, ' ') == NULL || wide <= 6)
		return view_fit(list, wide, buf);
	for (const char *c = list; (c = strchr(c, ' ')) != NULL; c++)
		more++;
	(void)snprintf(first, sizeof(first), "%.*s", (int)strcspn(list, " "), list);
	(void)snprintf(buf, VIEW_FIT_MAX, "%.*s +%u", ADDR_TEXT_MAX, view_fit(first, wide - 4, cut), more);
	return buf;
}

static void widen(unsigned *wide, const char *text)
{
	const size_t len = strlen(text);

	if (len > *wide)
		*wide = (unsigned)len;
}

/* On the page of servers, trends have the place of the addresses. */
static void plan_trends(const struct view_style *style, struct list_of_rows *l, unsigned left)
{
	const unsigned wide = left > l->name_wide ? left - l->name_wide : 0;

	l->address_wide = 0;
	l->trend_wide = wide < TREND_MAX ? wide : TREND_MAX;
	if (style->trends == NULL)
		l->trend_wide = 0;
}

/* Sets the width of names and addresses, the same in both lists. */
static void plan_widths(const struct view *v, const struct view_style *style, struct list_of_rows *l)
{
	const bool trends = style->page == VIEW_PAGE_SERVERS;
	const unsigned other = trends ? TREND_MIN : ADDRESS_MIN;
	unsigned name_most = NAME_MIN, address_most = 0, left, taken = NUMBERS_WIDE;
	char name[ROW_NAME_MAX];

	for (size_t i = trends ? v->frontend_count : 0; i < v->frontend_count + v->server_count; i++) {
		const bool server = i >= v->frontend_count;
		const struct view_row *row = server ? &v->servers[i - v->frontend_count] : &v->frontends[i];

		widen(&name_most, row_name(row, server, name));
		widen(&address_most, trends ? "" : row->address);
	}
	l->weights = style->columns == 0 || style->columns >= WEIGHT_FROM;
	l->name_wide = name_most;
	l->address_wide = address_most;
	taken += l->weights ? WEIGHT_WIDE : 0;
	left = style->columns > taken ? style->columns - taken : 0;
	if (style->columns != 0 && (name_most + address_most > left || trends)) {
		if (left < NAME_MIN + other)
			l->name_wide = NAME_MIN;
		else if (left - other < name_most)
			l->name_wide = left - other;
		if (!trends && address_most < ADDRESS_MIN && left > address_most + l->name_wide)
			l->name_wide = left - address_most;
		l->address_wide = left > l->name_wide ? left - l->name_wide : 0;
	}
	if (trends)
		plan_trends(style, l, left);
}

/* ---- order ---- */

static uint64_t sort_key(const struct list_of_rows *l, const struct item *item)
{
	const struct view_row *row = item->row, *old = item->old;

	switch (l->sort) {
	case VIEW_SORT_SESSIONS:
		return row->sessions;
	case VIEW_SORT_NEW:
		return l->rates ? view_per_s(row->total, old->total, l->ns) : row->total;
	case VIEW_SORT_BYTES:
		return l->rates ? view_per_s(view_moved(row), view_moved(old), l->ns) : view_moved(row);
	case VIEW_SORT_NAME:
		return 0;
	default:
		return view_is_up(row) ? 0 : view_is_taken_out(row) ? 1 : 2;
	}
}

static int compare_items(const void *left, const void *right, void *arg)
{
	const struct list_of_rows *l = arg;
	const struct item *a = left, *b = right;
	int by_name = 0;

	if (l->sort == VIEW_SORT_NAME) {
		by_name = strcmp(a->row->proxy, b->row->proxy);
		if (by_name == 0)
			by_name = strcmp(a->row->name, b->row->name);
	} else if (a->key != b->key) {
		return a->key > b->key ? -1 : 1;
	}
	return by_name != 0 ? by_name : a->at < b->at ? -1 : 1;
}

static bool is_wanted(const struct list_of_rows *l, const struct view_row *row, const char *filter)
{
	char name[ROW_NAME_MAX];

	return filter == NULL || filter[0] == '\0' ||
	       strcasestr(row_name(row, l->servers, name), filter) != NULL ||
	       strcasestr(row->address, filter) != NULL || strcasestr(row->state, filter) != NULL;
}

/* The rows that are shown, in their order, as an array to free; NULL if out of memory. */
static struct item *make_items(const struct list_of_rows *l, const struct view_style *style, size_t *shown)
{
	const struct view_row **old = calloc(l->count + 1, sizeof(*old));
	struct item *items = calloc(l->count + 1, sizeof(*items));

	*shown = 0;
	if (old == NULL || items == NULL) {
		free(old);
		free(items);
		return NULL;
	}
	view_match(l->rows, l->count, l->before, l->before_count, old);
	for (size_t i = 0; i < l->count; i++) {
		struct item *item = &items[*shown];

		if (!is_wanted(l, &l->rows[i], style->filter))
			continue;
		*item = (struct item){.row = &l->rows[i], .old = old[i] != NULL ? old[i] : &nothing, .at = i};
		if (l->trend_wide > 0 && i < style->trends->server_count)
			item->trend = &style->trends->servers[i];
		item->key = sort_key(l, item);
		++*shown;
	}
	free(old);
	qsort_r(items, *shown, sizeof(*items), compare_items, (void *)l);
	return items;
}

/* ---- rows ---- */

static const char *row_colour(const struct view_row *row)
{
	return view_is_up(row) ? "" : view_is_taken_out(row) ? VIEW_AMBER : VIEW_RED;
}

/* The columns that not all rows have: a server's queue and weight, a frontend's maximum. */
static void middle(const struct list_of_rows *l, const struct view_row *row, char buf[static MIDDLE_MAX])
{
	char number[VIEW_NUMBER_MAX], weight[VIEW_NUMBER_MAX] = "";

	if (l->weights && l->servers)
		(void)view_count(row->weight, weight);
	(void)snprintf(buf, MIDDLE_MAX, l->weights ? "%5s %4s" : "%5s%s",
		       view_count(l->servers ? row->queue : row->sessions_max, number),
		       weight); /* a cut number is still one column */
}

/* Appends a line and the trend that goes on it. */
static void show_trend(const struct list_of_rows *l, const struct item *item, const char *line,
		       const struct view_style *style, struct text *out)
{
	const bool coloured = style->colour && row_colour(item->row)[0] != '\0';

	text_printf(out, "%s%s", coloured ? row_colour(item->row) : "", line);
	if (item->trend != NULL)
		trend_draw(&item->trend->bytes, l->trend_wide, style->blocks, out);
	text_printf(out, "%s\n", coloured ? VIEW_NONE : "");
}

static void show_row(const struct list_of_rows *l, const struct item *item, const struct view_style *style,
		     struct text *out)
{
	const struct view_row *row = item->row, *old = item->old;
	char line[VIEW_FIT_MAX + ROW_NAME_MAX + 512], name[ROW_NAME_MAX], between[MIDDLE_MAX];
	char short_name[VIEW_FIT_MAX], address[VIEW_FIT_MAX];
	char now[VIEW_NUMBER_MAX], total[VIEW_NUMBER_MAX], third[VIEW_NUMBER_MAX];
	char in[VIEW_NUMBER_MAX], bytes_out[VIEW_NUMBER_MAX];
	const uint64_t other = l->servers ? row->failures : row->limit;

	middle(l, row, between);
	(void)snprintf(line, sizeof(line), "%-*s  %-5.5s %5s %s %5s %5s %5s %5s  %s", (int)l->name_wide,
		       view_fit(row_name(row, l->servers, name), l->name_wide, short_name), row->state,
		       view_count(row->sessions, now), between, view_count(row->total, total),
		       view_count(l->rates ? view_per_s(row->total, old->total, l->ns) : other, third),
		       view_bytes(l->rates ? view_per_s(row->bytes_in, old->bytes_in, l->ns) : row->bytes_in,
				  in),
		       view_bytes(l->rates ? view_per_s(row->bytes_out, old->bytes_out, l->ns)
					   : row->bytes_out,
				  bytes_out),
		       l->servers ? view_fit(row->address, l->address_wide, address)
				  : fit_addresses(row->address, l->address_wide, address));
	if (l->trend_wide > 0)
		show_trend(l, item, line, style, out);
	else
		view_line(style, row_colour(row), line, out);
}

static void add_titles(const struct list_of_rows *l, const struct view_style *style, struct text *out)
{
	const bool rates = l->rates;
	char line[ROW_NAME_MAX + 128];

	text_printf(out, "\n");
	(void)snprintf(line, sizeof(line), "%-*s  %-5s %5s %s%s %5s %5s %5s %5s  %s", (int)l->name_wide,
		       l->servers ? "SERVER" : "FRONTEND", "STATE", "NOW", l->servers ? "QUEUE" : " MOST",
		       l->weights ? (l->servers ? " WGHT" : "     ") : "", "TOTAL",
		       rates ? "NEW/S" : l->servers ? " FAIL" : "LIMIT", rates ? "IN/S" : "IN",
		       rates ? "OUT/S" : "OUT",
		       l->trend_wide >= strlen("BYTES/S")	? "BYTES/S"
		       : l->address_wide >= strlen("ADDRESS") ? "ADDRESS"
							      : "");
	view_line(style, VIEW_BOLD, line, out);
}

static void add_rows(const struct list_of_rows *l, const struct view_style *style, struct text *out)
{
	size_t shown;
	struct item *items = make_items(l, style, &shown);

	if (items == NULL) {
		out->failed = true;
		return;
	}
	add_titles(l, style, out);
	for (size_t i = 0; i < shown; i++)
		show_row(l, &items[i], style, out);
	free(items);
}

static void add_frontends(const struct view *v, const struct view *before, struct list_of_rows l,
			  const struct view_style *style, struct text *out)
{
	l.rows = v->frontends;
	l.count = v->frontend_count;
	l.before = before != NULL ? before->frontends : NULL;
	l.before_count = before != NULL ? before->frontend_count : 0;
	add_rows(&l, style, out);
}

static void set_servers(const struct view *v, const struct view *before, struct list_of_rows *l)
{
	l->servers = true;
	l->rows = v->servers;
	l->count = v->server_count;
	l->before = before != NULL ? before->servers : NULL;
	l->before_count = before != NULL ? before->server_count : 0;
}

static struct list_of_rows begin_list(const struct view *v, const struct view *before,
				      const struct view_style *style)
{
	return (struct list_of_rows){
		.sort = style->sort,
		.rates = before != NULL,
		.ns = before != NULL ? v->taken_ns - before->taken_ns : 0,
	};
}

void view_show(const struct view *v, const struct view *before, const struct view_style *style,
	       struct text *out)
{
	struct list_of_rows l = begin_list(v, before, style);

	plan_widths(v, style, &l);
	view_head(v, before, style, out);
	if (style->page == VIEW_PAGE_ALL)
		add_frontends(v, before, l, style, out);
	set_servers(v, before, &l);
	if (v->server_count > 0 || style->page == VIEW_PAGE_SERVERS)
		add_rows(&l, style, out);
}

void view_choose(const struct view *v, const struct view *before, const struct view_style *style,
		 struct view_choice *choice, int steps)
{
	struct list_of_rows l = begin_list(v, before, style);
	ptrdiff_t at = 0;
	struct item *items;
	size_t shown;

	set_servers(v, before, &l);
	items = make_items(&l, style, &shown);
	for (size_t i = 0; i < shown; i++)
		if (strcmp(items[i].row->name, choice->name) == 0 &&
		    strcmp(items[i].row->proxy, choice->proxy) == 0)
			at = (ptrdiff_t)i;
	at += steps;
	if (at >= (ptrdiff_t)shown)
		at = (ptrdiff_t)shown - 1;
	memset(choice, 0, sizeof(*choice));
	if (shown > 0) {
		const struct view_row *row = items[at > 0 ? at : 0].row;

		memcpy(choice->proxy, row->proxy, sizeof(choice->proxy));
		memcpy(choice->name, row->name, sizeof(choice->name));
	}
	free(items);
}

/* SPDX-License-Identifier: MIT
 *
 * sessions_view.c - the live sessions of a running weir as `top` shows them: fetched, and as a list.
 *
 * Reads the fields of `show sess` by their names, so that it also understands a daemon with more of them. A
 * session is followed by its number, which no other session of the process gets. Main thread.
 */
#include "sessions_view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "view_text.h"

#define QUESTION "show sess\n"

#define ID_WIDE	    10u
#define CLIENT_WIDE 21u /* 255.255.255.255:65535 */
#define STATE_WIDE  10u
#define STATE_FROM  100u /* minimum width of a terminal to show states */
#define NUMBERS	    31u	 /* age and bytes, with a blank before each */
#define SERVER_MIN  8u
#define SERVER_NAME_MAX   (2 * CONFIG_NAME_MAX + 1)
#define SESSION_LINE_MAX   (2 * VIEW_FIT_MAX + 256)

void sessions_view_init(struct sessions_view *v)
{
	memset(v, 0, sizeof(*v));
	text_init(&v->answer);
}

void sessions_view_free(struct sessions_view *v)
{
	text_free(&v->answer);
	free(v->rows);
	sessions_view_init(v);
}

/* ---- reading ---- */

static void read_field(struct session_row *row, const char *name, const char *value)
{
	const struct {
		const char *name;
		const char **text;
		uint64_t *number;
	} fields[] = {
		{"id", &row->id, NULL},		    {"state", &row->state, NULL},
		{"client", &row->client, NULL},	    {"frontend", &row->frontend, NULL},
		{"backend", &row->backend, NULL},   {"server", &row->server, NULL},
		{"bytes_in", NULL, &row->bytes_in}, {"bytes_out", NULL, &row->bytes_out},
		{"age_ms", NULL, &row->age_ms},
	};

	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (strcmp(fields[i].name, name) != 0)
			continue;
		if (fields[i].text != NULL)
			*fields[i].text = value;
		else
			*fields[i].number = view_number(value);
	}
}

/* "0x100000005: proto=tcpv4 ... id=0.5 state=forwarding ..." */
static bool read_line(struct session_row *row, char *line)
{
	char *next = line, *word, *end;

	*row = (struct session_row){
		.id = "", .state = "", .client = "", .frontend = "", .backend = "", .server = "",
	};
	word = strsep(&next, " ");
	row->key = strtoull(word, &end, 16);
	if (row->key == 0 || strcmp(end, ":") != 0)
		return false;
	while ((word = strsep(&next, " ")) != NULL) {
		char *equals = strchr(word, '=');

		if (equals == NULL)
			continue;
		*equals = '\0';
		read_field(row, word, equals + 1);
	}
	return row->id[0] != '\0';
}

static int compare_keys(const void *left, const void *right)
{
	const struct session_row *a = left, *b = right;

	return a->key < b->key ? -1 : a->key > b->key;
}

bool sessions_view_read(struct sessions_view *v)
{
	char *next = v->answer.bytes, *line;

	check(v->rows == NULL);
	if (v->answer.failed)
		return false;
	v->rows = calloc(next != NULL ? view_count_lines(next) + 1 : 1, sizeof(*v->rows));
	if (v->rows == NULL)
		return false;
	while ((line = strsep(&next, "\n")) != NULL)
		v->count += read_line(&v->rows[v->count], line);
	qsort(v->rows, v->count, sizeof(*v->rows), compare_keys);
	return true;
}

int sessions_view_take(struct sessions_view *v, const struct addr_spec *spec, int wait_ms)
{
	static const char error[] = "error: ";
	int err;

	sessions_view_free(v);
	err = ask_once(spec, QUESTION, wait_ms, &v->answer);
	v->taken_ns = clock_mono_ns();
	if (err)
		return err;
	if (strncmp(v->answer.bytes, error, strlen(error)) == 0)
		v->refusal = v->answer.bytes + strlen(error);
	return sessions_view_read(v) ? 0 : -ENOMEM;
}

/* ---- the list ---- */

/* A session, and what is known of it. */
struct item {
	const struct session_row *row;
	uint64_t in_per_s;
	uint64_t out_per_s;
	uint64_t key; /* the order: the largest first */
};

struct layout {
	enum view_sort sort;
	bool state;
	unsigned server_wide;
};

static const char *server_name(const struct session_row *row, char buf[static SERVER_NAME_MAX])
{
	const bool has_server = row->server[0] != '\0' && strcmp(row->server, "-") != 0;

	(void)snprintf(buf, SERVER_NAME_MAX, "%s%s%s", row->backend, has_server ? "/" : "",
		       has_server ? row->server : ""); /* names of ours fit */
	return buf;
}

static bool is_wanted(const struct session_row *row, const char *filter)
{
	char name[SERVER_NAME_MAX];

	return filter == NULL || filter[0] == '\0' || strcasestr(row->client, filter) != NULL ||
	       strcasestr(server_name(row, name), filter) != NULL ||
	       strcasestr(row->frontend, filter) != NULL || strcasestr(row->state, filter) != NULL ||
	       strcmp(row->id, filter) == 0;
}

static uint64_t sort_key(const struct layout *l, const struct item *item)
{
	switch (l->sort) {
	case VIEW_SORT_STATE:
		return item->row->age_ms;
	case VIEW_SORT_NEW:
		return UINT64_MAX - item->row->age_ms;
	case VIEW_SORT_BYTES:
		return item->in_per_s + item->out_per_s;
	case VIEW_SORT_SESSIONS:
		return item->row->bytes_in + item->row->bytes_out;
	default:
		return 0;
	}
}

static int compare_items(const void *left, const void *right, void *arg)
{
	const struct layout *l = arg;
	const struct item *a = left, *b = right;
	int by_name = 0;

	if (l->sort == VIEW_SORT_NAME)
		by_name = strcmp(a->row->client, b->row->client);
	if (by_name != 0)
		return by_name;
	if (a->key != b->key)
		return a->key > b->key ? -1 : 1;
	return compare_keys(a->row, b->row);
}

static void measure(struct item *item, const struct sessions_view *before, int64_t ns)
{
	const struct session_row *old = NULL;

	if (before != NULL && before->count > 0)
		old = bsearch(item->row, before->rows, before->count, sizeof(*before->rows), compare_keys);
	if (old != NULL) {
		item->in_per_s = view_per_s(item->row->bytes_in, old->bytes_in, ns);
		item->out_per_s = view_per_s(item->row->bytes_out, old->bytes_out, ns);
	} else if (before != NULL) {
		/* It is younger than the view before. */
		item->in_per_s = view_per_s(item->row->bytes_in, 0, ns);
		item->out_per_s = view_per_s(item->row->bytes_out, 0, ns);
	}
}

/* The sessions that are shown, in their order, as an array to free; NULL if out of memory. */
static struct item *make_items(const struct sessions_view *v, const struct sessions_view *before,
			       const struct view_style *style, const struct layout *l, size_t *shown)
{
	const int64_t ns = before != NULL ? v->taken_ns - before->taken_ns : 0;
	struct item *items = calloc(v->count + 1, sizeof(*items));

	*shown = 0;
	if (items == NULL)
		return NULL;
	for (size_t i = 0; i < v->count; i++) {
		struct item *item = &items[*shown];

		if (!is_wanted(&v->rows[i], style->filter))
			continue;
		item->row = &v->rows[i];
		measure(item, before, ns);
		item->key = sort_key(l, item);
		++*shown;
	}
	qsort_r(items, *shown, sizeof(*items), compare_items, (void *)l);
	return items;
}

static void plan_layout(const struct sessions_view *v, const struct view_style *style, struct layout *l)
{
	const unsigned taken = ID_WIDE + 1 + CLIENT_WIDE + 2 + NUMBERS;
	char name[SERVER_NAME_MAX];
	size_t most = SERVER_MIN;

	l->sort = style->sort;
	l->state = style->columns == 0 || style->columns >= STATE_FROM;
	for (size_t i = 0; i < v->count; i++) {
		const size_t len = strlen(server_name(&v->rows[i], name));

		most = len > most ? len : most;
	}
	l->server_wide = (unsigned)most;
	if (style->columns != 0) {
		const unsigned used = taken + (l->state ? STATE_WIDE + 1 : 0);
		const unsigned left = style->columns > used + SERVER_MIN ? style->columns - used : SERVER_MIN;

		l->server_wide = l->server_wide < left ? l->server_wide : left;
	}
}

static void show_item(const struct layout *l, const struct item *item, const struct view_style *style,
		      struct text *out)
{
	const struct session_row *row = item->row;
	const bool forwards = strcmp(row->state, "forwarding") == 0;
	char line[SESSION_LINE_MAX], name[SERVER_NAME_MAX], client[VIEW_FIT_MAX], server[VIEW_FIT_MAX];
	char state[VIEW_WORD_MAX] = "";
	char age[VIEW_NUMBER_MAX], in_per_s[VIEW_NUMBER_MAX], out_per_s[VIEW_NUMBER_MAX];
	char in[VIEW_NUMBER_MAX], bytes_out[VIEW_NUMBER_MAX];

	if (l->state)
		(void)snprintf(state, sizeof(state), " %-10.10s", row->state);
	(void)snprintf(line, sizeof(line), "%-*.*s %-*s  %-*s%s %6s %5s %5s %5s %5s", (int)ID_WIDE,
		       (int)ID_WIDE, row->id, (int)CLIENT_WIDE, view_fit(row->client, CLIENT_WIDE, client),
		       (int)l->server_wide, view_fit(server_name(row, name), l->server_wide, server), state,
		       view_time(row->age_ms / 1000, age), view_bytes(item->in_per_s, in_per_s),
		       view_bytes(item->out_per_s, out_per_s), view_bytes(row->bytes_in, in),
		       view_bytes(row->bytes_out, bytes_out));
	view_line(style, forwards ? "" : VIEW_AMBER, line, out);
}

void sessions_view_show(const struct sessions_view *v, const struct sessions_view *before,
			const struct view_style *style, struct text *out)
{
	struct layout l;
	struct item *items;
	char line[SESSION_LINE_MAX];
	size_t shown;

	plan_layout(v, style, &l);
	items = make_items(v, before, style, &l, &shown);
	if (items == NULL) {
		out->failed = true;
		return;
	}
	(void)snprintf(line, sizeof(line), "%-*s %-*s  %-*.*s%s %6s %5s %5s %5s %5s", (int)ID_WIDE, "SESSION",
		       (int)CLIENT_WIDE, "CLIENT", (int)l.server_wide, (int)l.server_wide, "SERVER",
		       l.state ? " STATE     " : "", "AGE", "IN/S", "OUT/S", "IN", "OUT");
	text_add(out, "\n", 1);
	view_line(style, VIEW_BOLD, line, out);
	if (v->refusal != NULL)
		view_line(style, VIEW_RED, v->refusal, out);
	for (size_t i = 0; i < shown; i++)
		show_item(&l, &items[i], style, out);
	free(items);
}

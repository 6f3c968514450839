/* SPDX-License-Identifier: MIT
 *
 * server_view.c - one server of a running weir as `top` shows it, with its trends and its last changes.
 *
 * Its numbers come from the views that the other pages show, its changes from `show servers history`. Main
 * thread.
 */
#include "server_view.h"

#include <stdio.h>
#include <string.h>

#include "trend.h"
#include "view_text.h"

#define CAUSE_MAX  256
#define CHANGE_MAX 512
#define LABEL	   "%-13s" /* as wide as those of the head */

void server_view_init(struct server_view *v)
{
	text_init(&v->answer);
}

void server_view_free(struct server_view *v)
{
	text_free(&v->answer);
	server_view_init(v);
}

int server_view_take(struct server_view *v, const struct addr_spec *spec, const struct view_choice *choice,
		     int wait_ms)
{
	char question[2 * CONFIG_NAME_MAX + 32];

	server_view_free(v);
	if (choice->name[0] == '\0')
		return 0;
	(void)snprintf(question, sizeof(question), "show servers history %s/%s\n", choice->proxy,
		       choice->name); /* fits */
	return ask_once(spec, question, wait_ms, &v->answer);
}

/* ---- its changes ---- */

/* "2026-11-23T20:08:28.098Z web/a "UP" -> "DOWN": refused" without the name. Other lines, such as a refusal,
 * stay as they are. */
static void put_change(const char *line, size_t len, const struct view_style *style, struct text *out)
{
	const char *name = memchr(line, ' ', len);
	const char *change = name != NULL ? memchr(name + 1, ' ', len - (size_t)(name + 1 - line)) : NULL;
	char shown[CHANGE_MAX];

	if (change != NULL && line[0] >= '0' && line[0] <= '9')
		(void)snprintf(shown, sizeof(shown), "%.*s%.*s", (int)(name - line), line,
			       (int)(line + len - change), change); /* may be truncated */
	else
		(void)snprintf(shown, sizeof(shown), "%.*s", (int)len, line); /* the same */
	view_line(style, "", shown, out);
}

static void put_changes(const struct server_view *v, const struct view_style *style, struct text *out)
{
	const char *begin = v->answer.bytes, *end = begin != NULL ? begin + v->answer.len : NULL;

	while (end != NULL && end > begin) {
		const char *line = end;

		while (line > begin && line[-1] != '\n')
			line--;
		if (end > line)
			put_change(line, (size_t)(end - line), style, out);
		end = line > begin ? line - 1 : begin;
	}
}

/* Why the server is in its state: the cause of the last change of it; "" if not known. */
static void find_cause(const struct server_view *v, char cause[static CAUSE_MAX])
{
	static const char arrow[] = "\" -> \"", colon[] = "\": ";
	const char *at = v->answer.bytes, *found = NULL;

	for (; at != NULL && (at = strstr(at, arrow)) != NULL; at += strlen(arrow))
		found = at + strlen(arrow);
	found = found != NULL ? strstr(found, colon) : NULL;
	found = found != NULL ? found + strlen(colon) : "";
	(void)snprintf(cause, CAUSE_MAX, "%.*s", (int)strcspn(found, "\n"), found); /* may be truncated */
}

/* ---- what is known of it now ---- */

static const struct view_row *find_row(const struct view *v, const struct view_choice *choice, size_t *at)
{
	for (*at = 0; v != NULL && *at < v->server_count; ++*at)
		if (strcmp(v->servers[*at].name, choice->name) == 0 &&
		    strcmp(v->servers[*at].proxy, choice->proxy) == 0)
			return &v->servers[*at];
	return NULL;
}

static void put_state(const struct server_view *v, const struct view_row *row, const struct view_style *style,
		      struct text *out)
{
	const char *colour = view_is_up(row) ? "" : view_is_taken_out(row) ? VIEW_AMBER : VIEW_RED;
	char line[CHANGE_MAX], cause[CAUSE_MAX], since[VIEW_NUMBER_MAX];

	find_cause(v, cause);
	(void)snprintf(line, sizeof(line), LABEL "%s for %s%s%s", "state", row->state,
		       view_time(row->since_s, since), cause[0] != '\0' ? ": " : "", cause); /* fits */
	view_line(style, colour, line, out);
	if (row->check[0] == '\0')
		return;
	(void)snprintf(line, sizeof(line), LABEL "%s", "check", row->check); /* fits */
	view_line(style, "", line, out);
}

static void put_numbers(const struct view_row *row, const struct view_row *old, int64_t ns,
			const struct view_style *style, struct text *out)
{
	char line[CHANGE_MAX], a[VIEW_NUMBER_MAX], b[VIEW_NUMBER_MAX], c[VIEW_NUMBER_MAX], d[VIEW_NUMBER_MAX],
		e[VIEW_NUMBER_MAX];
	const bool rates = old != NULL;

	(void)snprintf(line, sizeof(line),
		       LABEL "%s open, %s at most, %s in all, %s failed, %s wait; weight %llu", "connections",
		       view_count(row->sessions, a), view_count(row->sessions_max, b),
		       view_count(row->total, c), view_count(row->failures, d), view_count(row->queue, e),
		       (unsigned long long)row->weight); /* fits */
	view_line(style, "", line, out);
	(void)snprintf(line, sizeof(line), LABEL "%s to the server, %s to clients, %s new%s", "bytes",
		       view_bytes(rates ? view_per_s(row->bytes_in, old->bytes_in, ns) : row->bytes_in, a),
		       view_bytes(rates ? view_per_s(row->bytes_out, old->bytes_out, ns) : row->bytes_out, b),
		       view_count(rates ? view_per_s(row->total, old->total, ns) : row->total, c),
		       rates ? " a second" : " in all"); /* fits */
	view_line(style, "", line, out);
}

static void put_trend(const char *label, const struct trend *t, const struct view_style *style,
		      struct text *out)
{
	char begin[VIEW_WORD_MAX];
	const size_t taken = (size_t)snprintf(begin, sizeof(begin), LABEL, label); /* fits */
	const unsigned left = style->columns > taken ? style->columns - (unsigned)taken : 0;

	if (left == 0)
		return;
	text_printf(out, "%s", begin);
	trend_draw(t, left < TREND_MAX ? left : TREND_MAX, style->blocks, out);
	text_add(out, "\n", 1);
}

void server_view_show(const struct server_view *v, const struct view *now, const struct view *before,
		      const struct view_choice *choice, const struct view_style *style, struct text *out)
{
	size_t at, before_at;
	const struct view_row *row = find_row(now, choice, &at);
	const struct view_row *old = find_row(before, choice, &before_at);
	char line[2 * CONFIG_NAME_MAX + ADDR_TEXT_MAX + 32];

	text_add(out, "\n", 1);
	if (row == NULL) {
		view_line(style, VIEW_BOLD, "SERVER", out);
		view_line(style, "", choice->name[0] != '\0' ? "is gone" : "none that the filter shows", out);
		return;
	}
	(void)snprintf(line, sizeof(line), "SERVER       %s/%s  %s", row->proxy, row->name,
		       row->address); /* fits */
	view_line(style, VIEW_BOLD, line, out);
	put_state(v, row, style, out);
	put_numbers(row, old, old != NULL ? now->taken_ns - before->taken_ns : 0, style, out);
	if (style->trends != NULL && at < style->trends->server_count) {
		put_trend("new", &style->trends->servers[at].accepted, style, out);
		put_trend("bytes", &style->trends->servers[at].bytes, style, out);
	}
	view_line(style, "", "", out);
	view_line(style, VIEW_BOLD, "CHANGES", out);
	put_changes(v, style, out);
}

/* SPDX-License-Identifier: MIT
 *
 * view_head.c - the lines above the lists of `status` and `top`: the process, and what needs attention.
 *
 * Main thread.
 */
#include <stdio.h>
#include <string.h>

#include "weir/admin/daemon_state.h"
#include "trend.h"
#include "view_text.h"

#define DOWN_MAX 512

static bool is_ready(const struct view *v)
{
	return strcmp(v->state, daemon_state_word(DAEMON_READY)) == 0;
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

		if (view_is_up(b))
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
	view_line(style, VIEW_RED, line, out);
}

/* Only what needs attention: something other than the files is in effect. */
static void add_config(const struct view *v, const struct view_style *style, struct text *out)
{
	char line[VIEW_NOTE_MAX + 16];

	if (v->config[0] == '\0' || strcmp(v->config, "files") == 0)
		return;
	(void)snprintf(line, sizeof(line), "config       %s", v->config); /* fits */
	view_line(style, VIEW_RED, line, out);
}

/* "lately       new ______  bytes ______", as wide as the page. */
static void add_trends(const struct view_style *style, struct text *out)
{
	static const char first[] = "lately       new ", second[] = "  bytes ";
	const unsigned taken = (unsigned)(strlen(first) + strlen(second));
	const unsigned left = style->columns > taken ? (style->columns - taken) / 2 : 0;
	const unsigned wide = left < TREND_MAX ? left : TREND_MAX;

	if (wide == 0)
		return;
	text_printf(out, "%s", first);
	trend_draw(&style->trends->accepted, wide, style->blocks, out);
	text_printf(out, "%s", second);
	trend_draw(&style->trends->bytes, wide, style->blocks, out);
	text_add(out, "\n", 1);
}

void view_head(const struct view *v, const struct view *before, const struct view_style *style,
	       struct text *out)
{
	const int64_t ns = before != NULL ? v->taken_ns - before->taken_ns : 0;
	const uint64_t bytes = v->bytes_to_server + v->bytes_to_client;
	const uint64_t spliced =
		bytes > 0 ? (uint64_t)(100. * (double)v->bytes_spliced / (double)bytes) : 0;
	uint64_t to_server = v->bytes_to_server, to_client = v->bytes_to_client;
	char line[256], a[VIEW_NUMBER_MAX], b[VIEW_NUMBER_MAX], c[VIEW_NUMBER_MAX], d[VIEW_NUMBER_MAX];
	char waiting[VIEW_NUMBER_MAX + 32] = "";

	if (v->queued > 0)
		(void)snprintf(waiting, sizeof(waiting), ", %s wait for a server", view_count(v->queued, d));
	(void)snprintf(line, sizeof(line), "weir %s  %s  pid %llu  up %s  %llu worker%s  %s", v->version,
		       v->state, (unsigned long long)v->pid, view_time(v->uptime_s, a),
		       (unsigned long long)v->workers, v->workers == 1 ? "" : "s", v->driver);
	view_line(style, is_ready(v) ? VIEW_BOLD : VIEW_RED, line, out);
	add_config(v, style, out);
	add_down(v, style, out);
	if (before == NULL)
		(void)snprintf(line, sizeof(line), "connections  %s open of %s, %s in all%s",
			       view_count(v->sessions, a), view_count(v->maxconn, b),
			       view_count(v->accepted, c), waiting);
	else
		(void)snprintf(line, sizeof(line), "connections  %s open of %s, %s new a second%s",
			       view_count(v->sessions, a), view_count(v->maxconn, b),
			       view_count(view_per_s(v->accepted, before->accepted, ns), c), waiting);
	view_line(style, "", line, out);
	if (before != NULL) {
		to_server = view_per_s(to_server, before->bytes_to_server, ns);
		to_client = view_per_s(to_client, before->bytes_to_client, ns);
	}
	(void)snprintf(line, sizeof(line), "bytes        %s to servers, %s to clients%s, %s %% spliced",
		       view_bytes(to_server, a), view_bytes(to_client, b), before == NULL ? "" : " a second",
		       view_count(spliced, d));
	view_line(style, "", line, out);
	if (style->trends != NULL)
		add_trends(style, out);
}

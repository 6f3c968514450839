/* SPDX-License-Identifier: MIT
 *
 * page_server.c - the details of one server: its state over time, its last changes, and all its numbers.
 *
 * Any thread, as long as control changes neither its history nor its tally meanwhile.
 */
#include "page_server.h"

#include "weir/balance/change_log.h"
#include "weir/balance/server.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/wall_time.h"
#include "objects.h"
#include "page_card.h"
#include "page_row.h"

/* Units of the picture of its states from side to side. */
#define STRIP_WIDTH 1000

enum page_tone page_server_tone(unsigned state)
{
	switch ((enum server_state)state) {
	case SERVER_UP:
		return PAGE_GOOD;
	case SERVER_DRAIN:
	case SERVER_NOLB:
		return PAGE_WARN;
	case SERVER_MAINT:
		return PAGE_OFF;
	case SERVER_DOWN:
	case SERVER_UNRESOLVED:
		break;
	}
	return PAGE_BAD;
}

/* ---- its states over time ---- */

struct strip {
	struct text *out;
	int64_t begin_ns; /* since 1970 */
	int64_t end_ns;
};

/* Where a moment is, from the left. The clock may have been set: a moment outside is at an end. */
static unsigned place_of(const struct strip *s, int64_t at_ns)
{
	const double part = (double)(at_ns - s->begin_ns) / (double)(s->end_ns - s->begin_ns);

	return part <= 0 ? 0 : part >= 1 ? STRIP_WIDTH : (unsigned)(part * STRIP_WIDTH);
}

static void put_stretch(const struct strip *s, int64_t from_ns, int64_t to_ns, uint32_t state)
{
	const unsigned left = place_of(s, from_ns), right = place_of(s, to_ns);

	if (right <= left)
		return;
	text_printf(s->out, "<rect class=\"%s\" x=\"%u\" width=\"%u\" height=\"20\"><title>",
		    page_tone_word(page_server_tone(state)), left, right - left);
	html_text(s->out, server_state_text((enum server_state)state));
	html_raw(s->out, "</title></rect>");
}

/* The state between one change of it and the next, from the oldest that is kept until now. */
static void put_stretches(struct strip *s, const struct history *h)
{
	const struct history_change *last = NULL;

	for (size_t i = 0; i < history_size(h); i++) {
		const struct history_change *change = history_get(h, i);

		if (change->what != CHANGE_STATE)
			continue;
		if (last != NULL)
			put_stretch(s, last->wall_ns, change->wall_ns, last->to);
		else
			put_stretch(s, s->begin_ns, change->wall_ns, change->from);
		last = change;
	}
	if (last != NULL)
		put_stretch(s, last->wall_ns, s->end_ns, last->to);
}

static void put_strip(const struct history *h, int64_t now_ns, struct text *out)
{
	struct strip s = {.out = out, .end_ns = now_ns};
	char begin[WALL_TIME_MAX];

	if (history_size(h) == 0 || history_get(h, 0)->wall_ns >= now_ns)
		return;
	s.begin_ns = history_get(h, 0)->wall_ns;
	text_printf(out,
		    "<figure data-live=\"strip\"><svg class=\"strip\" viewBox=\"0 0 %d 20\" "
		    "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"states over time\">",
		    STRIP_WIDTH);
	put_stretches(&s, h);
	text_printf(out, "</svg><figcaption><span>%s</span><span>now</span></figcaption></figure>\n",
		    wall_time_format(s.begin_ns, begin));
}

/* ---- its last changes ---- */

static void put_change_value(const struct history_change *change, uint32_t value, struct text *out)
{
	if (change->what == CHANGE_STATE)
		text_printf(out, "<b class=\"state %s\">%s</b>", page_tone_word(page_server_tone(value)),
			    server_state_text((enum server_state)value));
	else
		text_printf(out, "%u", value);
}

/* `number`: how many changes came before it, so that the row keeps its key. */
static void put_change(const struct history_change *change, size_t number, int64_t now_ns, struct text *out)
{
	char at[WALL_TIME_MAX];

	text_printf(out, "<tr data-key=\"%zu\"><td class=\"text\">%s</td><td class=\"text\">", number,
		    wall_time_format(change->wall_ns, at));
	html_age(out, (now_ns - change->wall_ns) / NS_PER_SEC);
	text_printf(out, "</td><td class=\"text\">%s ", change_word((enum change_what)change->what));
	put_change_value(change, change->from, out);
	html_raw(out, " &rarr; ");
	put_change_value(change, change->to, out);
	html_raw(out, "</td><td class=\"text\">");
	html_text(out, change->cause);
	html_raw(out, "</td></tr>\n");
}

static void put_history(const struct history *h, int64_t now_ns, struct text *out)
{
	const size_t size = history_size(h);

	html_raw(out, "<section>\n<h2>Changes</h2>\n");
	if (size == 0)
		html_raw(out, "<p>No changes since start.</p>\n</section>\n");
	put_strip(h, now_ns, out);
	if (size == 0)
		return;
	html_raw(out, "<div class=\"scroll\"><table class=\"list\">\n"
		      "<thead><tr><th>When</th><th>Ago</th><th>Change</th><th>Reason</th></tr></thead>\n"
		      "<tbody data-key=\"changes\">\n");
	for (size_t i = size; i-- > 0;)
		put_change(history_get(h, i), h->count - size + i, now_ns, out);
	html_raw(out, "</tbody>\n</table></div>\n</section>\n");
}

/* ---- its numbers ---- */

static void put_values(const struct page_row *row, struct text *out)
{
	html_raw(out, "<section>\n<h2>Now</h2>\n<div class=\"scroll\"><table>\n"
		      "<tbody data-key=\"values\">\n");
	for (size_t i = 0; i < PAGE_COLUMNS; i++) {
		const struct page_column_row *c = page_column_row((enum page_column)i);
		const uint64_t value = row->values[i];

		if ((c->kinds & PAGE_KINDS_S) == 0 || value == PAGE_NO_VALUE)
			continue;
		text_printf(out,
			    "<tr data-key=\"%s\"><th scope=\"row\">%s</th>"
			    "<td data-v=\"%llu\" class=\"number%s\">",
			    c->id, c->head, (unsigned long long)value,
			    c->form == HTML_TROUBLE && value > 0 ? " t" : "");
		page_row_value(out, row, (enum page_column)i);
		html_raw(out, "</td><td class=\"text\">");
		html_text(out, c->help);
		html_raw(out, "</td></tr>\n");
	}
	html_raw(out, "</tbody>\n</table></div>\n</section>\n");
}

static void put_tallies(const struct tally_sum *tally, struct text *out)
{
	const struct tally_row *row;

	html_raw(out, "<section>\n<details><summary><h2>Metrics</h2></summary>\n"
		      "<div class=\"scroll\"><table class=\"list\">\n<tbody data-key=\"metrics\">\n");
	for (size_t i = 0; (row = tally_row(i)) != NULL; i++) {
		if (!object_has_tally(SCOPE_SERVER, row))
			continue;
		text_printf(out,
			    "<tr data-key=\"%s\"><th scope=\"row\">weir_server_%s</th>"
			    "<td class=\"number\">%llu</td><td class=\"text\">",
			    row->field, row->metric, (unsigned long long)tally_at(tally, row->offset));
		html_text(out, row->help);
		html_raw(out, "</td></tr>\n");
	}
	html_raw(out, "</tbody>\n</table></div>\n</details>\n</section>\n");
}

/* ---- all of it ---- */

static void put_item(struct text *out, const char *name, const char *value)
{
	if (value == NULL || value[0] == '\0')
		return;
	text_printf(out, "<div><dt>%s</dt><dd>", name);
	html_text(out, value);
	html_raw(out, "</dd></div>\n");
}

/* What moves: the script draws its history. */
static void put_cards(const struct page_row *row, struct text *out)
{
	static const enum page_column columns[] = {PAGE_sessions, PAGE_rate, PAGE_bytes_to_server,
						   PAGE_bytes_to_client};

	html_raw(out, "<dl class=\"cards\">\n");
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		const struct page_column_row *c = page_column_row(columns[i]);

		page_card_put(out, c->head, c->id, c->form, row->values[columns[i]]);
	}
	html_raw(out, "</dl>\n");
}

void page_server_put(const struct page_server *s, int64_t now_ns, struct text *out)
{
	html_raw(out, "<p><a href=\"?\">All servers</a></p>\n<h2>");
	html_text(out, s->row.backend);
	html_raw(out, "/");
	html_text(out, s->row.name);
	html_raw(out, "</h2>\n<dl class=\"facts\" data-live=\"server\">\n<div><dt>State</dt><dd>");
	page_row_state(out, &s->row);
	html_raw(out, "</dd></div>\n");
	put_item(out, "Reason", s->row.reason);
	put_item(out, "Address", s->row.address);
	put_item(out, "Health check", s->row.check);
	html_raw(out, "</dl>\n");
	put_cards(&s->row, out);
	put_history(s->history, now_ns, out);
	put_values(&s->row, out);
	put_tallies(s->tally, out);
}

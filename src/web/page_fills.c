/* SPDX-License-Identifier: MIT
 *
 * page_fills.c - what fills up: how much of each limit is used, as bars.
 *
 * Any thread.
 */
#include "page_fills.h"

#include "weir/base/check.h"
#include "page_bar.h"
#include "page_row.h"

#define WARN_PERCENT 80u
#define BAD_PERCENT  95u

/* ---- the rows of the table ---- */

#define FIGURE(name) s->figures[PAGE_FIGURE_##name]
#define PAGE_FILL(id, name, form, worst, used, limit, where, help)                                           \
	static void take_##id(const struct page_survey *s, struct page_fill *f)                              \
	{                                                                                                    \
		*f = (struct page_fill){#id,	   name, help,	HTML_##form, PAGE_##worst,                   \
					PAGE_GOOD, used, limit, 0,	     where};                         \
	}
#include "page_fills.tbl.h"
#undef PAGE_FILL
#undef FIGURE

/* Rounded up, so that 100 means full and 0 empty. */
static unsigned percent_of(uint64_t used, uint64_t limit)
{
	const double percent = 100 * (double)used / (double)limit;

	if (used >= limit)
		return 100;
	return (unsigned)percent + (percent > (unsigned)percent && percent < 99 ? 1 : 0);
}

bool page_fill_get(const struct page_survey *s, enum page_fill_id id, struct page_fill *out)
{
	static void (*const take[])(const struct page_survey *s, struct page_fill *f) = {
#define PAGE_FILL(id, name, form, worst, used, limit, where, help) take_##id,
#include "page_fills.tbl.h"
#undef PAGE_FILL
	};

	check(id < PAGE_FILLS);
	take[id](s, out);
	if (out->used == PAGE_NO_VALUE || out->limit == PAGE_NO_VALUE || out->limit == 0)
		return false;
	if (out->where != NULL && out->where->name[0] == '\0')
		out->where = NULL;
	out->percent = percent_of(out->used, out->limit);
	out->tone = out->percent >= BAD_PERCENT	   ? PAGE_BAD
		    : out->percent >= WARN_PERCENT ? PAGE_WARN
						   : PAGE_GOOD;
	if (out->worst == PAGE_WARN && out->tone == PAGE_BAD)
		out->tone = PAGE_WARN;
	return true;
}

/* ---- as bars ---- */

static void put_fill(const struct page_fill *f, struct text *out)
{
	const bool is_small = f->used > 0 && 100 * (double)f->used < (double)f->limit;

	text_printf(out, "<tr data-key=\"fill:%s\"><th scope=\"row\" title=\"", f->id);
	html_text(out, f->help);
	html_raw(out, "\">");
	html_text(out, f->name);
	if (f->where != NULL) {
		html_raw(out, " <small>");
		page_owner_put(f->where, out);
		html_raw(out, "</small>");
	}
	html_raw(out, "</th><td class=\"meter\">");
	page_bar_put(out, f->tone, f->percent);
	text_printf(out, "</td><td class=\"%s\" data-v=\"%u\">%s%u %%</td><td class=\"of\">",
		    page_tone_word(f->tone), f->percent, is_small ? "&lt; " : "", f->percent);
	if (f->form != HTML_PERCENT) {
		html_number(out, f->form, f->used);
		html_raw(out, " <small>of ");
		html_number(out, f->form, f->limit);
		html_raw(out, "</small>");
	}
	html_raw(out, "</td></tr>\n");
}

void page_fills_put(const struct page_survey *s, struct text *out)
{
	struct page_fill f;

	html_raw(out, "<section class=\"fills\">\n<h2>What fills up</h2>\n<div class=\"scroll\"><table>\n"
		      "<tbody data-key=\"fills\">\n");
	for (unsigned i = 0; i < PAGE_FILLS; i++)
		if (page_fill_get(s, (enum page_fill_id)i, &f))
			put_fill(&f, out);
	html_raw(out, "</tbody>\n</table></div>\n</section>\n");
}

/* SPDX-License-Identifier: MIT
 *
 * page_problems_put.c - what is wrong now: writes it as a table, the worst first.
 *
 * Any thread.
 */
#include "page_problems.h"

#include "page_row.h"

static const char *kind_word(enum page_problem_kind kind)
{
	static const char *const words[] = {
		[PROBLEM_BACKEND] = "backend ",
		[PROBLEM_FRONTEND] = "frontend ",
		[PROBLEM_QUEUE] = "backend ",
		[PROBLEM_PROCESS] = "",
		[PROBLEM_SERVER] = "",
	};

	return words[kind];
}

/* Does not change while the problem lasts. */
static void put_key(const struct page_problem *p, struct text *out)
{
	text_printf(out, "problem:%u:", (unsigned)p->kind);
	html_text(out, p->state);
	html_raw(out, ":");
	html_text(out, p->what);
	page_owner_put(&p->names[0], out);
}

static void put_server(const struct page_owner *name, bool with_backend, struct text *out)
{
	html_raw(out, "<a href=\"?backend=");
	html_query(out, name->backend);
	html_raw(out, "&amp;server=");
	html_query(out, name->name);
	html_raw(out, "\">");
	if (with_backend)
		page_owner_put(name, out);
	else
		html_text(out, name->name);
	html_raw(out, "</a>");
}

static void put_extent(const struct page_problem *p, struct text *out)
{
	if (p->count > PAGE_PROBLEM_NAMES_MAX)
		text_printf(out, " and %u more", p->count - PAGE_PROBLEM_NAMES_MAX);
	if (p->of > 1)
		text_printf(out, " <small>%u of %u servers", p->count, p->of);
	if (p->backends > 1)
		text_printf(out, " in %u backends", p->backends);
	if (p->of > 1)
		html_raw(out, "</small>");
}

static void put_what(const struct page_problem *p, struct text *out)
{
	const bool is_group = p->kind == PROBLEM_SERVER && p->count > 1 && p->backends == 1;

	html_raw(out, kind_word(p->kind));
	html_text(out, p->what);
	if (p->kind == PROBLEM_PROCESS && p->names[0].name[0] != '\0')
		html_raw(out, " of ");
	if (is_group) {
		html_text(out, p->backend);
		html_raw(out, ": ");
	}
	for (unsigned i = 0; i < p->count && i < PAGE_PROBLEM_NAMES_MAX; i++) {
		html_raw(out, i > 0 ? ", " : "");
		if (p->kind == PROBLEM_SERVER)
			put_server(&p->names[i], !is_group, out);
		else
			page_owner_put(&p->names[i], out);
	}
	put_extent(p, out);
}

/* The age of the newest and, if that differs, of the oldest. */
static void put_since(const struct page_problem *p, struct text *out)
{
	if (p->newest_s < 0)
		return;
	html_age(out, p->newest_s);
	if (p->oldest_s / 60 == p->newest_s / 60)
		return;
	html_raw(out, " to ");
	html_age(out, p->oldest_s);
}

static void put_problem(const struct page_problem *p, struct text *out)
{
	html_raw(out, "<tr data-key=\"");
	put_key(p, out);
	text_printf(out, "\"><td class=\"what\"><b class=\"state %s\">", page_tone_word(p->tone));
	html_text(out, p->state);
	html_raw(out, "</b></td><th scope=\"row\">");
	put_what(p, out);
	html_raw(out, "</th><td class=\"since\">");
	put_since(p, out);
	html_raw(out, "</td><td class=\"text\">");
	html_text(out, p->why);
	html_raw(out, "</td></tr>\n");
}

void page_problems_put(const struct page_problems *p, struct text *out)
{
	html_raw(out, "<section class=\"problems\">\n<h2>Problems</h2>\n<div class=\"scroll\"><table>\n"
		      "<tbody data-key=\"problems\">\n");
	for (unsigned tone = PAGE_TONES; tone-- > PAGE_GOOD + 1u;)
		for (unsigned kind = 0; kind < PROBLEM_KINDS; kind++)
			for (unsigned i = 0; i < p->count; i++)
				if (p->list[i].tone == tone && p->list[i].kind == kind)
					put_problem(&p->list[i], out);
	if (p->more > 0)
		text_printf(
		    out,
		    "<tr data-key=\"problem:more\"><td class=\"what\"></td><th scope=\"row\">%u more"
		    "</th><td class=\"since\"></td><td class=\"text\">below, in the tables</td></tr>\n",
		    p->more);
	if (p->count == 0)
		html_raw(out, "<tr data-key=\"problem:none\"><td class=\"what\"><b class=\"state good\">"
			      "No problems</b></td></tr>\n");
	html_raw(out, "</tbody>\n</table></div>\n</section>\n");
}

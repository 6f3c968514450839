/* SPDX-License-Identifier: MIT
 *
 * page_row.c - one frontend, backend or server as a row of a table of the page.
 *
 * The script reads what it sorts and measures from the attribute data-v, or from the cell where that is the
 * number. Any thread.
 */
#include "page_row.h"

#include <assert.h>

#include "weir/base/check.h"

static const struct page_column_row columns[] = {
#define PAGE_COLUMN(id, head, form, kinds, place, help)                                                      \
	[PAGE_##id] = {#id, head, HTML_##form, PAGE_KINDS_##kinds, PAGE_##place, help},
#include "page_columns.tbl.h"
#undef PAGE_COLUMN
};

static_assert(ARRAY_LEN(columns) == PAGE_COLUMNS, "each column has its row");

const struct page_column_row *page_column_row(enum page_column column)
{
	check(column < PAGE_COLUMNS);
	return &columns[column];
}

const char *page_tone_word(enum page_tone tone)
{
	static const char *const words[] = {
		[PAGE_GOOD] = "good",
		[PAGE_OFF] = "off",
		[PAGE_WARN] = "warn",
		[PAGE_BAD] = "bad",
	};

	check(tone < ARRAY_LEN(words));
	return words[tone];
}

/* ---- the head ---- */

static void put_head(struct text *out, const char *id, const char *head, const char *help,
		     enum page_place place)
{
	text_printf(out, "<th scope=\"col\" data-id=\"%s\"%s title=\"", id,
		    place == PAGE_WIDE ? " class=\"w\"" : "");
	html_text(out, help);
	html_raw(out, "\">");
	html_text(out, head);
	html_raw(out, "</th>");
}

void page_row_head(struct text *out, unsigned kinds, const char *name)
{
	html_raw(out, "<thead><tr>");
	put_head(out, "name", name, "name and address", PAGE_ALWAYS);
	put_head(out, "state", "State", "state, and for how long", PAGE_ALWAYS);
	for (size_t i = 0; i < PAGE_COLUMNS; i++)
		if ((columns[i].kinds & kinds) != 0)
			put_head(out, columns[i].id, columns[i].head, columns[i].help, columns[i].place);
	if ((kinds & PAGE_KINDS_S) != 0)
		put_head(out, "check", "Check", "last result of the health check", PAGE_WIDE);
	put_head(out, "reason", "Reason", "why it is in this state", PAGE_ALWAYS);
	html_raw(out, "</tr></thead>\n");
}

/* ---- the cells ---- */

static void put_name(struct text *out, const struct page_row *row)
{
	html_raw(out, "<th scope=\"row\">");
	if (row->kind == PAGE_SERVER) {
		html_raw(out, "<a href=\"?backend=");
		html_query(out, row->backend);
		html_raw(out, "&amp;server=");
		html_query(out, row->name);
		html_raw(out, "\">");
	}
	html_text(out, row->name);
	if (row->kind == PAGE_SERVER)
		html_raw(out, "</a>");
	if (row->address != NULL && row->address[0] != '\0') {
		html_raw(out, " <small>");
		html_text(out, row->address);
		html_raw(out, "</small>");
	}
	if (row->is_backup)
		html_raw(out, " <small>backup</small>");
	html_raw(out, "</th>");
}

void page_row_state(struct text *out, const struct page_row *row)
{
	text_printf(out, "<b class=\"state %s\">", page_tone_word(row->tone));
	html_text(out, row->state);
	html_raw(out, "</b>");
	if (row->since_s >= 0) {
		html_raw(out, " <small>");
		html_age(out, row->since_s);
		html_raw(out, "</small>");
	}
}

void page_row_value(struct text *out, const struct page_row *row, enum page_column column)
{
	if (row->values[column] != PAGE_NO_VALUE)
		html_number(out, columns[column].form, row->values[column]);
}

static void put_value(struct text *out, const struct page_row *row, enum page_column column)
{
	const struct page_column_row *c = &columns[column];
	const uint64_t value = row->values[column];
	const bool known = value != PAGE_NO_VALUE;
	const bool trouble = known && c->form == HTML_TROUBLE && value > 0;

	html_raw(out, "<td");
	if (c->place == PAGE_WIDE)
		html_raw(out, trouble ? " class=\"w t\"" : " class=\"w\"");
	else
		text_printf(out, "%s data-h=\"%s\"", trouble ? " class=\"t\"" : "", c->head);
	if (known && html_is_rounded(c->form, value))
		text_printf(out, " data-v=\"%llu\"", (unsigned long long)value);
	html_raw(out, c->form == HTML_BYTES ? "><span>" : ">");
	page_row_value(out, row, column);
	html_raw(out, c->form == HTML_BYTES ? "</span></td>" : "</td>");
}

static void put_text(struct text *out, const char *classes, const char *value)
{
	text_printf(out, "<td class=\"%s\">", classes);
	html_text(out, value);
	html_raw(out, "</td>");
}

/* Names are unique among frontends, among backends, and among the servers of a backend; no name has a '/'. */
static void put_key(struct text *out, const struct page_row *row)
{
	static const char letters[] = {[PAGE_FRONTEND] = 'f', [PAGE_BACKEND] = 'b', [PAGE_SERVER] = 's'};

	text_printf(out, "%c:", letters[row->kind]);
	if (row->kind == PAGE_SERVER) {
		html_text(out, row->backend);
		html_raw(out, "/");
	}
	html_text(out, row->name);
}

void page_row_put(struct text *out, unsigned kinds, const struct page_row *row)
{
	html_raw(out, "<tr data-key=\"");
	put_key(out, row);
	text_printf(out, "\"%s>", row->kind == PAGE_BACKEND ? " class=\"backend\"" : "");
	put_name(out, row);
	text_printf(out, "<td data-h=\"State\" data-v=\"%u\">", (unsigned)row->tone);
	page_row_state(out, row);
	html_raw(out, "</td>");
	for (size_t i = 0; i < PAGE_COLUMNS; i++)
		if ((columns[i].kinds & kinds) != 0)
			put_value(out, row, (enum page_column)i);
	if ((kinds & PAGE_KINDS_S) != 0)
		put_text(out, "w text", row->check);
	put_text(out, "text", row->reason);
	html_raw(out, "</tr>\n");
}

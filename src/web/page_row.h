/* SPDX-License-Identifier: MIT
 *
 * page_row.h - one frontend, backend or server as a row of a table of the page.
 *
 * Any thread.
 */
#ifndef WEIR_WEB_PAGE_ROW_H
#define WEIR_WEB_PAGE_ROW_H

#include "html.h"
#include "page.h"

/* Who has a column: bits for enum page_kind. */
enum page_kinds {
	PAGE_KINDS_F = 1 << PAGE_FRONTEND,
	PAGE_KINDS_B = 1 << PAGE_BACKEND,
	PAGE_KINDS_S = 1 << PAGE_SERVER,
	PAGE_KINDS_BS = PAGE_KINDS_B | PAGE_KINDS_S,
	PAGE_KINDS_FBS = PAGE_KINDS_F | PAGE_KINDS_BS,
};

enum page_place { PAGE_ALWAYS, PAGE_WIDE };

/* A row of page_columns.tbl.h; all text is static. */
struct page_column_row {
	const char *id;
	const char *head;
	enum html_form form;
	unsigned kinds; /* enum page_kinds */
	enum page_place place;
	const char *help;
};

/* The row of `column`. */
const struct page_column_row *page_column_row(enum page_column column);
/* "good", "bad" and so on: a class of the style. Static. */
const char *page_tone_word(enum page_tone tone);

/* Writes the head of a table whose rows are of `kinds`: its first cell is `name`. */
void page_row_head(struct text *out, unsigned kinds, const char *name);
/* Writes a row of that table. */
void page_row_put(struct text *out, unsigned kinds, const struct page_row *row);
/* Writes the state with its mark, and since when. */
void page_row_state(struct text *out, const struct page_row *row);
/* Writes the number of a column, or nothing if the row has none. */
void page_row_value(struct text *out, const struct page_row *row, enum page_column column);

#endif

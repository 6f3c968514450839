/* SPDX-License-Identifier: MIT
 *
 * page_fills.h - what fills up: how much of each limit is used, as bars.
 *
 * Any thread.
 */
#ifndef WEIR_WEB_PAGE_FILLS_H
#define WEIR_WEB_PAGE_FILLS_H

#include <stddef.h>

#include "html.h"
#include "page_survey.h"

/* A row of page_fills.tbl.h with its numbers. */
struct page_fill {
	const char *id; /* static, as all text here */
	const char *name;
	const char *help;
	enum html_form form;
	enum page_tone worst;
	enum page_tone tone;
	uint64_t used;
	uint64_t limit; /* > 0 */
	unsigned percent; /* at most 100 */
	const struct page_owner *where; /* borrows from the survey; NULL = the process */
};

enum page_fill_id {
#define PAGE_FILL(id, name, form, worst, used, limit, where, help) PAGE_FILL_##id,
#include "page_fills.tbl.h"
#undef PAGE_FILL
	PAGE_FILLS
};

/* False if it is unknown, or has no limit. */
bool page_fill_get(const struct page_survey *s, enum page_fill_id id, struct page_fill *out);
/* Writes all of them. */
void page_fills_put(const struct page_survey *s, struct text *out);

#endif

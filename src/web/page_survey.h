/* SPDX-License-Identifier: MIT
 *
 * page_survey.h - what the page knows about the whole process: figures by name, and who is fullest.
 *
 * A plain value, taken from the source of the page. Any thread.
 */
#ifndef WEIR_WEB_PAGE_SURVEY_H
#define WEIR_WEB_PAGE_SURVEY_H

#include <stdint.h>

#include "page.h"

/* Longer names are cut. */
#define PAGE_NAME_MAX 128

enum page_figure {
#define PAGE_FIGURE(name) PAGE_FIGURE_##name,
#include "page_figures.tbl.h"
#undef PAGE_FIGURE
	PAGE_FIGURES
};

/* A frontend, backend or server. */
struct page_owner {
	char backend[PAGE_NAME_MAX]; /* of a server; else "" */
	char name[PAGE_NAME_MAX];    /* "" = nobody */
};

/* The one that has used the largest part of what it may; `limit` 0 = nobody has a limit. */
struct page_fullest {
	struct page_owner owner;
	uint64_t used;
	uint64_t limit;
};

/* Clients that wait for a backend: for any of its servers, or for one of them. */
struct page_queue {
	struct page_owner owner;
	uint64_t waiting;
	uint64_t limit; /* 0 = none */
};

struct page_survey {
	const struct page_facts *facts; /* borrows */
	uint64_t figures[PAGE_FIGURES]; /* PAGE_NO_VALUE = unknown */
	struct page_fullest frontend;
	struct page_fullest server;
	struct page_fullest queue;
	struct page_fullest ports; /* in percent: of the server that uses the largest part of its ports */
};

void page_survey_take(struct page_survey *s, const struct page_facts *facts);

/* Copies the names of the row. */
void page_owner_set(struct page_owner *o, const struct page_row *row);
/* Writes "backend/name" or "name". */
void page_owner_put(const struct page_owner *o, struct text *out);
/* Counts a row of a backend, or of a server after its backend; a backend begins anew. */
void page_queue_add(struct page_queue *q, const struct page_row *row);

#endif

/* SPDX-License-Identifier: MIT
 *
 * page_survey.c - what the page knows about the whole process: figures by name, and who is fullest.
 *
 * Any thread.
 */
#include "page_survey.h"

#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "html.h"

void page_owner_set(struct page_owner *o, const struct page_row *row)
{
	const bool is_server = row->kind == PAGE_SERVER;

	/* Names of weir's are shorter; others may be cut. */
	(void)snprintf(o->backend, sizeof(o->backend), "%s", is_server ? row->backend : "");
	(void)snprintf(o->name, sizeof(o->name), "%s", row->name);
}

void page_owner_put(const struct page_owner *o, struct text *out)
{
	if (o->backend[0] != '\0') {
		html_text(out, o->backend);
		html_raw(out, "/");
	}
	html_text(out, o->name);
}

/* ---- figures ---- */

static void take_figure(void *to, const char *name, uint64_t value, const char *help)
{
	static const char *const names[PAGE_FIGURES] = {
#define PAGE_FIGURE(name) #name,
#include "page_figures.tbl.h"
#undef PAGE_FIGURE
	};
	struct page_survey *s = to;

	(void)help;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(names[i], name) == 0)
			s->figures[i] = value;
}

/* ---- frontends, backends and servers ---- */

void page_queue_add(struct page_queue *q, const struct page_row *row)
{
	const uint64_t waiting = row->values[PAGE_queued], limit = row->values[PAGE_queue_limit];

	if (row->kind == PAGE_BACKEND) {
		*q = (struct page_queue){.limit = limit != PAGE_NO_VALUE ? limit : 0};
		page_owner_set(&q->owner, row);
	}
	if (waiting != PAGE_NO_VALUE)
		q->waiting += waiting;
}

/* Compares used/limit without division. */
static bool is_fuller(const struct page_fullest *than, uint64_t used, uint64_t limit)
{
	if (limit == 0 || limit == PAGE_NO_VALUE || used == PAGE_NO_VALUE)
		return false;
	return than->limit == 0 || (double)used * (double)than->limit > (double)than->used * (double)limit;
}

static void compare(struct page_fullest *fullest, const struct page_row *row, uint64_t used, uint64_t limit)
{
	if (!is_fuller(fullest, used, limit))
		return;
	fullest->used = used;
	fullest->limit = limit;
	page_owner_set(&fullest->owner, row);
}

/* A backend's queue is known after its last server. */
struct walk {
	struct page_survey *s;
	struct page_queue queue;
};

static void end_queue(struct walk *w)
{
	struct page_fullest *fullest = &w->s->queue;
	const struct page_queue *q = &w->queue;

	if (is_fuller(fullest, q->waiting, q->limit))
		*fullest = (struct page_fullest){q->owner, q->waiting, q->limit};
}

static void take_row(void *to, const struct page_row *row)
{
	const uint64_t *values = row->values;
	struct walk *w = to;

	if (row->kind == PAGE_FRONTEND) {
		/* Most have the limit of the process, which is shown as well. */
		if (values[PAGE_limit] < w->s->facts->maxconn)
			compare(&w->s->frontend, row, values[PAGE_sessions], values[PAGE_limit]);
		return;
	}
	if (row->kind == PAGE_BACKEND)
		end_queue(w);
	page_queue_add(&w->queue, row);
	if (row->kind != PAGE_SERVER)
		return;
	compare(&w->s->server, row, values[PAGE_sessions], values[PAGE_limit]);
	compare(&w->s->queue, row, values[PAGE_queued], values[PAGE_queue_limit]);
	compare(&w->s->ports, row, values[PAGE_ports_percent], 100);
}

void page_survey_take(struct page_survey *s, const struct page_facts *facts)
{
	struct walk w = {.s = s};

	*s = (struct page_survey){.facts = facts};
	for (size_t i = 0; i < PAGE_FIGURES; i++)
		s->figures[i] = PAGE_NO_VALUE;
	facts->source.figures(facts->source.from, take_figure, s);
	facts->source.rows(facts->source.from, take_row, &w);
	end_queue(&w);
}

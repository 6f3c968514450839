/* SPDX-License-Identifier: MIT
 *
 * admin_listing.c - the answer to `show sess`, made while it is being written.
 *
 * Owns where it is among the workers. Their inquiry may come back when its listing was left long ago: it is
 * asked again only after that. Main thread.
 */
#include "admin_listing.h"

#include "weir/admin/admin_answers.h"
#include "weir/base/check.h"
#include "weir/engine/engine.h"

void admin_listing_init(struct admin_listing *l, struct engine *e)
{
	*l = (struct admin_listing){.engine = e};
	inquiry_init(&l->inquiry, false);
}

void admin_listing_begin(struct admin_listing *l, bool json)
{
	l->asked = false;
	l->json = json;
	l->worker = 0;
	l->silent = 0;
	l->any = false;
}

static void add_session(struct admin_listing *l, const struct session_facts *f, struct text *out)
{
	char line[RECORD_LINE_MAX];
	const size_t len = record_line(f, line, sizeof(line));

	if (l->json) {
		text_printf(out, l->any ? ",\n  " : "[\n  ");
		admin_json_of_session(line, out);
	} else {
		text_add(out, line, len);
	}
	l->any = true;
}

static void add_end(const struct admin_listing *l, struct text *out)
{
	/* What is not whole is no array. */
	if (l->json && l->silent == 0)
		text_printf(out, l->any ? "\n]\n" : "[]\n");
	else if (l->json && l->any)
		text_add(out, "\n", 1);
	if (l->silent > 0)
		text_printf(out, "error: incomplete: %u worker%s did not answer\n", l->silent,
			    l->silent == 1 ? "" : "s");
}

/* The slice is in the answer, or belongs to nobody. */
static enum admin_listing_step ask_next(struct admin_listing *l, const struct text *out)
{
	if (out->len > 0)
		return LISTING_WRITE;
	inquiry_ask(l->engine, l->worker, &l->inquiry);
	l->asked = true;
	l->shown = 0;
	return LISTING_WAITS;
}

static void next_worker(struct admin_listing *l)
{
	l->worker++;
	l->asked = false;
}

enum admin_listing_step admin_listing_go_on(struct admin_listing *l, struct text *out, size_t enough)
{
	struct inquiry *q = &l->inquiry;

	while (l->worker < l->engine->worker_count) {
		if (inquiry_is_lent(q))
			return LISTING_WAITS;
		if (!l->asked)
			q->place = 0;
		for (; l->asked && l->shown < q->count; l->shown++) {
			if (out->len >= enough)
				return LISTING_WRITE;
			add_session(l, &q->sessions[l->shown], out);
		}
		if (l->asked && q->over)
			next_worker(l);
		else if (ask_next(l, out) == LISTING_WRITE)
			return LISTING_WRITE;
	}
	add_end(l, out);
	return LISTING_OVER;
}

bool admin_listing_is_answered(const struct admin_listing *l)
{
	return !inquiry_is_lent(&l->inquiry);
}

void admin_listing_skip(struct admin_listing *l)
{
	check(l->worker < l->engine->worker_count);
	admin_listing_leave(l);
	l->silent++;
	next_worker(l);
}

void admin_listing_leave(struct admin_listing *l)
{
	(void)inquiry_withdraw(l->engine, &l->inquiry); /* or it comes back by itself */
	l->asked = false;
}

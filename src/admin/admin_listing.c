/* SPDX-License-Identifier: MIT
 *
 * admin_listing.c - the answer to `show sess` and its like, generated while it is being written.
 *
 * Borrows its question; owns the record of which sessions of a slice have been shown. Main thread.
 */
#include "admin_listing.h"

#include "weir/admin/admin_answers.h"
#include "weir/base/clock.h"

void admin_listing_begin(struct admin_listing *l, struct question *question, const struct admin_question *q)
{
	*l = (struct admin_listing){.question = question, .q = q};
	json_init(&l->json, NULL, JSON_CODES);
}

static void add_object(struct admin_listing *l, const struct session_facts *f)
{
	if (!l->any)
		json_array(&l->json, NULL);
	json_line(&l->json, 2);
	if (f->detailed)
		session_facts_show_detail_json(f, &l->json);
	else
		session_facts_show_json(f, &l->json);
}

static void add_session(struct admin_listing *l, const struct session_facts *f, struct text *out)
{
	const struct admin_question *q = l->q;

	if (q->json)
		add_object(l, f);
	else if (q->shown == SHOWN_LINES)
		session_facts_show(f, out);
	else if (q->shown == SHOWN_LARGE)
		session_facts_show_large(f, clock_wall_ns() / NS_PER_US, out);
	else if (q->shown == SHOWN_DETAIL)
		session_facts_show_detail(f, out);
	else if (q->shown == SHOWN_FDS)
		session_facts_show_fds(f, q->fd, out);
	l->any = true;
}

static void end_array(struct admin_listing *l, struct text *out)
{
	if (!l->any)
		json_array(&l->json, NULL);
	json_line(&l->json, 0);
	json_array_end(&l->json);
	text_add(out, "\n", 1);
}

static void add_end(struct admin_listing *l, unsigned silent, struct text *out)
{
	/* An incomplete list leaves its array open. */
	if (l->q->json && silent == 0)
		end_array(l, out);
	else if (l->q->json && l->any)
		text_add(out, "\n", 1);
	else if (!l->q->json && !l->any && silent == 0)
		text_printf(out, "%s", admin_no_sessions(l->q));
	if (silent > 0)
		text_printf(out, "error: incomplete: %u worker%s did not answer\n", silent,
			    silent == 1 ? "" : "s");
}

/* True if the whole slice is in `out`. */
static bool add_slice(struct admin_listing *l, const struct answer *a, struct text *out, size_t enough)
{
	for (; l->shown < a->sessions.count; l->shown++) {
		if (out->len >= enough)
			return false;
		add_session(l, &a->sessions.facts[l->shown], out);
	}
	return true;
}

enum admin_listing_step admin_listing_go_on(struct admin_listing *l, struct text *out, size_t enough)
{
	struct answer a;

	l->json.out = out;
	if (!question_is_open(l->question)) {
		if (out->len > 0)
			return LISTING_WRITE;
		(void)question_ask_sessions(l->question, &l->q->filter); /* one at a time: needs no token */
	}
	for (;;) {
		a = question_answer(l->question);
		if (a.kind == ANSWER_PENDING)
			return LISTING_WAITS;
		if (a.kind == ANSWER_OVER)
			break;
		if (!add_slice(l, &a, out, enough) || (out->len > 0 && !a.sessions.last))
			return LISTING_WRITE;
		question_go_on(l->question);
		l->shown = 0;
	}
	add_end(l, a.silent, out);
	return LISTING_OVER;
}

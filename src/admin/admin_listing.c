/* SPDX-License-Identifier: MIT
 *
 * admin_listing.c - the answer to `show sess`, made while it is being written.
 *
 * Owns no question, and which of the sessions in an answer have been shown. Main thread.
 */
#include "admin_listing.h"

#include "weir/admin/admin_answers.h"

void admin_listing_begin(struct admin_listing *l, struct question *q, bool json)
{
	*l = (struct admin_listing){.question = q, .json = json};
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

static void add_end(const struct admin_listing *l, unsigned silent, struct text *out)
{
	/* What is not whole is no array. */
	if (l->json && silent == 0)
		text_printf(out, l->any ? "\n]\n" : "[]\n");
	else if (l->json && l->any)
		text_add(out, "\n", 1);
	if (silent > 0)
		text_printf(out, "error: incomplete: %u worker%s did not answer\n", silent,
			    silent == 1 ? "" : "s");
}

/* True when the whole slice is in `out`. */
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

	if (!question_is_open(l->question)) {
		if (out->len > 0)
			return LISTING_WRITE;
		(void)question_ask(l->question, QUESTION_SESSIONS); /* one at a time: needs no token */
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

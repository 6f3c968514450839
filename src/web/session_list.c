/* SPDX-License-Identifier: MIT
 *
 * session_list.c - the first SESSION_LIST_MAX sessions of all workers as JSON.
 *
 * Owns the question to the workers and the text so far. Main thread.
 */
#include "session_list.h"

#include "weir/account/session_facts.h"
#include "weir/base/check.h"

/* What follows the array. `more`: there are others, perhaps of a worker that did not answer. */
static void end(struct session_list *l, bool more)
{
	json_line(&l->json, 0);
	json_array_end(&l->json);
	json_bool(&l->json, "more", more);
	json_object_end(&l->json);
	text_add(&l->text, "\n", 1);
}

/* True if there are enough. */
static bool add_slice(struct session_list *l, const struct answer *a)
{
	for (unsigned i = 0; i < a->sessions.count; i++) {
		if (l->count == SESSION_LIST_MAX)
			return true;
		json_line(&l->json, 2);
		session_facts_show_json(&a->sessions.facts[i], &l->json);
		l->count++;
	}
	return false;
}

static void finish(struct session_list *l)
{
	l->done(l->arg);
	text_free(&l->text);
}

static void go_on(void *arg)
{
	struct session_list *l = arg;

	for (;;) {
		const struct answer a = question_answer(&l->question);

		if (a.kind == ANSWER_PENDING)
			return;
		if (a.kind == ANSWER_OVER) {
			end(l, a.silent > 0);
			break;
		}
		if (add_slice(l, &a)) {
			end(l, true);
			question_withdraw(&l->question);
			break;
		}
		question_go_on(&l->question);
	}
	finish(l);
}

void session_list_init(struct session_list *l, struct stats *stats, void (*done)(void *arg), void *arg)
{
	*l = (struct session_list){.done = done, .arg = arg};
	question_init(&l->question, stats, go_on, l);
	text_init(&l->text);
}

void session_list_free(struct session_list *l)
{
	question_withdraw(&l->question);
	text_free(&l->text);
}

void session_list_begin(struct session_list *l)
{
	static const struct inquiry_filter all;

	check(!session_list_is_open(l));
	l->count = 0;
	json_init(&l->json, &l->text, JSON_CODES);
	json_object(&l->json, NULL);
	json_array(&l->json, "sessions");
	(void)question_ask_sessions(&l->question, &all); /* one at a time: needs no token */
	go_on(l);
}

bool session_list_is_open(const struct session_list *l)
{
	return question_is_open(&l->question);
}

bool session_list_take(struct session_list *l, struct text *out)
{
	if (l->text.failed)
		return false;
	*out = l->text;
	text_init(&l->text);
	return true;
}

/* SPDX-License-Identifier: MIT
 *
 * reload_back.c - to which generation a rollback goes, or a return from a trial, and its beginning.
 *
 * Main thread.
 */
#include "reload_parts.h"

#include "weir/base/check.h"

/* Takes the text of `to`, which is kept. */
static void go_back(struct reload *r, int64_t now_ns, const struct generation *to)
{
	check(to->text != NULL);
	r->run.to = to->number;
	r->run.from_trial = trial_is_on(r);
	r->run.text = config_text_hold(to->text);
	reload_read_from(r, now_ns, &(const struct reload_source){.kept = r->run.text});
}

void reload_begin_return(struct reload *r, int64_t now_ns)
{
	const struct generation *to = generations_find(&r->generations, r->trial.from);

	check(to != NULL);
	r->run.kind = WISH_ROLLBACK;
	r->run.is_return = true;
	if (r->trial.failures == 0)
		log_line(LOG_LEVEL_WARNING,
			 "generation %llu was not confirmed: weir returns to generation %llu",
			 (unsigned long long)r->trial.generation, (unsigned long long)r->trial.from);
	go_back(r, now_ns, to);
}

static void put_kept(const struct reload *r, struct text *out)
{
	const size_t before = out->len;

	generations_name_kept(&r->generations, out);
	if (out->len == before)
		text_printf(out, "none");
}

/* The generation to go back to; NULL with `why`, one line. */
static const struct generation *find_earlier(struct reload *r, uint64_t number, struct text *why)
{
	const struct generation *now = generations_last(&r->generations);
	const struct generation *to = generations_before(&r->generations);

	if (number == 0 && now->as != 0) {
		text_printf(why,
			    "generation %llu is itself the result of a rollback; name where to go: 'weir "
			    "rollback N'; texts are kept of ",
			    (unsigned long long)now->number);
		put_kept(r, why);
		return NULL;
	}
	if (number == 0 && to == NULL)
		text_printf(why, "there is no earlier generation with another text that is kept");
	if (number == 0)
		return to;
	to = generations_find(&r->generations, number);
	if (to != NULL && generations_can_go(&r->generations, to))
		return to;
	if (to != NULL && to->text != NULL) {
		text_printf(why, "generation %llu has the text that is in effect",
			    (unsigned long long)number);
		return NULL;
	}
	text_printf(why, "the text of generation %llu is not kept; texts are kept of ",
		    (unsigned long long)number);
	put_kept(r, why);
	return NULL;
}

void reload_begin_rollback(struct reload *r, int64_t now_ns, uint64_t number)
{
	const struct generation *to;
	char bytes[RELOAD_TEXT_MAX];
	struct text why;

	text_over(&why, bytes, sizeof(bytes));
	if (!trial_is_on(r)) {
		to = find_earlier(r, number, &why);
	} else if (number == 0 || number == r->trial.from) {
		to = generations_find(&r->generations, r->trial.from);
	} else {
		to = NULL;
		text_printf(&why, "generation %llu is on trial, and can only return to generation %llu",
			    (unsigned long long)r->trial.generation, (unsigned long long)r->trial.from);
	}
	if (to == NULL)
		reload_refuse(r, now_ns, why.bytes);
	else
		go_back(r, now_ns, to);
}

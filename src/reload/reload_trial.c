/* SPDX-License-Identifier: MIT
 *
 * reload_trial.c - a generation on trial: until when, who holds it, and the words for the service manager.
 *
 * Owns no time: reload.c looks whether a return is due. Main thread.
 */
#include "reload_parts.h"

#include <stdio.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/wall_time.h"

#define ABOUT_MAX 128

bool trial_is_on(const struct reload *r)
{
	return r->trial.generation != 0;
}

/* The mark of the text that a rollback has left, if that was the last thing that took effect. */
static const struct confirmed_mark *left_mark(const struct reload *r)
{
	const struct generations *g = &r->generations;
	const struct config_text *left;

	if (g->count < 2 || g->rows[g->count - 1].as == 0)
		return NULL;
	left = g->rows[g->count - 2].text;
	return left != NULL ? confirmed_find(&r->keeper.now, config_text_hash(left)) : NULL;
}

void reload_tell(struct reload *r)
{
	const struct reload_trial *t = &r->trial;
	char about[ABOUT_MAX] = "", time[WALL_TIME_MAX];

	if (t->failures > 0)
		(void)snprintf(about, sizeof(about),
			       "generation %llu was not confirmed, and the return to generation %llu fails",
			       (unsigned long long)t->generation, (unsigned long long)t->from);
	else if (t->generation != 0)
		(void)snprintf(about, sizeof(about), "generation %llu on trial until %s",
			       (unsigned long long)t->generation, wall_time_format(t->until_wall_ns, time));
	r->steps->tell(r->steps_arg, about, left_mark(r));
}

void trial_begin(struct reload *r, uint64_t from, int64_t now_ns)
{
	const int64_t wall_ns = clock_wall_ns();
	struct generation *row = generations_last(&r->generations);

	check(!trial_is_on(r));
	check(list_empty(&r->trial.holder));
	r->trial.generation = row->number;
	r->trial.from = from;
	r->trial.return_ns = now_ns + r->run.confirm_ns;
	r->trial.until_wall_ns = wall_ns + r->run.confirm_ns;
	r->trial.failures = 0;
	row->fate = GENERATION_ON_TRIAL;
	row->until_wall_ns = r->trial.until_wall_ns;
	reload_tell(r);
}

void trial_lose_holder(struct reload *r)
{
	if (!trial_is_on(r))
		return;
	log_line(LOG_LEVEL_WARNING, "generation %llu: the client that holds the trial has gone",
		 (unsigned long long)r->trial.generation);
	r->trial.return_ns = 0;
	r->steps->wake(r->steps_arg);
}

void trial_end(struct reload *r)
{
	check(trial_is_on(r));
	r->trial.generation = 0;
	r->trial.failures = 0;
	reload_tell(r);
}

void trial_release(struct reload *r, const char *line)
{
	struct reload_wish *holder;

	if (trial_is_on(r))
		return;
	holder = reload_take_first(&r->trial.holder);
	check(list_empty(&r->trial.holder));
	if (holder != NULL)
		holder->answer(holder, line, true);
}

void trial_put_off(struct reload *r, int64_t now_ns)
{
	check(trial_is_on(r));
	r->trial.failures++;
	r->trial.return_ns = now_ns + RELOAD_AGAIN_S * NS_PER_SEC;
	if (r->trial.failures == 1)
		log_line(LOG_LEVEL_WARNING,
			 "generation %llu stays in effect; weir tries to return every %d s; 'weir confirm' "
			 "keeps it",
			 (unsigned long long)r->trial.generation, RELOAD_AGAIN_S);
	reload_tell(r);
}

bool trial_is_due(const struct reload *r, int64_t now_ns)
{
	/* A return that hangs is waited for: each new attempt would leave one more thread behind. */
	return trial_is_on(r) && now_ns >= r->trial.return_ns && !(r->late && r->late_return);
}

void trial_explain(const struct reload *r, char *why, size_t room)
{
	const struct reload_trial *t = &r->trial;
	char time[WALL_TIME_MAX];

	if (t->failures > 0)
		(void)snprintf(why, room,
			       "generation %llu was not confirmed, and the return to generation %llu fails: "
			       "see the log; 'weir confirm' keeps it",
			       (unsigned long long)t->generation, (unsigned long long)t->from);
	else
		(void)snprintf(why, room,
			       "generation %llu is on trial until %s; keep it with 'weir confirm', or return "
			       "with 'weir rollback'",
			       (unsigned long long)t->generation, wall_time_format(t->until_wall_ns, time));
}

/* SPDX-License-Identifier: MIT
 *
 * reload_effect.c - what was read takes effect, and which texts are marked before and after.
 *
 * A restart must never start from a text that nobody has confirmed: so the mark of a text on trial is on disk
 * before the text takes effect, and it is gone from the disk before a confirmation is answered. Main thread.
 */
#include "reload_parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/wall_time.h"

static bool is_same(const struct config_text *a, const struct config_text *b)
{
	if (a == NULL || b == NULL)
		return false;
	return config_text_hash_same(config_text_hash(a), config_text_hash(b));
}

static const struct confirmed_mark *mark_of(const struct reload *r, const struct config_text *text)
{
	return text != NULL ? confirmed_find(&r->keeper.now, config_text_hash(text)) : NULL;
}

static void add_mark(struct reload *r, const struct generation *row, const struct config_text *text,
		     enum confirmed_reason reason)
{
	const struct confirmed_mark mark = {
		.text = config_text_hash(text),
		.wall_ns = clock_wall_ns(),
		.generation = row != NULL ? row->number : r->generation + 1,
		.reason = reason,
	};

	confirmed_add_mark(&r->keeper.now, &mark);
}

/* ---- marks before it takes effect ---- */

static void begin_marks(struct reload *r)
{
	check(!r->run.marks_changed);
	confirmed_copy(&r->run.before, &r->keeper.now);
	r->run.marks_changed = true;
}

/* False if none had changed. */
static bool undo_marks(struct reload *r)
{
	if (!r->run.marks_changed)
		return false;
	r->run.marks_changed = false;
	keeper_restore(&r->keeper, &r->run.before);
	return true;
}

/* Changes nothing if that is not needed. */
static void mark_before(struct reload *r)
{
	struct reload_run *run = &r->run;
	struct generation *now = generations_last(&r->generations);

	if (run->kind == WISH_RELOAD && run->confirm_ns != 0) {
		begin_marks(r);
		confirmed_set_text(&r->keeper.now, now->text);
		add_mark(r, NULL, run->text, CONFIRMED_ON_TRIAL);
	} else if (run->kind == WISH_CONFIRM && mark_of(r, run->text) != NULL) {
		begin_marks(r);
		confirmed_set_text(&r->keeper.now, run->text);
		(void)confirmed_unmark(&r->keeper.now, config_text_hash(run->text));
	} else if (run->kind == WISH_ROLLBACK && !run->from_trial) {
		begin_marks(r);
		confirmed_set_text(&r->keeper.now, run->text);
		(void)confirmed_unmark(&r->keeper.now, config_text_hash(run->text));
		if (now->text != NULL)
			add_mark(r, now, now->text, CONFIRMED_ROLLED_BACK);
	}
	if (run->marks_changed)
		keeper_changed(&r->keeper);
}

static void wait_for_save(struct reload *r, int64_t now_ns)
{
	r->run.until_ns = now_ns + RELOAD_SAVE_S * NS_PER_SEC;
	reload_set_state(r, RELOAD_SAVING);
}

/* ---- the effect ---- */

/* What is not urgent: the file has a mark for a text on trial already. False if nothing has changed. */
static bool mark_after(struct reload *r)
{
	struct reload_run *run = &r->run;
	const struct generation *left;

	if (run->marks_changed || run->text == NULL)
		return false;
	if (run->kind == WISH_ROLLBACK) {
		left = generations_find(&r->generations, r->trial.generation);
		check(run->from_trial);
		check(left != NULL);
		add_mark(r, left, left->text, run->is_return ? CONFIRMED_EXPIRED : CONFIRMED_ROLLED_BACK);
		return true;
	}
	/* A mark that could not be removed from the file is, now. */
	if (r->keeper.now.mark_count == 0 && !r->keeper.disk_marked)
		return false;
	confirmed_set_text(&r->keeper.now, run->text);
	return true;
}

static enum generation_how how(const struct reload_run *run)
{
	if (run->kind == WISH_ROLLBACK)
		return run->is_return ? GENERATION_RETURN : GENERATION_ROLLBACK;
	return run->by_signal && run->uid == (uid_t)-1 ? GENERATION_SIGNAL : GENERATION_RELOAD;
}

static enum generation_fate fate_of_left(const struct reload_run *run)
{
	if (run->kind != WISH_ROLLBACK)
		return GENERATION_REPLACED;
	return run->is_return ? GENERATION_RETURNED : GENERATION_ROLLED_BACK;
}

static void add_generation(struct reload *r, const char *changed)
{
	const struct reload_run *run = &r->run;
	struct generation row = {
		.number = ++r->generation,
		.how = how(run),
		.fate = GENERATION_IN_EFFECT,
		.uid = run->uid,
		.wall_ns = clock_wall_ns(),
		.as = run->to,
		.text = run->text,
	};

	(void)snprintf(row.changed, sizeof(row.changed), "%s", changed); /* cut: it is a summary */
	generations_add(&r->generations, &row, fate_of_left(run));
}

static void say_trial(struct reload *r)
{
	char time[WALL_TIME_MAX], line[RELOAD_TEXT_MAX];

	(void)snprintf(line, sizeof(line),
		       "on trial: until %s; 'weir confirm' keeps generation %llu, otherwise weir returns to "
		       "generation %llu",
		       wall_time_format(r->trial.until_wall_ns, time),
		       (unsigned long long)r->trial.generation,
		       (unsigned long long)r->trial.from);
	text_printf(&r->run.lines, "%s\n", line);
	log_line(LOG_LEVEL_NOTICE, "%s", line);
	if (r->keeper.folder == NULL)
		reload_put_warning(r, "there is no usable $STATE_DIRECTORY, so a restart starts from the "
				      "new text even if nobody confirms it; set StateDirectory=weir and "
				      "User= in the unit");
}

static void took_effect(struct reload *r, const char *changed, int64_t now_ns)
{
	struct reload_run *run = &r->run;
	const uint64_t from = r->generation;

	run->took_effect = true;
	add_generation(r, changed);
	if (run->confirm_ns != 0) {
		run->begins_trial = true;
		trial_begin(r, from, now_ns);
		say_trial(r);
	}
	reload_put_success(r, changed);
}

/* The result is known, but the state file may have to follow. */
static void conclude(struct reload *r, int64_t now_ns)
{
	struct reload_run *run = &r->run;
	bool save = false;

	if (!run->took_effect)
		save = undo_marks(r);
	else if (mark_after(r)) {
		keeper_changed(&r->keeper);
		save = true;
	}
	run->decided = true;
	if (save)
		wait_for_save(r, now_ns);
	else
		reload_end_run(r, now_ns);
}

static void apply(struct reload *r, int64_t now_ns)
{
	struct reload_run *run = &r->run;
	char changed_bytes[RELOAD_TEXT_MAX], why[RELOAD_TEXT_MAX] = "";
	struct text changed;
	const struct reload_outcome out = {
		.messages = run->messages.len > 0 ? run->messages.bytes : "",
		.lines = &run->lines,
		.changed = &changed,
		.why = why,
		.why_room = sizeof(why),
	};
	struct config *next = run->next;
	int err;

	text_over(&changed, changed_bytes, sizeof(changed_bytes));
	run->next = NULL;
	err = r->steps->apply(r->steps_arg, next, &out);
	if (err)
		reload_put_failure(r, why[0] != '\0' ? why : strerror(-err));
	else
		took_effect(r, changed.failed ? "" : changed.bytes, now_ns);
	conclude(r, now_ns);
}

/* ---- what is refused ---- */

static void drop(struct reload *r, int64_t now_ns, const char *why)
{
	r->steps->drop_reading(r->steps_arg, r->run.next);
	r->run.next = NULL;
	reload_refuse(r, now_ns, why);
}

bool reload_is_refused(const struct reload *r, char *why, size_t room)
{
	const struct confirmed_mark *mark = mark_of(r, r->run.text);
	struct text out;

	if (trial_is_on(r)) {
		trial_explain(r, why, room);
		return true;
	}
	if (mark == NULL)
		return false;
	text_over(&out, why, room);
	text_printf(&out, "this text ");
	confirmed_describe(mark, &out);
	text_printf(&out, "; change it, try it again with 'weir reload --confirm 60s', or accept it with "
			  "'weir confirm --file'");
	check(!out.failed);
	return true;
}

/* A trial needs a text to mark, and one to return to; if both are the same there is nothing to try. */
static const char *prepare_trial(struct reload *r)
{
	struct reload_run *run = &r->run;
	const struct generation *now = generations_last(&r->generations);

	if (run->confirm_ns == 0)
		return NULL;
	if (run->text == NULL)
		return "the text of the configuration is too long to be kept, so there can be no trial; "
		       "reload without --confirm";
	if (now->text == NULL)
		return "the text of the configuration in effect is not kept, so weir could not return to "
		       "it; reload without --confirm";
	if (!is_same(run->text, now->text))
		return NULL;
	run->confirm_ns = 0;
	text_printf(&run->lines, "on trial: nothing: the text of generation %llu has not changed\n",
		    (unsigned long long)now->number);
	return NULL;
}

void reload_judge(struct reload *r, int64_t now_ns)
{
	const bool plain = r->run.kind == WISH_RELOAD && r->run.confirm_ns == 0;
	char marked[RELOAD_TEXT_MAX];
	const char *why;

	if (plain && reload_is_refused(r, marked, sizeof(marked))) {
		drop(r, now_ns, marked);
		return;
	}
	why = prepare_trial(r);
	if (why != NULL) {
		drop(r, now_ns, why);
		return;
	}
	mark_before(r);
	if (r->run.marks_changed)
		wait_for_save(r, now_ns);
	else
		apply(r, now_ns);
}

void reload_confirm(struct reload *r, int64_t now_ns)
{
	struct generation *row = generations_last(&r->generations);
	char why[RELOAD_TEXT_MAX], time[WALL_TIME_MAX];

	if (!trial_is_on(r)) {
		(void)snprintf(why, sizeof(why), "nothing is on trial: generation %llu is in effect since %s",
			       (unsigned long long)row->number, wall_time_format(row->wall_ns, time));
		reload_refuse(r, now_ns, why);
		return;
	}
	begin_marks(r);
	confirmed_set_text(&r->keeper.now, row->text);
	(void)confirmed_unmark(&r->keeper.now, config_text_hash(row->text));
	keeper_changed(&r->keeper);
	wait_for_save(r, now_ns);
}

/* ---- the save has ended ---- */

static void explain(const struct reload *r, int err, char *why, size_t room)
{
	if (err == -ETIMEDOUT)
		(void)snprintf(why, room,
			       "writing %s/" CONFIRMED_NAME " takes more than %d s; see that the disk "
			       "answers",
			       r->keeper.folder, RELOAD_SAVE_S);
	else
		(void)confirmed_explain(r->keeper.folder, err, why, room);
}

static void saved_confirmation(struct reload *r, int err, int64_t now_ns)
{
	char why[RELOAD_TEXT_MAX];

	if (err == 0) {
		generations_last(&r->generations)->fate = GENERATION_IN_EFFECT;
		reload_put_success(r, "");
		reload_end_run(r, now_ns);
		return;
	}
	(void)undo_marks(r); /* saved or not, a restart does not start from this text */
	explain(r, err, why, sizeof(why));
	reload_refuse(r, now_ns, why);
}

static void saved_before(struct reload *r, int err, int64_t now_ns)
{
	char why[RELOAD_TEXT_MAX];

	if (err == 0) {
		apply(r, now_ns);
		return;
	}
	explain(r, err, why, sizeof(why));
	if (r->run.kind == WISH_ROLLBACK) { /* the way back matters more */
		reload_put_warning(r, why);
		apply(r, now_ns);
		return;
	}
	(void)undo_marks(r); /* the file is most likely as it was */
	drop(r, now_ns, why);
}

/* A restart goes by the state file, whatever this process does. */
void reload_stop_saving(struct reload *r)
{
	struct reload_run *run = &r->run;
	const bool has_read = run->next != NULL;
	int err;

	check(!run->decided);
	keeper_wake(&r->keeper);
	err = keeper_result(&r->keeper);
	if (run->kind == WISH_CONFIRM && !has_read && err == 0) {
		saved_confirmation(r, 0, 0);
		return;
	}
	if (run->kind != WISH_RELOAD && (err == 0 || err == -EINPROGRESS))
		reload_put_unsure(r);
	else
		reload_put_failure(r, RELOAD_STOPPING_TEXT);
	if (has_read)
		r->steps->drop_reading(r->steps_arg, run->next);
	run->next = NULL;
	reload_end_run(r, 0);
}

bool reload_go_on_saving(struct reload *r, int64_t now_ns)
{
	struct reload_run *run = &r->run;
	char why[RELOAD_TEXT_MAX];
	int err;

	keeper_wake(&r->keeper);
	err = keeper_result(&r->keeper);
	if (err == -EINPROGRESS && now_ns < run->until_ns)
		return false;
	if (err == -EINPROGRESS)
		err = -ETIMEDOUT;
	reload_set_state(r, RELOAD_IDLE);
	if (run->decided) {
		if (err) {
			explain(r, err, why, sizeof(why));
			reload_put_warning(r, why);
		}
		reload_end_run(r, now_ns);
	} else if (run->next == NULL) {
		saved_confirmation(r, err, now_ns);
	} else {
		saved_before(r, err, now_ns);
	}
	return true;
}

/* SPDX-License-Identifier: MIT
 *
 * reload.c - who wants a reload, a plan, a rollback or a confirmation, and when one runs.
 *
 * Owns no wish, and no configuration except while the state file is written. Main thread.
 */
#include "weir/reload/reload.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/log.h"
#include "reload_parts.h"

/* How often a wish that waits looks at what has left: not everything that is freed wakes control. */
#define RETIRE_LOOK_NS (100 * NS_PER_MS)

void reload_set_state(struct reload *r, enum reload_state to)
{
	static const char *const words[] = {
		[RELOAD_IDLE] = "idle",
		[RELOAD_READING] = "reading",
		[RELOAD_SAVING] = "saving",
		[RELOAD_STOPPED] = "stopped",
	};

	check(r->state != RELOAD_STOPPED);
	check(r->state != to);
	check(r->state == RELOAD_IDLE || to == RELOAD_IDLE || to == RELOAD_STOPPED);
	log_line(LOG_LEVEL_DEBUG, "reload: %s -> %s", words[r->state], words[to]);
	r->state = to;
}

/* ---- wishes ---- */

static void on_ask(void *arg, struct reload_wish *wish)
{
	struct reload *r = arg;

	list_push_back(&r->waiting, &wish->link);
	r->steps->wake(r->steps_arg);
}

static void on_forget(void *arg, struct reload_wish *wish)
{
	struct reload *r = arg;
	const bool held = !list_empty(&r->trial.holder);

	list_remove(&wish->link);
	if (held && list_empty(&r->trial.holder))
		trial_lose_holder(r);
}

static void on_show(void *arg, struct text *out, struct json *json)
{
	const struct reload *r = arg;

	generations_show(&r->generations, out, json);
}

/* Its answer goes to the log, with the result. */
static void on_signal_answer(struct reload_wish *wish, const char *text, bool last)
{
	(void)wish;
	(void)text;
	(void)last;
}

void reload_hang_up(struct reload *r)
{
	log_line(LOG_LEVEL_NOTICE, "SIGHUP: reload requested");
	if (list_empty(&r->signal.link))
		list_push_back(&r->waiting, &r->signal.link);
	r->steps->wake(r->steps_arg);
}

struct reload_wish *reload_take_first(struct list *list)
{
	struct reload_wish *wish = list_entry(list->next, struct reload_wish, link);

	if (list_empty(list))
		return NULL;
	list_remove(&wish->link);
	return wish;
}

static bool is_plain(const struct reload_wish *wish)
{
	return wish->kind == WISH_RELOAD && wish->confirm_ns == 0;
}

/* The wish to be served next; NULL = none. When it is time to return, only a confirmation goes first. */
static struct reload_wish *next_wish(const struct reload *r, bool is_due)
{
	for (struct list *l = r->waiting.next; l != &r->waiting; l = l->next) {
		struct reload_wish *wish = list_entry(l, struct reload_wish, link);

		if (!is_due || (wish->kind == WISH_CONFIRM && !wish->file))
			return wish;
	}
	return NULL;
}

static void serve_one(struct reload *r, struct reload_wish *wish)
{
	list_remove(&wish->link);
	if (wish == &r->signal) {
		r->run.by_signal = true;
		return;
	}
	if (r->run.uid == (uid_t)-1)
		r->run.uid = wish->uid;
	list_push_back(&r->served, &wish->link);
}

/* A run begins for this wish, and for all that it can serve, too. */
static void serve(struct reload *r, struct reload_wish *wish)
{
	const bool plain = is_plain(wish);
	struct list *l, *next;

	check(list_empty(&r->served));
	r->run.kind = wish->kind;
	r->run.confirm_ns = wish->confirm_ns;
	r->run.hold = wish->hold;
	if (!plain)
		serve_one(r, wish);
	list_foreach_safe(&r->waiting, l, next) {
		wish = list_entry(l, struct reload_wish, link);
		if (plain && is_plain(wish))
			serve_one(r, wish);
	}
}

/* ---- a run begins ---- */

static void give_up_reading(struct reload *r)
{
	r->steps->drop_reading(r->steps_arg, NULL);
	r->late = false;
}

void reload_read_from(struct reload *r, int64_t now_ns, const struct reload_source *from)
{
	char why[RELOAD_TEXT_MAX];
	int err;

	if (r->late && r->run.kind != WISH_ROLLBACK) {
		reload_refuse(r, now_ns,
			      "the reading of an earlier reload still hangs; see that the name services, "
			      "named pipes and disks that it needs answer, or restart");
		return;
	}
	if (r->late)
		give_up_reading(r);
	r->run.began = r->run.kind != WISH_PLAN;
	if (r->run.began)
		r->steps->began(r->steps_arg);
	err = r->steps->begin_reading(r->steps_arg, from);
	if (!err) {
		r->run.until_ns = now_ns + RELOAD_READ_S * NS_PER_SEC;
		reload_set_state(r, RELOAD_READING);
		return;
	}
	(void)snprintf(why, sizeof(why),
		       "cannot start a thread to read the configuration: %s; raise the limits of memory and "
		       "tasks (MemoryMax= and TasksMax= of the unit)",
		       strerror(-err));
	reload_refuse(r, now_ns, why);
}

static void begin_reload(struct reload *r, int64_t now_ns)
{
	char why[RELOAD_TEXT_MAX];

	if (trial_is_on(r)) {
		trial_explain(r, why, sizeof(why));
		reload_refuse(r, now_ns, why);
		return;
	}
	reload_read_from(r, now_ns, &(const struct reload_source){.kept = NULL});
}

static bool begin_run(struct reload *r, int64_t now_ns)
{
	const bool is_due = trial_is_due(r, now_ns);
	struct reload_wish *wish = next_wish(r, is_due);

	if (wish == NULL && !is_due)
		return false;
	reload_run_init(&r->run);
	if (wish == NULL) {
		reload_begin_return(r, now_ns);
		return true;
	}
	serve(r, wish);
	switch (r->run.kind) {
	case WISH_RELOAD:
		begin_reload(r, now_ns);
		break;
	case WISH_PLAN:
		reload_read_from(r, now_ns, &(const struct reload_source){.path = wish->path, .plan = true});
		break;
	case WISH_ROLLBACK:
		reload_begin_rollback(r, now_ns, wish->to);
		break;
	case WISH_CONFIRM:
		if (wish->file)
			begin_reload(r, now_ns);
		else
			reload_confirm(r, now_ns);
		break;
	}
	return true;
}

/* ---- a run goes on ---- */

/* It is answered as it is. */
static void describe(struct reload *r, int64_t now_ns)
{
	struct reload_run *run = &r->run;
	const struct reload_wish *wish = list_entry(r->served.next, struct reload_wish, link);
	char why[RELOAD_TEXT_MAX] = "";
	const struct reload_outcome out = {
		.messages = run->messages.len > 0 ? run->messages.bytes : "",
		.lines = &run->lines,
		.why = why,
		.why_room = sizeof(why),
	};
	struct config *next = run->next;
	int err;

	run->next = NULL;
	if (list_empty(&r->served)) { /* the client has gone */
		r->steps->drop_reading(r->steps_arg, next);
		reload_end_run(r, now_ns);
		return;
	}
	if (wish->json)
		text_free(&run->lines);
	else if (reload_is_refused(r, why, sizeof(why)))
		text_printf(&run->lines, "a plain reload is refused now: %s\n", why);
	why[0] = '\0';
	err = r->steps->describe(r->steps_arg, next, wish, &out);
	if (!err && run->lines.failed)
		err = -ENOMEM;
	run->fine = err == 0;
	if (err)
		reload_put_failure(r, why[0] != '\0' ? why : strerror(-err));
	reload_end_run(r, now_ns);
}

static void take_reading(struct reload *r)
{
	struct reload_run *run = &r->run;
	struct config_text *text = r->steps->take_text(r->steps_arg);

	if (run->kind == WISH_ROLLBACK)
		config_text_drop(text); /* it has the kept one */
	else
		run->text = text;
	run->next = r->steps->take_reading(r->steps_arg, &run->messages);
	run->lines.failed = run->messages.failed;
	if (!run->messages.failed && run->messages.len > 0)
		text_add(&run->lines, run->messages.bytes, run->messages.len);
}

static void finish_reading(struct reload *r, int64_t now_ns)
{
	reload_set_state(r, RELOAD_IDLE);
	take_reading(r);
	if (r->run.next == NULL)
		reload_refuse(r, now_ns, "the configuration cannot be used");
	else if (r->run.kind == WISH_PLAN)
		describe(r, now_ns);
	else
		reload_judge(r, now_ns);
}

/* Does somebody wait who needs no reading of files? */
static bool is_urgent(const struct reload *r)
{
	for (const struct list *l = r->waiting.next; l != &r->waiting; l = l->next) {
		const struct reload_wish *wish = list_entry(l, struct reload_wish, link);

		if (wish->kind == WISH_ROLLBACK || (wish->kind == WISH_CONFIRM && !wish->file))
			return true;
	}
	return false;
}

/* Why a plan is not read to its end, which may take long; NULL = it is. */
static const char *why_no_plan(const struct reload *r, int64_t now_ns)
{
	if (trial_is_due(r, now_ns))
		return "weir returns from a trial; ask again";
	return is_urgent(r) ? "a confirmation or a rollback goes first; ask again" : NULL;
}

static bool go_on_reading(struct reload *r, int64_t now_ns)
{
	const char *why = r->run.kind == WISH_PLAN ? why_no_plan(r, now_ns) : NULL;

	if (r->steps->has_read(r->steps_arg)) {
		finish_reading(r, now_ns);
		return true;
	}
	if (why != NULL) {
		reload_set_state(r, RELOAD_IDLE);
		give_up_reading(r);
		reload_refuse(r, now_ns, why);
		return true;
	}
	if (now_ns < r->run.until_ns)
		return false;
	r->late = true;
	r->late_return = r->run.is_return;
	reload_set_state(r, RELOAD_IDLE);
	reload_refuse(r, now_ns,
		      "reading the configuration has taken more than a minute; see that the name services, "
		      "named pipes and disks that it needs answer");
	return true;
}

/* True when there is more to do at once. */
static bool go_on(struct reload *r, int64_t now_ns)
{
	struct reload_wish *wish;

	switch (r->state) {
	case RELOAD_IDLE:
		if (r->late && r->steps->has_read(r->steps_arg))
			give_up_reading(r);
		return begin_run(r, now_ns);
	case RELOAD_READING:
		return go_on_reading(r, now_ns);
	case RELOAD_SAVING:
		return reload_go_on_saving(r, now_ns);
	case RELOAD_STOPPED:
		break;
	}
	wish = next_wish(r, false);
	if (wish == NULL)
		return false;
	reload_run_init(&r->run);
	serve(r, wish);
	reload_refuse(r, now_ns, RELOAD_STOPPING_TEXT);
	return true;
}

/* ---- when it goes on ---- */

static int64_t next_wake(const struct reload *r, int64_t now_ns)
{
	int64_t at_ns = CLOCK_NEVER;

	if (r->state == RELOAD_STOPPED)
		return at_ns;
	if (r->state != RELOAD_IDLE)
		at_ns = r->run.until_ns;
	if (trial_is_on(r) && !(r->late && r->late_return) && r->trial.return_ns < at_ns &&
	    (r->state == RELOAD_IDLE || r->run.kind == WISH_PLAN))
		at_ns = r->trial.return_ns;
	if (!list_empty(&r->watching) && now_ns + RETIRE_LOOK_NS < at_ns)
		at_ns = now_ns + RETIRE_LOOK_NS;
	return at_ns;
}

int64_t reload_wake(struct reload *r, int64_t now_ns)
{
	if (r->state != RELOAD_STOPPED)
		keeper_wake(&r->keeper);
	while (go_on(r, now_ns))
		continue;
	reload_watch(r, now_ns);
	return next_wake(r, now_ns);
}

/* ---- begin and end ---- */

void reload_init(struct reload *r, const struct reload_steps *steps, void *arg)
{
	const struct generation first = {
		.number = 1, .how = GENERATION_START, .uid = (uid_t)-1, .wall_ns = clock_wall_ns()};

	memset(r, 0, sizeof(*r));
	r->asker = (struct reload_asker){.ask = on_ask, .forget = on_forget, .show = on_show, .arg = r};
	r->steps = steps;
	r->steps_arg = arg;
	list_init(&r->waiting);
	list_init(&r->served);
	list_init(&r->watching);
	list_init(&r->trial.holder);
	list_init(&r->signal.link);
	r->signal.uid = (uid_t)-1;
	r->signal.answer = on_signal_answer;
	reload_run_init(&r->run);
	keeper_init(&r->keeper, steps, arg);
	generations_add(&r->generations, &first, GENERATION_REPLACED);
	r->generation = 1;
}

void reload_set_origin(struct reload *r, const struct reload_origin *origin)
{
	struct generation *first = generations_last(&r->generations);
	struct confirmed nothing = {.text = NULL};

	check(first->text == NULL);
	first->text = config_text_hold(origin->text);
	if (origin->from_confirmed)
		(void)snprintf(first->changed, sizeof(first->changed),
			       "the confirmed text, as that of the files was not confirmed"); /* fits */
	keeper_load(&r->keeper, origin->confirmed != NULL ? origin->confirmed : &nothing, origin->folder);
	if (origin->text == NULL || r->keeper.now.mark_count == 0 || origin->from_confirmed)
		return;
	confirmed_set_text(&r->keeper.now, origin->text);
	keeper_changed(&r->keeper);
}

static void stop_run(struct reload *r, enum reload_state from)
{
	struct reload_run *run = &r->run;

	if (from == RELOAD_READING || r->late)
		give_up_reading(r);
	if (from == RELOAD_SAVING && !run->decided) {
		reload_stop_saving(r);
		return;
	}
	if (run->next != NULL)
		r->steps->drop_reading(r->steps_arg, run->next);
	run->next = NULL;
	if (from == RELOAD_IDLE)
		return;
	if (run->decided)
		reload_end_run(r, 0);
	else
		reload_refuse(r, 0, RELOAD_STOPPING_TEXT);
}

void reload_stop(struct reload *r)
{
	const enum reload_state from = r->state;
	struct reload_wish *wish;

	if (from == RELOAD_STOPPED)
		return;
	reload_set_state(r, RELOAD_STOPPED);
	stop_run(r, from);
	if (trial_is_on(r))
		trial_end(r);
	trial_release(r, "not confirmed: " RELOAD_STOPPING_TEXT "\n");
	while (go_on(r, 0))
		continue;
	while ((wish = reload_take_first(&r->watching)) != NULL)
		wish->answer(wish, "retired: not yet: " RELOAD_STOPPING_TEXT "\n", true);
}

static void forget_all(struct list *list)
{
	while (reload_take_first(list) != NULL)
		continue;
}

void reload_free(struct reload *r)
{
	if (r->steps == NULL)
		return;
	if (r->state == RELOAD_READING || r->late || r->run.next != NULL)
		r->steps->drop_reading(r->steps_arg, r->run.next);
	r->run.next = NULL;
	forget_all(&r->waiting);
	forget_all(&r->served);
	forget_all(&r->watching);
	forget_all(&r->trial.holder);
	reload_run_free(&r->run);
	keeper_free(&r->keeper);
	generations_free(&r->generations);
	r->steps = NULL;
}

/* SPDX-License-Identifier: MIT
 *
 * reload_answer.c - the answer of a run: its lines, who gets them, and what is logged and counted.
 *
 * If memory runs out for an answer, it is its last line alone. Main thread.
 */
#include "reload_parts.h"

#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"

/* A return that keeps failing is in the log once a minute. */
#define RETURN_LOG_EVERY (60 / RELOAD_AGAIN_S)

void reload_run_init(struct reload_run *run)
{
	memset(run, 0, sizeof(*run));
	run->uid = (uid_t)-1;
	run->level = LOG_LEVEL_ERROR;
	text_init(&run->messages);
	text_init(&run->lines);
}

void reload_run_free(struct reload_run *run)
{
	check(run->next == NULL);
	config_text_drop(run->text);
	confirmed_free(&run->before);
	text_free(&run->messages);
	text_free(&run->lines);
	reload_run_init(run);
}

/* ---- lines ---- */

/* What a run does if it is fine; "not " precedes it if it is not. */
static const char *verb(const struct reload_run *run)
{
	static const char *const verbs[] = {
		[WISH_RELOAD] = "reloaded",
		[WISH_PLAN] = "planned",
		[WISH_ROLLBACK] = "rolled back",
		[WISH_CONFIRM] = "confirmed",
	};

	return run->is_return ? "returned" : verbs[run->kind];
}

static void put_last(struct reload_run *run, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put_last(struct reload_run *run, const char *fmt, ...)
{
	struct text last;
	va_list ap;

	text_over(&last, run->last, sizeof(run->last));
	va_start(ap, fmt);
	text_vprintf(&last, fmt, ap);
	va_end(ap);
	check(!last.failed); /* `changed` and `why` are shorter, and the rest is ours */
}

void reload_put_success(struct reload *r, const char *changed)
{
	struct reload_run *run = &r->run;
	const char *comma = changed[0] != '\0' ? ", " : "";

	run->fine = true;
	run->level = LOG_LEVEL_WARNING;
	if (run->kind == WISH_ROLLBACK)
		put_last(run, "%s: generation %llu, as generation %llu%s%s\n", verb(run),
			 (unsigned long long)r->generation, (unsigned long long)run->to, comma, changed);
	else
		put_last(run, "%s: generation %llu%s%s\n", verb(run), (unsigned long long)r->generation,
			 comma, changed);
}

void reload_put_failure(struct reload *r, const char *why)
{
	put_last(&r->run, "not %s: %s\n", verb(&r->run), why);
}

void reload_put_unsure(struct reload *r)
{
	struct reload_run *run = &r->run;

	run->unsure = run->kind == WISH_CONFIRM && run->next == NULL;
	if (run->unsure)
		put_last(run, "perhaps confirmed: " RELOAD_STOPPING_TEXT " while it writes the state file; "
			      "'weir ctl show info' says after the next start, under 'config', whether it "
			      "was\n");
	else
		put_last(run, "not %s: " RELOAD_STOPPING_TEXT "; but the next start may begin with this "
			      "text: 'weir ctl show info' says so then, under 'config'\n", verb(run));
}

void reload_put_warning(struct reload *r, const char *why)
{
	text_printf(&r->run.lines, "weir: warning: %s\n", why);
	log_line(LOG_LEVEL_WARNING, "%s", why);
}

/* ---- the log ---- */

/* One line of the log for each line of the text. */
static void log_text(enum log_level level, const char *text)
{
	while (*text != '\0') {
		const size_t len = strcspn(text, "\n");

		log_line(level, "%.*s", (int)len, text);
		text += text[len] == '\n' ? len + 1 : len;
	}
}

static enum log_level level_of_result(const struct reload *r)
{
	const struct reload_run *run = &r->run;

	if (run->fine)
		return run->is_return ? LOG_LEVEL_WARNING : LOG_LEVEL_NOTICE;
	if (r->state == RELOAD_STOPPED)
		return LOG_LEVEL_NOTICE;
	if (run->is_return && r->trial.failures % RETURN_LOG_EVERY != 1)
		return LOG_LEVEL_DEBUG;
	return LOG_LEVEL_ERROR;
}

static void log_result(const struct reload *r)
{
	const struct reload_run *run = &r->run;
	const enum log_level last = level_of_result(r);

	if (run->kind == WISH_PLAN)
		return;
	if ((run->by_signal || (run->is_return && last == LOG_LEVEL_ERROR)) && !run->lines.failed &&
	    run->lines.len > 0)
		log_text(run->level, run->lines.bytes);
	log_text(last, run->last);
}

/* ---- the end of a run ---- */

static void count(struct reload *r)
{
	const struct reload_run *run = &r->run;

	if (r->state == RELOAD_STOPPED || run->kind == WISH_PLAN)
		return;
	if (!run->began && run->kind != WISH_RELOAD) /* a confirmation, or nothing was tried */
		return;
	if (!run->fine)
		r->refused += !run->is_return;
	else if (run->kind == WISH_ROLLBACK)
		r->rollbacks++;
	else if (run->took_effect)
		r->reloads++;
	if (run->is_return && !run->fine)
		return;
	r->last_fine = run->fine;
	r->last_s = (int64_t)time(NULL);
}

/* Is there more to come for this wish, which gets its answer? */
static bool goes_on(struct reload *r, struct reload_wish *wish, int64_t now_ns)
{
	if (!r->run.fine || wish->kind != WISH_RELOAD || r->state == RELOAD_STOPPED)
		return false;
	if (wish->hold && trial_is_on(r)) {
		list_push_back(&r->trial.holder, &wish->link);
		return true;
	}
	if (!wish->wait)
		return false;
	wish->generation = r->generation;
	wish->until_ns = now_ns + RELOAD_RETIRE_S * NS_PER_SEC;
	list_push_back(&r->watching, &wish->link);
	return true;
}

/* An answer may make the caller ask again or forget other wishes. */
static void answer_served(struct reload *r, int64_t now_ns)
{
	const struct reload_run *run = &r->run;
	const char *text = run->lines.failed ? run->last : run->lines.bytes;
	struct reload_wish *wish;

	while ((wish = reload_take_first(&r->served)) != NULL) {
		const bool last = !goes_on(r, wish, now_ns);

		wish->answer(wish, text != NULL ? text : "", last);
	}
}

void reload_end_run(struct reload *r, int64_t now_ns)
{
	struct reload_run *run = &r->run;
	const bool kept = run->fine && run->kind != WISH_PLAN && !run->begins_trial;
	const bool ends_trial = (kept || run->unsure) && trial_is_on(r);
	const bool lost = run->begins_trial && run->hold && list_empty(&r->served);

	check(r->state == RELOAD_IDLE || r->state == RELOAD_STOPPED);
	if (ends_trial)
		trial_end(r);
	else if (!run->fine && run->kind == WISH_ROLLBACK && trial_is_on(r) && run->began)
		trial_put_off(r, now_ns);
	else if (run->took_effect)
		reload_tell(r);
	if (run->began) /* the service manager gets the words with it */
		r->steps->ended(r->steps_arg, run->fine);
	log_result(r);
	count(r);
	text_add(&run->lines, run->last, strlen(run->last));
	answer_served(r, now_ns);
	trial_release(r, run->last);
	if (lost)
		trial_lose_holder(r);
	reload_run_free(run);
}

void reload_refuse(struct reload *r, int64_t now_ns, const char *why)
{
	reload_put_failure(r, why);
	reload_end_run(r, now_ns);
}

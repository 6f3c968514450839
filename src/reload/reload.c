/* SPDX-License-Identifier: MIT
 *
 * reload.c - who wants a reload, when one runs, and what is answered.
 *
 * Owns no wish, and no configuration for longer than a call. If memory runs out for an answer, it is its last
 * line alone. Main thread.
 */
#include "weir/reload/reload.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/log.h"

/* How often a wish that waits looks at what has left: not everything that is freed wakes control. */
#define RETIRE_LOOK_NS (100 * NS_PER_MS)
/* "reloaded: generation N, ", and a newline with its NUL. */
#define LAST_LINE_MAX (RELOAD_TEXT_MAX + 64u)
#define STOPPING_TEXT "the daemon is stopping"

/* How a run ended. */
struct result {
	struct text text; /* whole lines; the last one too once they are to be answered */
	char last[LAST_LINE_MAX]; /* the last line, with its newline */
	enum log_level level;	  /* of the other lines in the log */
	bool fine;
};

static void set_state(struct reload *r, enum reload_state to)
{
	static const char *const words[] = {
		[RELOAD_IDLE] = "idle",
		[RELOAD_READING] = "reading",
		[RELOAD_LATE] = "late",
		[RELOAD_STOPPED] = "stopped",
	};

	check(r->state != RELOAD_STOPPED);
	check(to != RELOAD_READING || r->state == RELOAD_IDLE);
	check(to != RELOAD_LATE || r->state == RELOAD_READING);
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
	(void)arg;
	list_remove(&wish->link);
}

void reload_hang_up(struct reload *r)
{
	log_line(LOG_LEVEL_NOTICE, "SIGHUP: reload requested");
	r->signal_waits = true;
	r->steps->wake(r->steps_arg);
}

static bool is_wanted(const struct reload *r)
{
	return r->signal_waits || !list_empty(&r->waiting);
}

static struct reload_wish *take_first(struct list *list)
{
	struct reload_wish *wish = list_entry(list->next, struct reload_wish, link);

	if (list_empty(list))
		return NULL;
	list_remove(&wish->link);
	return wish;
}

/* All wishes so far belong to the run that begins. */
static void serve_waiting(struct reload *r)
{
	struct reload_wish *wish;

	check(list_empty(&r->served));
	check(!r->signal_served);
	while ((wish = take_first(&r->waiting)) != NULL)
		list_push_back(&r->served, &wish->link);
	r->signal_served = r->signal_waits;
	r->signal_waits = false;
}

/* ---- answers ---- */

/* One line of the log for each line of the text. */
static void log_text(enum log_level level, const char *text)
{
	while (*text != '\0') {
		const size_t len = strcspn(text, "\n");

		log_line(level, "%.*s", (int)len, text);
		text += text[len] == '\n' ? len + 1 : len;
	}
}

static void log_result(const struct reload *r, const struct result *result)
{
	const enum log_level last = result->fine || r->state == RELOAD_STOPPED ? LOG_LEVEL_NOTICE
									       : LOG_LEVEL_ERROR;

	if (r->signal_served && !result->text.failed && result->text.len > 0)
		log_text(result->level, result->text.bytes);
	log_text(last, result->last);
}

/* An answer may make the caller ask again or forget other wishes. */
static void answer_served(struct reload *r, const struct result *result, int64_t now_ns)
{
	const char *text = result->text.failed ? result->last : result->text.bytes;
	struct reload_wish *wish;

	while ((wish = take_first(&r->served)) != NULL) {
		const bool last = !wish->wait || !result->fine;

		if (!last) {
			wish->generation = r->generation;
			wish->until_ns = now_ns + RELOAD_RETIRE_S * NS_PER_SEC;
			list_push_back(&r->watching, &wish->link);
		}
		wish->answer(wish, text, last);
	}
}

static void begin_result(struct result *result)
{
	text_init(&result->text);
	result->level = LOG_LEVEL_ERROR;
	result->fine = false;
	result->last[0] = '\0';
}

static void put_last(struct result *result, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put_last(struct result *result, const char *fmt, ...)
{
	struct text last;
	va_list ap;

	text_over(&last, result->last, sizeof(result->last));
	va_start(ap, fmt);
	text_vprintf(&last, fmt, ap);
	va_end(ap);
	check(!last.failed); /* `changed` and `why` are shorter, and the rest is ours */
}

/* The result is in the log, and the wishes that were served have their answer. */
static void end_result(struct reload *r, struct result *result, int64_t now_ns)
{
	log_result(r, result);
	text_printf(&result->text, "%s", result->last);
	r->signal_served = false;
	if (r->state != RELOAD_STOPPED) {
		*(result->fine ? &r->reloads : &r->refused) += 1;
		r->last_fine = result->fine;
		r->last_s = (int64_t)time(NULL);
	}
	answer_served(r, result, now_ns);
	text_free(&result->text);
}

/* The wishes that are served have nothing but this line for an answer. */
static void refuse(struct reload *r, int64_t now_ns, const char *why)
{
	struct result result;

	begin_result(&result);
	put_last(&result, "not reloaded: %s\n", why);
	end_result(r, &result, now_ns);
}

/* ---- a run ---- */

static void end_run(struct reload *r, bool fine)
{
	r->steps->ended(r->steps_arg, fine);
}

static bool begin_run(struct reload *r, int64_t now_ns)
{
	char why[RELOAD_TEXT_MAX];
	int err;

	if (!is_wanted(r))
		return false;
	serve_waiting(r);
	r->steps->began(r->steps_arg);
	err = r->steps->begin_reading(r->steps_arg, &(const struct reload_source){.kept = NULL});
	if (!err) {
		r->read_until_ns = now_ns + RELOAD_READ_S * NS_PER_SEC;
		set_state(r, RELOAD_READING);
		return true;
	}
	(void)snprintf(why, sizeof(why),
		       "cannot start a thread to read the configuration: %s; raise the limits of memory and "
		       "tasks (MemoryMax= and TasksMax= of the unit)",
		       strerror(-err));
	end_run(r, false);
	refuse(r, now_ns, why);
	return true;
}

static void apply(struct reload *r, struct config *next, struct result *result)
{
	char changed_bytes[RELOAD_TEXT_MAX], why[RELOAD_TEXT_MAX] = "";
	struct text changed;
	const struct reload_outcome out = {.messages = "",
					   .lines = &result->text,
					   .changed = &changed,
					   .why = why,
					   .why_room = sizeof(why)};
	int err;

	text_over(&changed, changed_bytes, sizeof(changed_bytes));
	err = r->steps->apply(r->steps_arg, next, &out);
	if (err) {
		put_last(result, "not reloaded: %s\n", why[0] != '\0' ? why : strerror(-err));
		return;
	}
	r->generation++;
	result->fine = true;
	result->level = LOG_LEVEL_WARNING;
	if (changed.failed || changed.len == 0)
		put_last(result, "reloaded: generation %llu\n", (unsigned long long)r->generation);
	else
		put_last(result, "reloaded: generation %llu, %s\n", (unsigned long long)r->generation,
			 changed.bytes);
}

static void finish_reading(struct reload *r, int64_t now_ns)
{
	struct result result;
	struct config *next;

	set_state(r, RELOAD_IDLE);
	begin_result(&result);
	next = r->steps->take_reading(r->steps_arg, &result.text);
	if (next == NULL)
		put_last(&result, "not reloaded: the configuration cannot be used\n");
	else
		apply(r, next, &result);
	end_run(r, result.fine);
	end_result(r, &result, now_ns);
}

static bool go_on_reading(struct reload *r, int64_t now_ns)
{
	if (r->steps->has_read(r->steps_arg)) {
		finish_reading(r, now_ns);
		return true;
	}
	if (now_ns < r->read_until_ns)
		return false;
	set_state(r, RELOAD_LATE);
	end_run(r, false);
	refuse(r, now_ns,
	       "reading the configuration has taken more than a minute; see that the name services, named "
	       "pipes and disks that it needs answer");
	return true;
}

static bool go_on_late(struct reload *r, int64_t now_ns)
{
	if (r->steps->has_read(r->steps_arg)) {
		r->steps->drop_reading(r->steps_arg);
		set_state(r, RELOAD_IDLE);
		return true;
	}
	if (!is_wanted(r))
		return false;
	serve_waiting(r);
	refuse(r, now_ns,
	       "the reading of an earlier reload still hangs; see that the name services, named pipes and "
	       "disks that it needs answer, or restart");
	return true;
}

/* True when there is more to do at once. */
static bool go_on(struct reload *r, int64_t now_ns)
{
	switch (r->state) {
	case RELOAD_IDLE:
		return begin_run(r, now_ns);
	case RELOAD_READING:
		return go_on_reading(r, now_ns);
	case RELOAD_LATE:
		return go_on_late(r, now_ns);
	case RELOAD_STOPPED:
		break;
	}
	if (!is_wanted(r))
		return false;
	serve_waiting(r);
	refuse(r, now_ns, STOPPING_TEXT);
	return true;
}

/* ---- what has left ---- */

/* Answers the wish if it need not wait any longer. */
static void look_at(struct reload *r, struct reload_wish *wish, int64_t now_ns)
{
	char bytes[RELOAD_TEXT_MAX], line[LAST_LINE_MAX];
	struct text left, out;

	text_over(&left, bytes, sizeof(bytes));
	text_over(&out, line, sizeof(line));
	if (r->steps->is_retired(r->steps_arg, wish->generation, &left))
		text_printf(&out, "retired: nothing of the earlier configuration is left\n");
	else if (now_ns >= wish->until_ns)
		text_printf(&out, "retired: not yet%s%s\n", left.len > 0 ? ": " : "", left.bytes);
	else
		return;
	list_remove(&wish->link);
	wish->answer(wish, line, true);
}

/* An answer may make the caller forget other wishes, so none is remembered meanwhile. */
static void watch(struct reload *r, int64_t now_ns)
{
	struct list asked;
	struct reload_wish *wish;

	list_init(&asked);
	while ((wish = take_first(&r->watching)) != NULL) {
		list_push_back(&asked, &wish->link);
		look_at(r, wish, now_ns);
	}
	while ((wish = take_first(&asked)) != NULL)
		list_push_back(&r->watching, &wish->link);
}

static int64_t next_wake(const struct reload *r, int64_t now_ns)
{
	int64_t at_ns = CLOCK_NEVER;

	if (r->state == RELOAD_READING)
		at_ns = r->read_until_ns;
	if (!list_empty(&r->watching) && now_ns + RETIRE_LOOK_NS < at_ns)
		at_ns = now_ns + RETIRE_LOOK_NS;
	return at_ns;
}

int64_t reload_wake(struct reload *r, int64_t now_ns)
{
	while (go_on(r, now_ns))
		continue;
	watch(r, now_ns);
	return next_wake(r, now_ns);
}

/* ---- begin and end ---- */

void reload_init(struct reload *r, const struct reload_steps *steps, void *arg)
{
	memset(r, 0, sizeof(*r));
	r->asker = (struct reload_asker){.ask = on_ask, .forget = on_forget, .arg = r};
	r->steps = steps;
	r->steps_arg = arg;
	list_init(&r->waiting);
	list_init(&r->served);
	list_init(&r->watching);
	r->generation = 1;
}

void reload_stop(struct reload *r)
{
	const enum reload_state from = r->state;
	struct reload_wish *wish;

	if (from == RELOAD_STOPPED)
		return;
	set_state(r, RELOAD_STOPPED);
	if (from != RELOAD_IDLE)
		r->steps->drop_reading(r->steps_arg);
	if (from == RELOAD_READING) {
		end_run(r, false);
		refuse(r, 0, STOPPING_TEXT);
	}
	while (go_on(r, 0))
		continue;
	while ((wish = take_first(&r->watching)) != NULL)
		wish->answer(wish, "retired: not yet: " STOPPING_TEXT "\n", true);
}

static void forget_all(struct list *list)
{
	while (take_first(list) != NULL)
		continue;
}

void reload_free(struct reload *r)
{
	if (r->steps == NULL)
		return;
	if (r->state == RELOAD_READING || r->state == RELOAD_LATE)
		r->steps->drop_reading(r->steps_arg);
	forget_all(&r->waiting);
	forget_all(&r->served);
	forget_all(&r->watching);
	r->steps = NULL;
}

void reload_publish(void *reload, figure_report *report, void *to)
{
	static const struct figure generation = {
		"generation", FIGURE_TOTAL, "generation of the configuration in effect; 1 as started"};
	static const struct figure reloads = {"reloads", FIGURE_TOTAL, "reloads that took effect"};
	static const struct figure refused = {"reloads_refused", FIGURE_TOTAL, "reloads that were refused"};
	static const struct figure last_s = {"last_reload_time_s", FIGURE_GAUGE,
					     "Unix time of the last reload, refused or not; 0 = none"};
	static const struct figure last_ok = {"last_reload_ok", FIGURE_GAUGE,
					      "0 = the last reload was refused; else 1"};
	const struct reload *r = reload;

	report(to, &generation, r->generation);
	report(to, &reloads, r->reloads);
	report(to, &refused, r->refused);
	report(to, &last_s, (uint64_t)r->last_s);
	report(to, &last_ok, r->last_s == 0 || r->last_fine);
}

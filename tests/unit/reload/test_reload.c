/* SPDX-License-Identifier: MIT
 *
 * test_reload.c - who is answered what, and when a run begins. The steps are this file's.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/clock.h"
#include "weir/base/log.h"
#include "weir/config/config.h"
#include "weir/reload/reload.h"
#include "../base/log_take.h"

#define CHANGED "1 server added"
#define SEC	NS_PER_SEC

/* ---- what control does ---- */

struct hands {
	char trace[1024]; /* the steps that were called, each with a blank */
	int begin_err;
	bool has_read;
	const char *messages;
	bool no_memory; /* for the messages */
	bool usable;
	int apply_err;
	const char *why;
	const char *lines; /* that apply adds */
	const char *changed;
	uint64_t retired; /* up to this generation */
	const char *left;
	unsigned wakes;
};

static struct config next_config;

static void note(struct hands *h, const char *what)
{
	const size_t len = strlen(h->trace);

	assert_true(len + strlen(what) + 2 < sizeof(h->trace));
	(void)snprintf(h->trace + len, sizeof(h->trace) - len, "%s ", what);
}

static int begin_reading(void *arg, const struct reload_source *from)
{
	struct hands *h = arg;

	assert_null(from->kept);
	if (from->path != NULL)
		assert_string_equal(from->path, "/other.ini");
	note(h, from->plan ? "read-plan" : "read");
	return h->begin_err;
}

static bool has_read(void *arg)
{
	const struct hands *h = arg;

	return h->has_read;
}

static struct config *take_reading(void *arg, struct text *messages)
{
	struct hands *h = arg;

	assert_true(h->has_read);
	h->has_read = false;
	note(h, "take");
	text_printf(messages, "%s", h->messages);
	messages->failed = h->no_memory;
	return h->usable ? &next_config : NULL;
}

static struct config_text *take_text(void *arg)
{
	const struct hands *h = arg;

	assert_true(h->has_read);
	return NULL;
}

static void drop_reading(void *arg, struct config *next)
{
	struct hands *h = arg;

	assert_true(next == NULL || next == &next_config);
	h->has_read = false;
	note(h, "drop");
}

/* Without a state directory nothing is saved. */
static int begin_saving(void *arg, const struct confirmed *what)
{
	(void)arg;
	(void)what;
	fail();
	return -EIO;
}

static bool has_saved(void *arg)
{
	(void)arg;
	fail();
	return false;
}

static int take_saved(void *arg)
{
	(void)arg;
	fail();
	return -EIO;
}

static void drop_saving(void *arg)
{
	(void)arg;
	fail();
}

static void tell(void *arg, const char *trial, const struct confirmed_mark *left)
{
	(void)arg;
	assert_string_equal(trial, "");
	assert_null(left);
}

static int describe(void *arg, struct config *next, const struct reload_wish *wish,
		    const struct reload_outcome *out)
{
	struct hands *h = arg;

	assert_ptr_equal(next, &next_config);
	note(h, wish->json ? "describe-json" : "describe");
	text_printf(out->lines, "%s", h->lines);
	(void)snprintf(out->why, out->why_room, "%s", h->why != NULL ? h->why : "");
	return h->apply_err;
}

static int apply(void *arg, struct config *next, const struct reload_outcome *out)
{
	struct hands *h = arg;

	assert_ptr_equal(next, &next_config);
	note(h, "apply");
	text_printf(out->lines, "%s", h->lines);
	if (h->apply_err)
		(void)snprintf(out->why, out->why_room, "%s", h->why);
	else /* in two parts, of which the first always fits */
		text_printf(out->changed, "%.1s", h->changed);
	if (!h->apply_err && h->changed[0] != '\0')
		text_printf(out->changed, "%s", h->changed + 1);
	return h->apply_err;
}

static bool is_retired(void *arg, uint64_t generation, struct text *left)
{
	const struct hands *h = arg;

	if (generation <= h->retired)
		return true;
	text_printf(left, "%s", h->left);
	return false;
}

static void began(void *arg)
{
	note(arg, "began");
}

static void ended(void *arg, bool fine)
{
	note(arg, fine ? "fine" : "refused");
}

static void wake(void *arg)
{
	struct hands *h = arg;

	h->wakes++;
}

static const struct reload_steps steps = {
	.begin_reading = begin_reading,
	.has_read = has_read,
	.take_text = take_text,
	.take_reading = take_reading,
	.drop_reading = drop_reading,
	.apply = apply,
	.describe = describe,
	.begin_saving = begin_saving,
	.has_saved = has_saved,
	.take_saved = take_saved,
	.drop_saving = drop_saving,
	.is_retired = is_retired,
	.began = began,
	.ended = ended,
	.tell = tell,
	.wake = wake,
};

/* ---- a client ---- */

struct client {
	struct reload_wish wish;
	char text[4096]; /* all that it was answered */
	unsigned answers;
	bool done;
	struct reload *asks_again; /* when it is done */
	struct client *forgets;	   /* when it is answered */
	struct reload *reload;
};

static void ask(struct reload *r, struct client *c);

static void on_answer(struct reload_wish *wish, const char *text, bool last)
{
	struct client *c = container_of(wish, struct client, wish);
	const size_t len = strlen(c->text);

	assert_false(c->done);
	assert_true(len + strlen(text) < sizeof(c->text));
	memcpy(c->text + len, text, strlen(text) + 1);
	c->answers++;
	c->done = last;
	if (c->forgets != NULL)
		c->reload->asker.forget(c->reload->asker.arg, &c->forgets->wish);
	if (last && c->asks_again != NULL)
		ask(c->asks_again, c);
}

static void ask(struct reload *r, struct client *c)
{
	c->asks_again = NULL;
	c->done = false;
	c->text[0] = '\0';
	c->answers = 0;
	c->reload = r;
	c->wish.answer = on_answer;
	list_init(&c->wish.link);
	r->asker.ask(r->asker.arg, &c->wish);
	assert_int_equal(c->answers, 0);
}

/* ---- the log ---- */

static struct log_ring *ring;

static void assert_logged(enum log_level level, const char *line)
{
	enum log_level found = LOG_LEVEL_DEBUG;
	char text[LOG_RECORD_MAX];
	int64_t wall_ns;

	assert_true(log_take(ring, &found, &wall_ns, text, sizeof(text)) > 0);
	assert_string_equal(text, line);
	assert_int_equal(found, level);
}

static void assert_nothing_logged(void)
{
	enum log_level level;
	char text[LOG_RECORD_MAX];
	int64_t wall_ns;

	assert_int_equal(log_take(ring, &level, &wall_ns, text, sizeof(text)), 0);
}

static void on_record(void *arg)
{
	(void)arg;
}

struct rig {
	struct hands h;
	struct reload r;
	struct client c[4];
};

static int set_up(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	if (rig == NULL)
		return -1;
	ring = log_ring_new(on_record, NULL);
	if (ring == NULL)
		return -1;
	log_use_ring(ring);
	log_set_level(LOG_LEVEL_INFO);
	rig->h = (struct hands){.messages = "", .usable = true, .lines = "", .changed = CHANGED, .left = ""};
	reload_init(&rig->r, &steps, &rig->h);
	*state = rig;
	return 0;
}

static int tear_down(void **state)
{
	struct rig *rig = *state;

	reload_free(&rig->r);
	reload_free(&rig->r);
	log_use_ring(NULL);
	log_ring_free(ring);
	free(rig);
	return 0;
}

/* The reading that is under way ends. */
static int64_t end_reading(struct rig *rig, int64_t now_ns)
{
	rig->h.has_read = true;
	return reload_wake(&rig->r, now_ns);
}

/* ---- tests ---- */

static void idle_reload_needs_no_wake_up(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(reload_wake(&rig->r, 5), CLOCK_NEVER);
	assert_string_equal(rig->h.trace, "");
	assert_int_equal(rig->r.generation, 1);
}

static void wish_is_answered_after_reading_and_applying(void **state)
{
	struct rig *rig = *state;

	rig->h.messages = "weir.ini:3:1: warning: unused\n";
	rig->h.lines = "needs a restart: threads, user\n";
	ask(&rig->r, &rig->c[0]);
	assert_int_equal(rig->h.wakes, 1);
	assert_string_equal(rig->h.trace, "");
	assert_int_equal(reload_wake(&rig->r, 7), 7 + RELOAD_READ_S * SEC);
	assert_string_equal(rig->h.trace, "began read ");
	assert_int_equal(reload_wake(&rig->r, 8), 7 + RELOAD_READ_S * SEC);
	assert_int_equal(rig->c[0].answers, 0);
	assert_int_equal(end_reading(rig, 9), CLOCK_NEVER);
	assert_string_equal(rig->h.trace, "began read take apply fine ");
	assert_string_equal(rig->c[0].text, "weir.ini:3:1: warning: unused\nneeds a restart: threads, user\n"
					    "reloaded: generation 2, " CHANGED "\n");
	assert_true(rig->c[0].done);
	assert_logged(LOG_LEVEL_NOTICE, "reloaded: generation 2, " CHANGED);
	assert_nothing_logged();
}

static void unusable_configuration_is_refused_with_its_errors(void **state)
{
	struct rig *rig = *state;

	rig->h.messages = "weir.ini:3:1: error: no such option\n";
	rig->h.usable = false;
	rig->c[0].wish.wait = true;
	ask(&rig->r, &rig->c[0]);
	(void)reload_wake(&rig->r, 1);
	assert_int_equal(end_reading(rig, 2), CLOCK_NEVER);
	assert_string_equal(rig->h.trace, "began read take refused ");
	assert_string_equal(rig->c[0].text, "weir.ini:3:1: error: no such option\n"
					    "not reloaded: the configuration cannot be used\n");
	assert_true(rig->c[0].done);
	assert_logged(LOG_LEVEL_ERROR, "not reloaded: the configuration cannot be used");
	assert_nothing_logged();
	assert_int_equal(rig->r.generation, 1);
}

static void what_cannot_be_applied_is_refused_with_the_reason(void **state)
{
	struct rig *rig = *state;

	rig->h.apply_err = -EACCES;
	rig->h.why = "cannot listen on :80 (weir.ini:4): Permission denied";
	ask(&rig->r, &rig->c[0]);
	(void)reload_wake(&rig->r, 1);
	(void)end_reading(rig, 2);
	assert_string_equal(rig->c[0].text,
			    "not reloaded: cannot listen on :80 (weir.ini:4): Permission denied\n");
	assert_int_equal(rig->r.generation, 1);
	rig->h.why = "";
	ask(&rig->r, &rig->c[0]);
	(void)reload_wake(&rig->r, 3);
	(void)end_reading(rig, 4);
	assert_string_equal(rig->c[0].text, "not reloaded: Permission denied\n");
}

static void longest_texts_fit(void **state)
{
	struct rig *rig = *state;
	char longest[RELOAD_TEXT_MAX + 1], expected[2 * RELOAD_TEXT_MAX];

	memset(longest, 'x', RELOAD_TEXT_MAX);
	longest[RELOAD_TEXT_MAX] = '\0';
	rig->h.apply_err = -EACCES;
	rig->h.why = longest; /* cut */
	ask(&rig->r, &rig->c[0]);
	(void)reload_wake(&rig->r, 1);
	(void)end_reading(rig, 2);
	(void)snprintf(expected, sizeof(expected), "not reloaded: %s\n", longest + 1);
	assert_string_equal(rig->c[0].text, expected);

	rig->h.apply_err = 0;
	rig->h.changed = longest + 1;
	rig->r.generation = UINT64_MAX - 1;
	ask(&rig->r, &rig->c[0]);
	(void)reload_wake(&rig->r, 1);
	(void)end_reading(rig, 2);
	(void)snprintf(expected, sizeof(expected), "reloaded: generation %llu, %s\n",
		       (unsigned long long)UINT64_MAX, longest + 1);
	assert_string_equal(rig->c[0].text, expected);

	rig->h.changed = longest; /* does not fit: the line does without */
	rig->r.generation = 8;
	ask(&rig->r, &rig->c[0]);
	(void)reload_wake(&rig->r, 1);
	(void)end_reading(rig, 2);
	assert_string_equal(rig->c[0].text, "reloaded: generation 9\n");

	rig->h.changed = "";
	ask(&rig->r, &rig->c[0]);
	(void)reload_wake(&rig->r, 1);
	(void)end_reading(rig, 2);
	assert_string_equal(rig->c[0].text, "reloaded: generation 10\n");
}

static void answer_without_memory_is_its_last_line(void **state)
{
	struct rig *rig = *state;

	rig->h.messages = "weir.ini:3:1: warning: unused\n";
	rig->h.no_memory = true;
	reload_hang_up(&rig->r);
	ask(&rig->r, &rig->c[0]);
	(void)reload_wake(&rig->r, 1);
	(void)end_reading(rig, 2);
	assert_string_equal(rig->c[0].text, "reloaded: generation 2, " CHANGED "\n");
	assert_logged(LOG_LEVEL_NOTICE, "SIGHUP: reload requested");
	assert_logged(LOG_LEVEL_NOTICE, "reloaded: generation 2, " CHANGED);
	assert_nothing_logged();
	rig->h.usable = false;
	ask(&rig->r, &rig->c[0]);
	(void)reload_wake(&rig->r, 3);
	(void)end_reading(rig, 4);
	assert_string_equal(rig->c[0].text, "not reloaded: the configuration cannot be used\n");
}

static void waiting_wishes_share_a_run_and_later_ones_get_another(void **state)
{
	struct rig *rig = *state;

	ask(&rig->r, &rig->c[0]);
	ask(&rig->r, &rig->c[1]);
	(void)reload_wake(&rig->r, 1);
	ask(&rig->r, &rig->c[2]);
	assert_int_equal(reload_wake(&rig->r, 2), 1 + RELOAD_READ_S * SEC);
	assert_int_equal(end_reading(rig, 3), 3 + RELOAD_READ_S * SEC);
	assert_string_equal(rig->h.trace, "began read take apply fine began read ");
	assert_true(rig->c[0].done);
	assert_true(rig->c[1].done);
	assert_string_equal(rig->c[1].text, rig->c[0].text);
	assert_int_equal(rig->c[2].answers, 0);
	assert_int_equal(end_reading(rig, 4), CLOCK_NEVER);
	assert_string_equal(rig->c[2].text, "reloaded: generation 3, " CHANGED "\n");
}

static void answered_client_may_ask_again_at_once(void **state)
{
	struct rig *rig = *state;

	rig->c[0].asks_again = &rig->r;
	ask(&rig->r, &rig->c[0]);
	rig->c[0].asks_again = &rig->r;
	(void)reload_wake(&rig->r, 1);
	assert_int_equal(end_reading(rig, 2), 2 + RELOAD_READ_S * SEC);
	assert_string_equal(rig->h.trace, "began read take apply fine began read ");
	assert_int_equal(rig->c[0].answers, 0);
	(void)end_reading(rig, 3);
	assert_true(rig->c[0].done);
}

static void forgotten_wish_is_not_answered(void **state)
{
	struct rig *rig = *state;
	struct reload_asker *asker = &rig->r.asker;

	ask(&rig->r, &rig->c[0]);
	asker->forget(asker->arg, &rig->c[0].wish);
	(void)reload_wake(&rig->r, 1);
	assert_string_equal(rig->h.trace, "");

	ask(&rig->r, &rig->c[0]);
	ask(&rig->r, &rig->c[1]);
	(void)reload_wake(&rig->r, 1);
	asker->forget(asker->arg, &rig->c[0].wish);
	(void)end_reading(rig, 2); /* the run goes on */
	assert_int_equal(rig->c[0].answers, 0);
	assert_true(rig->c[1].done);
	asker->forget(asker->arg, &rig->c[1].wish);
}

static void answer_may_forget_any_wish(void **state)
{
	struct rig *rig = *state;

	for (size_t i = 0; i < 3; i++) {
		rig->c[i].wish.wait = i < 2;
		ask(&rig->r, &rig->c[i]);
	}
	rig->c[0].forgets = &rig->c[1];
	(void)reload_wake(&rig->r, 1);
	(void)end_reading(rig, 2);
	assert_int_equal(rig->c[1].answers, 0);
	assert_true(rig->c[2].done);
	assert_false(rig->c[0].done);

	rig->c[0].forgets = NULL;
	rig->c[1].forgets = &rig->c[0]; /* when its line "retired:" comes, or itself */
	ask(&rig->r, &rig->c[1]);
	(void)reload_wake(&rig->r, 3);
	(void)end_reading(rig, 4);
	assert_int_equal(rig->c[0].answers, 1);
	rig->h.retired = 3;
	rig->c[1].forgets = &rig->c[1];
	assert_int_equal(reload_wake(&rig->r, 5), CLOCK_NEVER);
	assert_int_equal(rig->c[0].answers, 1);
	assert_true(rig->c[1].done);
}

static void waiting_wish_is_told_when_nothing_is_left(void **state)
{
	struct rig *rig = *state;
	struct client *c = &rig->c[0];

	rig->h.retired = 1;
	c->wish.wait = true;
	ask(&rig->r, c);
	(void)reload_wake(&rig->r, 1);
	assert_int_equal(end_reading(rig, 2), 2 + 100 * NS_PER_MS);
	assert_string_equal(c->text, "reloaded: generation 2, " CHANGED "\n");
	assert_false(c->done);
	assert_int_equal(reload_wake(&rig->r, 3), 3 + 100 * NS_PER_MS);
	assert_int_equal(c->answers, 1);
	rig->h.retired = 2;
	assert_int_equal(reload_wake(&rig->r, 4), CLOCK_NEVER);
	assert_string_equal(c->text, "reloaded: generation 2, " CHANGED "\n"
				     "retired: nothing of the earlier configuration is left\n");
	assert_true(c->done);
}

static void waiting_wish_is_told_at_its_own_time_what_is_left(void **state)
{
	struct rig *rig = *state;

	rig->h.left = "3 sessions of server app/a";
	for (size_t i = 0; i < 2; i++) {
		rig->c[i].wish.wait = true;
		ask(&rig->r, &rig->c[i]);
		(void)reload_wake(&rig->r, (int64_t)i * SEC);
		(void)end_reading(rig, (int64_t)i * SEC);
	}
	(void)reload_wake(&rig->r, RELOAD_RETIRE_S * SEC - 1);
	assert_false(rig->c[0].done);
	assert_int_equal(reload_wake(&rig->r, RELOAD_RETIRE_S * SEC),
			 RELOAD_RETIRE_S * SEC + 100 * NS_PER_MS);
	assert_string_equal(rig->c[0].text, "reloaded: generation 2, " CHANGED "\n"
					    "retired: not yet: 3 sessions of server app/a\n");
	assert_false(rig->c[1].done);
	rig->h.left = "";
	assert_int_equal(reload_wake(&rig->r, (1 + RELOAD_RETIRE_S) * SEC), CLOCK_NEVER);
	assert_string_equal(rig->c[1].text,
			    "reloaded: generation 3, " CHANGED "\nretired: not yet\n");
}

static void signal_has_its_answer_in_the_log(void **state)
{
	struct rig *rig = *state;

	rig->h.messages = "weir.ini:3:1: error: no such option\n  3 | bnid = :80\n";
	rig->h.usable = false;
	reload_hang_up(&rig->r);
	assert_int_equal(rig->h.wakes, 1);
	assert_logged(LOG_LEVEL_NOTICE, "SIGHUP: reload requested");
	(void)reload_wake(&rig->r, 1);
	reload_hang_up(&rig->r); /* for the next run */
	assert_logged(LOG_LEVEL_NOTICE, "SIGHUP: reload requested");
	(void)end_reading(rig, 2);
	assert_logged(LOG_LEVEL_ERROR, "weir.ini:3:1: error: no such option");
	assert_logged(LOG_LEVEL_ERROR, "  3 | bnid = :80");
	assert_logged(LOG_LEVEL_ERROR, "not reloaded: the configuration cannot be used");
	assert_nothing_logged();
	rig->h.usable = true;
	rig->h.messages = "weir.ini:3:1: warning: unused\n";
	(void)end_reading(rig, 3);
	assert_logged(LOG_LEVEL_WARNING, "weir.ini:3:1: warning: unused");
	assert_logged(LOG_LEVEL_NOTICE, "reloaded: generation 2, " CHANGED);
	assert_nothing_logged();
	assert_int_equal(reload_wake(&rig->r, 4), CLOCK_NEVER);
	assert_string_equal(rig->h.trace, "began read take refused began read take apply fine ");
}

static void thread_that_cannot_start_refuses(void **state)
{
	struct rig *rig = *state;

	rig->h.begin_err = -EAGAIN;
	ask(&rig->r, &rig->c[0]);
	assert_int_equal(reload_wake(&rig->r, 1), CLOCK_NEVER);
	assert_string_equal(rig->h.trace, "began read refused ");
	assert_string_equal(rig->c[0].text,
			    "not reloaded: cannot start a thread to read the configuration: Resource "
			    "temporarily unavailable; raise the limits of memory and tasks (MemoryMax= and "
			    "TasksMax= of the unit)\n");
	assert_true(rig->c[0].done);
	rig->h.begin_err = 0;
	ask(&rig->r, &rig->c[0]);
	(void)reload_wake(&rig->r, 2);
	(void)end_reading(rig, 3);
	assert_string_equal(rig->c[0].text, "reloaded: generation 2, " CHANGED "\n");
}

static void reading_that_hangs_is_given_up_and_its_result_dropped(void **state)
{
	struct rig *rig = *state;

	ask(&rig->r, &rig->c[0]);
	(void)reload_wake(&rig->r, 0);
	ask(&rig->r, &rig->c[1]);
	(void)reload_wake(&rig->r, RELOAD_READ_S * SEC - 1);
	assert_false(rig->c[0].done);
	assert_int_equal(reload_wake(&rig->r, RELOAD_READ_S * SEC), CLOCK_NEVER);
	assert_non_null(strstr(rig->c[0].text, "not reloaded: reading the configuration has taken more"));
	assert_true(rig->c[0].done);
	assert_non_null(strstr(rig->c[1].text, "not reloaded: the reading of an earlier reload still hangs"));
	assert_true(rig->c[1].done);
	assert_string_equal(rig->h.trace, "began read refused ");
	ask(&rig->r, &rig->c[0]);
	assert_int_equal(end_reading(rig, 100 * SEC), (100 + RELOAD_READ_S) * SEC);
	assert_string_equal(rig->h.trace, "began read refused drop began read ");
	(void)end_reading(rig, 101 * SEC);
	assert_string_equal(rig->c[0].text, "reloaded: generation 2, " CHANGED "\n");
}

static void stop_refuses_all_wishes_from_then_on(void **state)
{
	struct rig *rig = *state;

	rig->c[0].wish.wait = true;
	ask(&rig->r, &rig->c[0]);
	(void)reload_wake(&rig->r, 1);
	(void)end_reading(rig, 2);
	ask(&rig->r, &rig->c[1]);
	(void)reload_wake(&rig->r, 3);
	ask(&rig->r, &rig->c[2]);
	reload_stop(&rig->r);
	assert_string_equal(rig->h.trace, "began read take apply fine began read drop refused ");
	assert_string_equal(rig->c[0].text, "reloaded: generation 2, " CHANGED "\n"
					    "retired: not yet: the daemon is stopping\n");
	assert_string_equal(rig->c[1].text, "not reloaded: the daemon is stopping\n");
	assert_string_equal(rig->c[2].text, "not reloaded: the daemon is stopping\n");
	ask(&rig->r, &rig->c[1]);
	reload_stop(&rig->r);
	assert_int_equal(reload_wake(&rig->r, 4), CLOCK_NEVER);
	assert_string_equal(rig->c[1].text, "not reloaded: the daemon is stopping\n");
	reload_hang_up(&rig->r);
	(void)reload_wake(&rig->r, 5);
	assert_logged(LOG_LEVEL_NOTICE, "reloaded: generation 2, " CHANGED);
	for (unsigned i = 0; i < 3; i++)
		assert_logged(LOG_LEVEL_NOTICE, "not reloaded: the daemon is stopping");
	assert_logged(LOG_LEVEL_NOTICE, "SIGHUP: reload requested");
	assert_logged(LOG_LEVEL_NOTICE, "not reloaded: the daemon is stopping");
	assert_nothing_logged();
	assert_int_equal(rig->r.refused, 0);
}

static void stop_drops_a_reading_that_hangs(void **state)
{
	struct rig *rig = *state;

	ask(&rig->r, &rig->c[0]);
	(void)reload_wake(&rig->r, 0);
	(void)reload_wake(&rig->r, RELOAD_READ_S * SEC);
	reload_stop(&rig->r);
	assert_string_equal(rig->h.trace, "began read refused drop ");
}

static void end_drops_a_reading_and_forgets_wishes(void **state)
{
	struct rig *rig = *state;

	ask(&rig->r, &rig->c[0]);
	(void)reload_wake(&rig->r, 0);
	ask(&rig->r, &rig->c[1]);
	reload_free(&rig->r);
	assert_string_equal(rig->h.trace, "began read drop ");
	assert_int_equal(rig->c[0].answers, 0);
	assert_true(list_empty(&rig->c[0].wish.link));
	assert_true(list_empty(&rig->c[1].wish.link));
}

/* ---- plans ---- */

static void plan_is_answered_and_changes_nothing(void **state)
{
	struct rig *rig = *state;

	rig->h.messages = "weir.ini:3:1: warning: unused\n";
	rig->h.lines = "would add server app/b\n";
	rig->c[0].wish.kind = WISH_PLAN;
	rig->c[0].wish.path = "/other.ini";
	ask(&rig->r, &rig->c[0]);
	rig->c[1].wish.kind = WISH_PLAN;
	rig->c[1].wish.json = true;
	ask(&rig->r, &rig->c[1]);
	(void)reload_wake(&rig->r, 1);
	(void)end_reading(rig, 2);
	assert_string_equal(rig->c[0].text, "weir.ini:3:1: warning: unused\nwould add server app/b\n");
	(void)end_reading(rig, 3);
	assert_string_equal(rig->c[1].text, "would add server app/b\n");
	assert_true(rig->c[0].done && rig->c[1].done);
	assert_string_equal(rig->h.trace, "read-plan take describe read-plan take describe-json ");
	assert_int_equal(rig->r.generation, 1);
	assert_int_equal(rig->r.refused, 0);
	assert_int_equal(rig->r.last_s, 0);
	assert_nothing_logged();
}

static void plan_that_fails_says_so(void **state)
{
	struct rig *rig = *state;

	rig->c[0].wish.kind = WISH_PLAN;
	rig->h.messages = "weir.ini:3:1: error: no such option\n";
	rig->h.usable = false;
	ask(&rig->r, &rig->c[0]);
	(void)reload_wake(&rig->r, 1);
	(void)end_reading(rig, 2);
	assert_string_equal(rig->c[0].text, "weir.ini:3:1: error: no such option\n"
					    "not planned: the configuration cannot be used\n");
	rig->h.usable = true;
	rig->h.messages = "";
	rig->h.apply_err = -ENOMEM;
	ask(&rig->r, &rig->c[0]);
	(void)reload_wake(&rig->r, 3);
	(void)end_reading(rig, 4);
	assert_string_equal(rig->c[0].text, "not planned: Cannot allocate memory\n");
	assert_nothing_logged();
}

static void plan_whose_client_has_gone_is_dropped(void **state)
{
	struct rig *rig = *state;

	rig->c[0].wish.kind = WISH_PLAN;
	ask(&rig->r, &rig->c[0]);
	(void)reload_wake(&rig->r, 1);
	rig->r.asker.forget(rig->r.asker.arg, &rig->c[0].wish);
	assert_int_equal(end_reading(rig, 2), CLOCK_NEVER);
	assert_string_equal(rig->h.trace, "read-plan take drop ");
	assert_int_equal(rig->c[0].answers, 0);
}

/* ---- figures ---- */

static void put_figure(void *to, const struct figure *row, uint64_t value)
{
	struct text *out = to;

	if (strcmp(row->name, "last_reload_time_s") == 0)
		text_printf(out, "%s=%s ", row->name, value > 0 ? "some" : "0");
	else
		text_printf(out, "%s=%llu ", row->name, (unsigned long long)value);
}

static void assert_figures(const struct reload *r, const char *expected)
{
	char bytes[512];
	struct text out;

	text_over(&out, bytes, sizeof(bytes));
	reload_publish((void *)(uintptr_t)r, put_figure, &out);
	assert_false(out.failed);
	assert_string_equal(bytes, expected);
}

static void figures_count_runs_and_show_the_last(void **state)
{
	struct rig *rig = *state;

	assert_figures(&rig->r, "generation=1 reloads=0 rollbacks=0 reloads_refused=0 last_reload_time_s=0 "
				"last_reload_ok=1 trial_left_s=0 texts_marked=0 ");
	for (unsigned i = 0; i < 3; i++) {
		rig->h.usable = i < 2;
		ask(&rig->r, &rig->c[0]);
		(void)reload_wake(&rig->r, 1);
		(void)end_reading(rig, 2);
	}
	assert_figures(&rig->r, "generation=3 reloads=2 rollbacks=0 reloads_refused=1 "
				"last_reload_time_s=some last_reload_ok=0 trial_left_s=0 texts_marked=0 ");
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(idle_reload_needs_no_wake_up),
		test(wish_is_answered_after_reading_and_applying),
		test(unusable_configuration_is_refused_with_its_errors),
		test(what_cannot_be_applied_is_refused_with_the_reason),
		test(longest_texts_fit),
		test(answer_without_memory_is_its_last_line),
		test(waiting_wishes_share_a_run_and_later_ones_get_another),
		test(answered_client_may_ask_again_at_once),
		test(forgotten_wish_is_not_answered),
		test(answer_may_forget_any_wish),
		test(waiting_wish_is_told_when_nothing_is_left),
		test(waiting_wish_is_told_at_its_own_time_what_is_left),
		test(signal_has_its_answer_in_the_log),
		test(thread_that_cannot_start_refuses),
		test(reading_that_hangs_is_given_up_and_its_result_dropped),
		test(stop_refuses_all_wishes_from_then_on),
		test(stop_drops_a_reading_that_hangs),
		test(end_drops_a_reading_and_forgets_wishes),
		test(plan_is_answered_and_changes_nothing),
		test(plan_that_fails_says_so),
		test(plan_whose_client_has_gone_is_dropped),
		test(figures_count_runs_and_show_the_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

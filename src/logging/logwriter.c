/* SPDX-License-Identifier: MIT
 *
 * logwriter.c - reads the log rings of all threads and writes their lines to the targets.
 *
 * Owns the targets, borrows the rings. A ring is marked quiet (by taking from it when it is empty) only after
 * a pause of 20 ms without lines. The targets' threads share one ev_async to wake the loop. Main thread.
 */
#include "weir/logging/logwriter.h"

#include <errno.h>
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "writer.h"

#define PAUSE_S 0.020
/* Signals and the admin socket get a turn after this many lines. */
#define LINES_PER_TURN 4096
/* The number of suppressed lines is reported this long after the first of them, if not sooner. */
#define LEFT_OUT_S 1.0
/* If the targets have no room for that long, records that someone waits for are dropped. */
#define AWAITED_S 1.0

static void on_pause(struct ev_loop *loop, struct ev_timer *timer, int revents);
static void on_left_out(struct ev_loop *loop, struct ev_timer *timer, int revents);
static void on_threads(struct ev_loop *loop, struct ev_async *async, int revents);
static void on_awaited(struct ev_loop *loop, struct ev_timer *timer, int revents);
static void note_read(struct logwriter *w);

/* Any thread: the one libev call allowed from other threads. */
static void wake_loop(void *arg)
{
	struct logwriter *w = arg;

	ev_async_send(w->loop, &w->news);
}

static void on_room(void *arg)
{
	logwriter_wake(arg);
}

static struct logwriter *new_writer(struct ev_loop *loop)
{
	struct logwriter *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	w->loop = loop;
	log_outlets_init(&w->outlets, loop);
	w->outlets.wake = wake_loop;
	w->outlets.room = on_room;
	w->outlets.arg = w;
	ev_timer_init(&w->pause, on_pause, PAUSE_S, 0.);
	w->pause.data = w;
	ev_timer_init(&w->left_out, on_left_out, LEFT_OUT_S, 0.);
	w->left_out.data = w;
	ev_timer_init(&w->awaited, on_awaited, AWAITED_S, 0.);
	w->awaited.data = w;
	ev_async_init(&w->news, on_threads);
	w->news.data = w;
	return w;
}

struct logwriter *logwriter_new(struct ev_loop *loop, const struct config_global *g,
				const struct config_log **failed, int *err)
{
	struct logwriter *w = new_writer(loop);
	const size_t count = g->log_count > 0 ? g->log_count : 1;

	*failed = NULL;
	*err = -ENOMEM;
	if (w == NULL)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		const struct config_log *c = g->log_count > 0 ? &g->logs[i] : NULL;
		struct log_outlet *o = log_outlets_open(c, err);

		if (o == NULL) {
			*failed = *err != -ENOMEM ? c : NULL;
			logwriter_free(w);
			return NULL;
		}
		(void)log_outlets_prepare(&w->outlets, o); /* cannot fail before logwriter_start() */
		log_outlets_commit(&w->outlets, o);
	}
	log_outlets_set_wanted(&w->outlets);
	log_outlets_foreach(&w->outlets, o)
		log_target_tell_absent(&o->target);
	return w;
}

void logwriter_free(struct logwriter *w)
{
	if (w == NULL)
		return;
	ev_timer_stop(w->loop, &w->pause);
	ev_timer_stop(w->loop, &w->left_out);
	ev_timer_stop(w->loop, &w->awaited);
	log_outlets_free(&w->outlets);
	ev_async_stop(w->loop, &w->news); /* no thread is left to send it */
	log_rings_free(&w->rings);
	free(w);
}

int logwriter_start(struct logwriter *w, const struct config_log **failed)
{
	struct log_target *target = NULL;
	int err;

	ev_async_start(w->loop, &w->news);
	err = log_outlets_start(&w->outlets, &target);
	*failed = err ? &target->config : NULL;
	return err;
}

int logwriter_add_ring(struct logwriter *w, struct log_ring *ring)
{
	const int err = log_rings_add(&w->rings, ring);

	if (err)
		return err;
	/* The ring may already hold records for which it will not wake us again. */
	if (!ev_is_active(&w->pause)) {
		ev_timer_set(&w->pause, PAUSE_S, 0.);
		ev_timer_start(w->loop, &w->pause);
	}
	return 0;
}

static void give_in_own_format(struct log_target *t, const struct log_entry *e)
{
	char text[LOG_TEXT_MAX];

	if (log_layout_format(&t->layout, e, text, sizeof(text)) > 0)
		log_target_add(t, e, text);
}

/* Passes an entry to the targets; formats its text once per style that any of them uses. */
static void give(struct logwriter *w, const struct log_entry *e)
{
	char text[LOG_STYLES][LOG_TEXT_MAX];
	bool made[LOG_STYLES] = {false};
	size_t len[LOG_STYLES] = {0};

	log_outlets_foreach(&w->outlets, o) {
		struct log_target *t = &o->target;
		const enum log_style style = t->layout.style;

		if (!log_target_wants(t, e->level))
			continue;
		if (log_layout_has_format(&t->layout, e)) {
			give_in_own_format(t, e);
			continue;
		}
		if (!made[style])
			len[style] = log_entry_format(e, style, text[style], sizeof(text[style]));
		made[style] = true;
		if (len[style] > 0)
			log_target_add(t, e, text[style]);
	}
}

static void log_own_line(struct logwriter *w, enum log_level level, const char *text)
{
	const struct log_entry e = log_entry_of_text(level, clock_wall_ns(), text);

	give(w, &e);
}

/* Takes one record and passes it to the targets; false if the ring was empty, and is now marked quiet. */
static bool take_record(struct logwriter *w, struct log_ring *r)
{
	struct log_entry e;

	if (!log_ring_peek(r, &e))
		return false;
	give(w, &e);
	log_ring_pop(r);
	return true;
}

/* The next line of a cause reports how many before it were suppressed. This reports them if the cause no
 * longer occurs, as there is no next line then. */
static void tell_left_out(struct logwriter *w)
{
	for (enum log_cause cause = 0; cause < LOG_CAUSES; cause++) {
		const struct log_left_out all = {cause, log_rings_take_left_out(&w->rings, cause)};
		struct log_entry e;

		if (all.count == 0)
			continue;
		e = log_entry_of_left_out(clock_wall_ns(), &all);
		give(w, &e);
	}
}

static void watch_left_out(struct logwriter *w)
{
	if (ev_is_active(&w->left_out) || !log_rings_has_left_out(&w->rings))
		return;
	ev_timer_set(&w->left_out, LEFT_OUT_S, 0.);
	ev_timer_start(w->loop, &w->left_out);
}

static void on_left_out(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct logwriter *w = timer->data;

	(void)loop;
	(void)revents;
	/* Without room the report would be lost: look_into_rings() calls this again when there is some. */
	if (log_outlets_have_room(&w->outlets))
		tell_left_out(w);
	log_outlets_flush(&w->outlets);
	logwriter_wake(w); /* the target may have been full, and may have room now */
}

/* A target whose disk made us wait; NULL if there is none. */
static struct log_target *stalled_target(const struct logwriter *w)
{
	log_outlets_foreach(&w->outlets, o)
		if (log_target_stalled_ns(&o->target) > 0)
			return &o->target;
	return NULL;
}

/* Called when the rings are empty: reports what they had to drop in one line. */
static void tell_dropped(struct logwriter *w)
{
	uint64_t dropped = log_rings_dropped(&w->rings);
	struct log_target *stalled;
	char text[LOG_RECORD_MAX];

	if (dropped == w->dropped_told || !log_outlets_have_room(&w->outlets))
		return;
	stalled = stalled_target(w);
	if (stalled != NULL)
		log_target_tell_stall(stalled, dropped - w->dropped_told, text, sizeof(text));
	else
		(void)snprintf(text, sizeof(text), /* always fits */
			       "%llu log lines were dropped: the log's reader is too slow; speed it up or "
			       "raise the log level",
			       (unsigned long long)(dropped - w->dropped_told));
	w->dropped_told = dropped;
	log_own_line(w, LOG_LEVEL_WARNING, text);
}

/* For a mark that the targets' lack of room has held up: takes all records before it. The targets drop and
 * count what they have no room for. */
static enum rings_left flush_awaited(struct logwriter *w)
{
	unsigned lines = 0;

	for (size_t i = 0; i < w->rings.count; i++) {
		for (; log_rings_is_awaited(&w->rings, i); lines++) {
			if (lines == LINES_PER_TURN)
				return RINGS_LEFT_SOME;
			(void)take_record(w, w->rings.list[i].ring);
		}
	}
	return RINGS_LEFT_EMPTY;
}

enum rings_left logwriter_read(struct logwriter *w)
{
	unsigned lines = 0;

	for (size_t i = 0; i < w->rings.count; i++) {
		while (log_rings_has_records(&w->rings, i)) {
			if (!log_outlets_have_room(&w->outlets))
				log_outlets_flush(&w->outlets);
			if (!log_outlets_have_room(&w->outlets))
				return RINGS_LEFT_STUCK;
			if (lines == LINES_PER_TURN)
				return RINGS_LEFT_SOME;
			/* A record with an empty text counts as a line too. */
			(void)take_record(w, w->rings.list[i].ring);
			lines++;
		}
	}
	logwriter_note_dropped(w);
	tell_dropped(w);
	return lines > 0 ? RINGS_LEFT_SOME : RINGS_LEFT_EMPTY;
}

/* After a whole pause without records: makes the next record of each ring wake us. True if one has just
 * arrived. */
static bool mark_quiet(struct logwriter *w)
{
	bool came = false;

	for (size_t i = 0; i < w->rings.count; i++)
		if (take_record(w, w->rings.list[i].ring))
			came = true;
	return came;
}

void logwriter_look_later(struct logwriter *w)
{
	ev_timer_stop(w->loop, &w->pause);
	ev_timer_set(&w->pause, PAUSE_S, 0.);
	ev_timer_start(w->loop, &w->pause);
}

/* Reads all rings once. After RINGS_LEFT_STUCK on_writable continues; until then there is no timer and no
 * wake-up. */
static void look_into_rings(struct logwriter *w)
{
	enum rings_left result = w->late ? flush_awaited(w) : RINGS_LEFT_EMPTY;

	if (result == RINGS_LEFT_EMPTY)
		result = logwriter_read(w);
	/* A writer that wakes us marks its ring as busy, so mark empty rings quiet before sleeping. */
	if (result == RINGS_LEFT_SOME || (result == RINGS_LEFT_EMPTY && mark_quiet(w)))
		logwriter_look_later(w);
	/* Only after that, because from then on the first suppressed line wakes us. */
	watch_left_out(w);
	log_outlets_flush(&w->outlets);
	/* The reader has just made room, so there is no event to wait for. */
	if (result == RINGS_LEFT_STUCK && log_outlets_have_room(&w->outlets))
		logwriter_look_later(w);
	note_read(w);
}

void logwriter_wake(struct logwriter *w)
{
	if (ev_is_active(&w->pause))
		return; /* runs soon anyway */
	look_into_rings(w);
}

static void on_pause(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	(void)loop;
	(void)revents;
	look_into_rings(timer->data);
}

/* A thread has room again, has opened its file, or writes again after a stall. */
static void on_threads(struct ev_loop *loop, struct ev_async *async, int revents)
{
	struct logwriter *w = async->data;

	(void)loop;
	(void)revents;
	log_outlets_hear(&w->outlets);
	log_reopens_tell(&w->reopens, &w->outlets);
	logwriter_wake(w); /* the target may have been full, and may have room now */
}

bool logwriter_flush(struct logwriter *w, int timeout_ms)
{
	int64_t deadline_ns = clock_mono_ns() + timeout_ms * NS_PER_MS;
	enum rings_left result;
	bool out;

	tell_left_out(w);
	do {
		result = logwriter_read(w);
		log_outlets_flush(&w->outlets);
		out = log_outlets_wait(&w->outlets, deadline_ns);
	} while ((result == RINGS_LEFT_SOME || !out) && clock_mono_ns() < deadline_ns);
	if (log_rings_are_awaited(&w->rings))
		logwriter_look_later(w); /* on_read is called by the loop only */
	return out && result != RINGS_LEFT_SOME;
}

/* ---- marks ---- */

static void watch_marks(struct logwriter *w)
{
	if (ev_is_active(&w->awaited) || w->late || !log_rings_are_awaited(&w->rings))
		return;
	ev_timer_set(&w->awaited, AWAITED_S, 0.);
	ev_timer_start(w->loop, &w->awaited);
}

/* Last, because the owner of the mark may call us. */
static void note_read(struct logwriter *w)
{
	if (!log_rings_note_read(&w->rings))
		return;
	w->late = false;
	ev_timer_stop(w->loop, &w->awaited);
	watch_marks(w); /* for the next one */
	if (w->on_read != NULL)
		w->on_read(w->on_read_arg);
}

static void on_awaited(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct logwriter *w = timer->data;

	(void)loop;
	(void)revents;
	w->late = true;
	look_into_rings(w);
}

void logwriter_on_read(struct logwriter *w, void (*on_read)(void *arg), void *arg)
{
	w->on_read = on_read;
	w->on_read_arg = arg;
}

void logwriter_mark(struct logwriter *w, struct log_mark *out)
{
	out->number = log_rings_mark(&w->rings);
	watch_marks(w);
}

bool logwriter_has_read(const struct logwriter *w, const struct log_mark *mark)
{
	return log_rings_are_read_to(&w->rings, mark->number);
}

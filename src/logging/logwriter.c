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
#include "log_rings.h"
#include "log_target.h"

#define PAUSE_S 0.020
/* Signals and the admin socket get a turn after this many lines. */
#define LINES_PER_TURN 4096
/* The number of suppressed lines is reported this long after the first of them, if not sooner. */
#define LEFT_OUT_S 1.0
/* At the end: longest wait for one target while others may also have lines to write. */
#define SLICE_MS 20

struct slot {
	struct logwriter *writer; /* borrows */
	struct ev_io writable;    /* active while waiting for the target */
	struct log_target target;
};

struct logwriter {
	struct ev_loop *loop; /* borrows */
	struct slot *slots;   /* owns */
	size_t slot_count;
	struct log_rings rings;
	struct ev_timer pause;
	struct ev_timer left_out; /* runs only while there are suppressed lines to report */
	struct ev_async news;     /* for the threads; active once they are started */
	uint64_t dropped_told; /* of all rings, as of the last report */
	unsigned reopen_asked; /* how many were requested, and how many of these were reported */
	unsigned reopen_told;
};

enum rings_left {
	RINGS_LEFT_EMPTY, /* there was nothing */
	RINGS_LEFT_SOME,  /* lines were taken; there may be more */
	RINGS_LEFT_STUCK, /* there are lines, but no target has room */
};

static void on_pause(struct ev_loop *loop, struct ev_timer *timer, int revents);
static void on_left_out(struct ev_loop *loop, struct ev_timer *timer, int revents);
static void on_writable(struct ev_loop *loop, struct ev_io *io, int revents);
static void on_threads(struct ev_loop *loop, struct ev_async *async, int revents);

struct logwriter *logwriter_new(struct ev_loop *loop, const struct config_global *g,
				const struct config_log **failed, int *err)
{
	struct logwriter *w = calloc(1, sizeof(*w));
	size_t count = g->log_count > 0 ? g->log_count : 1;
	int level = LOG_LEVEL_ALERT;

	*failed = NULL;
	*err = -ENOMEM;
	if (w == NULL)
		return NULL;
	w->loop = loop;
	ev_timer_init(&w->pause, on_pause, PAUSE_S, 0.);
	w->pause.data = w;
	ev_timer_init(&w->left_out, on_left_out, LEFT_OUT_S, 0.);
	w->left_out.data = w;
	ev_async_init(&w->news, on_threads);
	w->news.data = w;
	w->slots = calloc(count, sizeof(*w->slots));
	if (w->slots == NULL) {
		logwriter_free(w);
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		struct slot *s = &w->slots[i];
		const struct config_log *c = g->log_count > 0 ? &g->logs[i] : NULL;

		*err = log_target_open(&s->target, c);
		if (*err) {
			*failed = c;
			logwriter_free(w);
			return NULL;
		}
		s->writer = w;
		ev_io_init(&s->writable, on_writable, log_target_fd(&s->target), EV_WRITE);
		s->writable.data = s;
		w->slot_count++;
		if (s->target.kind != LOG_TARGET_NONE && s->target.level > level)
			level = s->target.level;
	}
	log_set_level((enum log_level)level);
	for (size_t i = 0; i < w->slot_count; i++)
		log_target_tell_absent(&w->slots[i].target);
	return w;
}

void logwriter_free(struct logwriter *w)
{
	if (w == NULL)
		return;
	ev_timer_stop(w->loop, &w->pause);
	ev_timer_stop(w->loop, &w->left_out);
	for (size_t i = 0; i < w->slot_count; i++) {
		ev_io_stop(w->loop, &w->slots[i].writable);
		log_target_close(&w->slots[i].target);
	}
	ev_async_stop(w->loop, &w->news); /* no thread is left to send it */
	free(w->slots);
	log_rings_free(&w->rings);
	free(w);
}

/* Any thread: the one libev call allowed from other threads. */
static void wake_loop(void *arg)
{
	struct logwriter *w = arg;

	ev_async_send(w->loop, &w->news);
}

int logwriter_start(struct logwriter *w, const struct config_log **failed)
{
	int err;

	ev_async_start(w->loop, &w->news);
	for (size_t i = 0; i < w->slot_count; i++) {
		*failed = w->slots[i].target.config;
		err = log_target_start(&w->slots[i].target, wake_loop, w);
		if (err)
			return err;
		ev_io_stop(w->loop, &w->slots[i].writable);
	}
	return 0;
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

/* With one target, lines wait in the ring until there is room. With several, a stuck target does not hold up
 * the others and loses lines. */
static bool any_room(const struct logwriter *w)
{
	for (size_t i = 0; i < w->slot_count; i++)
		if (log_target_has_room(&w->slots[i].target))
			return true;
	return false;
}

/* Passes an entry to the targets; formats its text once per style that any of them uses. */
static void give(struct logwriter *w, const struct log_entry *e)
{
	char text[LOG_STYLES][LOG_TEXT_MAX];
	bool made[LOG_STYLES] = {false};
	size_t len[LOG_STYLES] = {0};

	for (size_t i = 0; i < w->slot_count; i++) {
		struct log_target *t = &w->slots[i].target;
		const enum log_style style = t->layout.style;

		if (!log_target_wants(t, e->level))
			continue;
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

static void slot_flush(struct logwriter *w, struct slot *s)
{
	/* The descriptor may differ afterwards: syslog sockets come and go. */
	ev_io_stop(w->loop, &s->writable);
	if (log_target_flush(&s->target) == -EAGAIN && s->target.file == NULL) {
		ev_io_set(&s->writable, log_target_fd(&s->target), EV_WRITE);
		ev_io_start(w->loop, &s->writable);
	}
}

static void flush_targets(struct logwriter *w)
{
	for (size_t i = 0; i < w->slot_count; i++)
		if (!log_target_is_empty(&w->slots[i].target))
			slot_flush(w, &w->slots[i]);
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
	if (any_room(w))
		tell_left_out(w);
	flush_targets(w);
	logwriter_wake(w); /* the target may have been full, and may have room now */
}

/* A target whose disk made us wait; NULL if there is none. */
static struct log_target *stalled_target(const struct logwriter *w)
{
	for (size_t i = 0; i < w->slot_count; i++)
		if (log_target_stalled_ns(&w->slots[i].target) > 0)
			return &w->slots[i].target;
	return NULL;
}

/* Called when the rings are empty: reports what they had to drop in one line. */
static void tell_dropped(struct logwriter *w)
{
	uint64_t dropped = log_rings_dropped(&w->rings);
	struct log_target *stalled;
	char text[LOG_RECORD_MAX];

	if (dropped == w->dropped_told || !any_room(w))
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

/* Takes records from all rings in turn, at most LINES_PER_TURN lines. */
static enum rings_left flush_rings(struct logwriter *w)
{
	unsigned lines = 0;

	for (size_t i = 0; i < w->rings.count; i++) {
		while (log_rings_has_records(&w->rings, i)) {
			if (!any_room(w))
				flush_targets(w);
			if (!any_room(w))
				return RINGS_LEFT_STUCK;
			if (lines == LINES_PER_TURN)
				return RINGS_LEFT_SOME;
			/* A record with an empty text counts as a line too. */
			(void)take_record(w, w->rings.list[i]);
			lines++;
		}
	}
	tell_dropped(w);
	return lines > 0 ? RINGS_LEFT_SOME : RINGS_LEFT_EMPTY;
}

/* After a whole pause without records: makes the next record of each ring wake us. True if one has just
 * arrived. */
static bool mark_quiet(struct logwriter *w)
{
	bool came = false;

	for (size_t i = 0; i < w->rings.count; i++)
		if (take_record(w, w->rings.list[i]))
			came = true;
	return came;
}

static void look_again_later(struct logwriter *w)
{
	ev_timer_stop(w->loop, &w->pause);
	ev_timer_set(&w->pause, PAUSE_S, 0.);
	ev_timer_start(w->loop, &w->pause);
}

/* Reads all rings once. After RINGS_LEFT_STUCK on_writable continues; until then there is no timer and no
 * wake-up. */
static void look_into_rings(struct logwriter *w)
{
	enum rings_left result = flush_rings(w);

	/* A writer that wakes us marks its ring as busy, so mark empty rings quiet before sleeping. */
	if (result == RINGS_LEFT_SOME || (result == RINGS_LEFT_EMPTY && mark_quiet(w)))
		look_again_later(w);
	/* Only after that, because from then on the first suppressed line wakes us. */
	watch_left_out(w);
	flush_targets(w);
	/* The reader has just made room, so there is no event to wait for. */
	if (result == RINGS_LEFT_STUCK && any_room(w))
		look_again_later(w);
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

static void on_writable(struct ev_loop *loop, struct ev_io *io, int revents)
{
	struct slot *s = io->data;

	(void)loop;
	(void)revents;
	slot_flush(s->writer, s);
	logwriter_wake(s->writer);
}

static bool is_file(const struct log_target *t)
{
	return t->is_file && t->file != NULL;
}

/* Logs one line per reopen that all threads have completed. */
static void tell_reopened(struct logwriter *w)
{
	unsigned done = w->reopen_asked;
	bool failed = false;
	int err;

	for (size_t i = 0; i < w->slot_count; i++) {
		const struct log_target *t = &w->slots[i].target;
		const unsigned opened = is_file(t) ? log_target_opened(t, &err) : done;

		done = opened < done ? opened : done;
	}
	if (done == w->reopen_told)
		return;
	for (size_t i = 0; i < w->slot_count; i++)
		failed = (is_file(&w->slots[i].target) && !log_target_tell_opened(&w->slots[i].target)) ||
			 failed;
	for (; w->reopen_told != done; w->reopen_told++)
		if (!failed)
			log_line(LOG_LEVEL_INFO, "SIGUSR1: log files opened again");
}

/* A thread has room again, has opened its file, or writes again after a stall. */
static void on_threads(struct ev_loop *loop, struct ev_async *async, int revents)
{
	struct logwriter *w = async->data;

	(void)loop;
	(void)revents;
	for (size_t i = 0; i < w->slot_count; i++)
		if (w->slots[i].target.file != NULL)
			slot_flush(w, &w->slots[i]);
	tell_reopened(w);
	logwriter_wake(w); /* the target may have been full, and may have room now */
}

/* Waits briefly for each target that holds lines. Is everything written? */
static bool wait_out(struct logwriter *w, int64_t deadline_ns)
{
	bool out = true;

	for (size_t i = 0; i < w->slot_count; i++) {
		int64_t left_ms = (deadline_ns - clock_mono_ns()) / NS_PER_MS;

		left_ms = left_ms < SLICE_MS ? left_ms : SLICE_MS;
		out = log_target_wait(&w->slots[i].target, left_ms > 0 ? (int)left_ms : 0) && out;
	}
	return out;
}

bool logwriter_flush(struct logwriter *w, int timeout_ms)
{
	int64_t deadline_ns = clock_mono_ns() + timeout_ms * NS_PER_MS;
	enum rings_left result;
	bool out;

	tell_left_out(w);
	do {
		result = flush_rings(w);
		flush_targets(w);
		out = wait_out(w, deadline_ns);
	} while ((result == RINGS_LEFT_SOME || !out) && clock_mono_ns() < deadline_ns);
	return out && result != RINGS_LEFT_SOME;
}

void logwriter_give(struct logwriter *w, uid_t uid, gid_t gid)
{
	for (size_t i = 0; i < w->slot_count; i++)
		log_target_give(&w->slots[i].target, uid, gid);
}

void logwriter_reopen(struct logwriter *w)
{
	w->reopen_asked++;
	for (size_t i = 0; i < w->slot_count; i++)
		(void)log_target_reopen(&w->slots[i].target); /* a socket has nothing to reopen */
	tell_reopened(w);
}

bool logwriter_has_stderr(const struct logwriter *w, enum log_level level)
{
	for (size_t i = 0; i < w->slot_count; i++) {
		const struct log_target *t = &w->slots[i].target;

		if (!t->is_file && t->kind == LOG_TARGET_OUT && log_target_wants(t, level))
			return true;
	}
	return false;
}

uint64_t logwriter_dropped(const struct logwriter *w)
{
	uint64_t n = log_rings_dropped(&w->rings);

	for (size_t i = 0; i < w->slot_count; i++)
		n += log_target_lost(&w->slots[i].target);
	return n;
}

uint64_t logwriter_dropped_slow(const struct logwriter *w)
{
	uint64_t n = log_rings_dropped(&w->rings);

	for (size_t i = 0; i < w->slot_count; i++)
		n += w->slots[i].target.no_room;
	return n;
}

int64_t logwriter_waiting_ns(const struct logwriter *w)
{
	int64_t longest_ns = 0;

	for (size_t i = 0; i < w->slot_count; i++) {
		const int64_t ns = log_target_waiting_ns(&w->slots[i].target);

		longest_ns = ns > longest_ns ? ns : longest_ns;
	}
	return longest_ns;
}

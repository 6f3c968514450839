/* SPDX-License-Identifier: MIT
 *
 * logwriter.c - reads the log rings of all threads and writes their lines to the targets.
 *
 * Owns the targets, borrows the rings. A ring is marked quiet (by taking from it when it is empty)
 * only after a pause of 20 ms in which nothing came. Main thread. Floor 5.
 */
#include "weir/control/logwriter.h"

#include <errno.h>
#include <ev.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/control/log_target.h"

#define PAUSE_S 0.020
/* Signals and the admin socket get their turn after so many lines. */
#define LINES_PER_TURN 4096
/* What limits held back is told so long after the first of them, if nobody told it sooner. */
#define LEFT_OUT_S 1.0

struct slot {
	struct logwriter *writer; /* borrows */
	struct ev_io writable;    /* active while the target must be waited for */
	struct log_target target;
};

struct logwriter {
	struct ev_loop *loop; /* borrows */
	struct slot *slots;   /* owns */
	size_t slot_count;
	struct log_ring **rings; /* owns the array, borrows the rings */
	size_t ring_count;
	struct ev_timer pause;
	struct ev_timer left_out; /* runs only while limits have something to tell */
	uint64_t dropped_told; /* of all rings, as last reported */
};

enum drain {
	DRAIN_EMPTY, /* nothing was there */
	DRAIN_SOME,  /* lines were taken; more may be there */
	DRAIN_FULL,  /* lines are there, and no target has room */
};

static void on_pause(struct ev_loop *loop, struct ev_timer *timer, int revents);
static void on_left_out(struct ev_loop *loop, struct ev_timer *timer, int revents);
static void on_writable(struct ev_loop *loop, struct ev_io *io, int revents);

/* A daemon that starts without its syslog goes on; who mistyped its address must learn of it. This
 * thread has no ring yet, so it goes to stderr whatever the targets are. */
static void tell_absent(const struct logwriter *w)
{
	char text[ADDR_TEXT_MAX];

	for (size_t i = 0; i < w->slot_count; i++) {
		const struct log_target *t = &w->slots[i].target;

		if (log_target_is_absent(t))
			log_line(LOG_LEVEL_WARNING,
				 "log = syslog:%s: nobody is there now; lines for it are lost until it comes",
				 addr_spec_format(&t->config->address, text));
	}
}

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
	tell_absent(w);
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
	free(w->slots);
	free(w->rings);
	free(w);
}

int logwriter_add_ring(struct logwriter *w, struct log_ring *ring)
{
	struct log_ring **rings = realloc(w->rings, (w->ring_count + 1) * sizeof(struct log_ring *));

	check(ring != NULL);
	if (rings == NULL)
		return -ENOMEM;
	w->rings = rings;
	w->rings[w->ring_count++] = ring;
	/* The ring may hold records already and think that we know of them. */
	if (!ev_is_active(&w->pause)) {
		ev_timer_set(&w->pause, PAUSE_S, 0.);
		ev_timer_start(w->loop, &w->pause);
	}
	return 0;
}

static bool ring_has_records(const struct log_ring *r)
{
	return atomic_load_explicit(&r->head, memory_order_acquire) !=
	       atomic_load_explicit(&r->tail, memory_order_relaxed);
}

/* With one target a line waits in its ring until there is room; with several, one that is stuck does
 * not hold up the others and loses lines. */
static bool any_room(const struct logwriter *w)
{
	for (size_t i = 0; i < w->slot_count; i++)
		if (log_target_has_room(&w->slots[i].target))
			return true;
	return false;
}

/* Gives an entry to the targets; its text is made once for each style that one of them wants. */
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

static void say(struct logwriter *w, enum log_level level, const char *text)
{
	const struct log_entry e = log_entry_of_text(level, clock_wall_ns(), text);

	give(w, &e);
}

/* Takes one record and gives it to the targets; false when the ring was empty, and is quiet now. */
static bool take_line(struct logwriter *w, struct log_ring *r)
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
	/* The descriptor may be another one afterwards: syslog sockets come and go. */
	ev_io_stop(w->loop, &s->writable);
	if (log_target_flush(&s->target) == -EAGAIN) {
		ev_io_set(&s->writable, log_target_fd(&s->target), EV_WRITE);
		ev_io_start(w->loop, &s->writable);
	}
}

static void flush_all(struct logwriter *w)
{
	for (size_t i = 0; i < w->slot_count; i++)
		if (!log_target_is_empty(&w->slots[i].target))
			slot_flush(w, &w->slots[i]);
}

static bool any_left_out(const struct logwriter *w)
{
	for (size_t i = 0; i < w->ring_count; i++)
		if (log_ring_has_left_out(w->rings[i]))
			return true;
	return false;
}

/* A cause that has gone quiet writes no line that could report the earlier ones. */
static void tell_left_out(struct logwriter *w)
{
	for (enum log_cause cause = 0; cause < LOG_CAUSES; cause++) {
		struct log_left_out all = {.cause = cause};
		struct log_entry e;

		for (size_t i = 0; i < w->ring_count; i++)
			all.count += log_ring_take_left_out(w->rings[i], cause);
		if (all.count == 0)
			continue;
		e = log_entry_of_left_out(clock_wall_ns(), &all);
		give(w, &e);
	}
}

static void watch_left_out(struct logwriter *w)
{
	if (ev_is_active(&w->left_out) || !any_left_out(w))
		return;
	ev_timer_set(&w->left_out, LEFT_OUT_S, 0.);
	ev_timer_start(w->loop, &w->left_out);
}

static void on_left_out(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct logwriter *w = timer->data;

	(void)loop;
	(void)revents;
	tell_left_out(w);
	flush_all(w);
	logwriter_wake(w); /* where a full target was waited for, there may be room now */
}

static uint64_t rings_dropped(const struct logwriter *w)
{
	uint64_t n = 0;

	for (size_t i = 0; i < w->ring_count; i++)
		n += log_ring_dropped(w->rings[i]);
	return n;
}

/* Called when the rings are empty: what they had to drop meanwhile is one line. */
static void tell_dropped(struct logwriter *w)
{
	uint64_t dropped = rings_dropped(w);
	char text[160];
	int n;

	if (dropped == w->dropped_told || !any_room(w))
		return;
	n = snprintf(
		text, sizeof(text),
		"%llu log lines were dropped: the log's reader is too slow; raise its speed or the log level",
		(unsigned long long)(dropped - w->dropped_told));
	check(n > 0);
	w->dropped_told = dropped;
	say(w, LOG_LEVEL_WARNING, text);
}

/* Takes from all rings in turn what is there, at most LINES_PER_TURN lines. */
static enum drain drain_rings(struct logwriter *w)
{
	unsigned lines = 0;

	for (size_t i = 0; i < w->ring_count; i++) {
		while (ring_has_records(w->rings[i])) {
			if (!any_room(w))
				flush_all(w);
			if (!any_room(w))
				return DRAIN_FULL;
			if (lines == LINES_PER_TURN)
				return DRAIN_SOME;
			/* A record whose text is empty counts as a line too. */
			(void)take_line(w, w->rings[i]);
			lines++;
		}
	}
	tell_dropped(w);
	return lines > 0 ? DRAIN_SOME : DRAIN_EMPTY;
}

/* Nothing came for a whole pause: the next record of each ring shall wake us. True when one came in
 * this moment. */
static bool mark_quiet(struct logwriter *w)
{
	bool came = false;

	for (size_t i = 0; i < w->ring_count; i++)
		if (take_line(w, w->rings[i]))
			came = true;
	return came;
}

static void look_again_later(struct logwriter *w)
{
	ev_timer_stop(w->loop, &w->pause);
	ev_timer_set(&w->pause, PAUSE_S, 0.);
	ev_timer_start(w->loop, &w->pause);
}

/* Looks into all rings once. DRAIN_FULL: on_writable goes on; until then no timer and no wake-up. */
static void look(struct logwriter *w)
{
	enum drain result = drain_rings(w);

	/* Who wakes us makes its ring loud, so an empty one must be marked quiet before we go. */
	if (result == DRAIN_SOME || (result == DRAIN_EMPTY && mark_quiet(w)))
		look_again_later(w);
	/* After that: from then on the first line that is left out wakes us. */
	watch_left_out(w);
	flush_all(w);
	/* The reader made room in this very moment: then nobody waits for it. */
	if (result == DRAIN_FULL && any_room(w))
		look_again_later(w);
}

void logwriter_wake(struct logwriter *w)
{
	if (ev_is_active(&w->pause))
		return; /* it will look soon enough */
	look(w);
}

static void on_pause(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	(void)loop;
	(void)revents;
	look(timer->data);
}

static void on_writable(struct ev_loop *loop, struct ev_io *io, int revents)
{
	struct slot *s = io->data;

	(void)loop;
	(void)revents;
	slot_flush(s->writer, s);
	logwriter_wake(s->writer);
}

/* Waits until a target that holds lines is writable. False when the time is over, or none holds any. */
static bool wait_writable(struct logwriter *w, int64_t deadline_ns)
{
	int64_t left_ns = deadline_ns - clock_mono_ns();
	struct pollfd pfd = {.fd = -1, .events = POLLOUT};

	for (size_t i = 0; i < w->slot_count && pfd.fd < 0; i++)
		if (!log_target_is_empty(&w->slots[i].target))
			pfd.fd = log_target_fd(&w->slots[i].target);
	if (pfd.fd < 0 || left_ns <= 0)
		return false;
	/* A signal ends the wait early; the caller's loop asks again. */
	(void)poll(&pfd, 1, (int)(left_ns / NS_PER_MS) + 1);
	return true;
}

void logwriter_flush(struct logwriter *w, int timeout_ms)
{
	int64_t deadline_ns = clock_mono_ns() + timeout_ms * NS_PER_MS;
	enum drain result;

	tell_left_out(w);
	do {
		result = drain_rings(w);
		flush_all(w);
	} while (result == DRAIN_SOME || wait_writable(w, deadline_ns));
}

void logwriter_give(struct logwriter *w, uid_t uid, gid_t gid)
{
	for (size_t i = 0; i < w->slot_count; i++)
		log_target_give(&w->slots[i].target, uid, gid);
}

int logwriter_reopen(struct logwriter *w, const char **failed)
{
	int err = 0;
	int result;

	for (size_t i = 0; i < w->slot_count; i++) {
		struct slot *s = &w->slots[i];

		/* The watcher names the descriptor that is about to be closed. */
		ev_io_stop(w->loop, &s->writable);
		result = log_target_reopen(&s->target);
		if (result) {
			err = result;
			*failed = s->target.config->path;
		}
		ev_io_set(&s->writable, log_target_fd(&s->target), EV_WRITE);
	}
	flush_all(w);
	logwriter_wake(w); /* as above */
	return err;
}

bool logwriter_has_stderr(const struct logwriter *w, enum log_level level)
{
	for (size_t i = 0; i < w->slot_count; i++) {
		const struct log_target *t = &w->slots[i].target;

		if (t->fd == STDERR_FILENO && log_target_wants(t, level))
			return true;
	}
	return false;
}

uint64_t logwriter_dropped(const struct logwriter *w)
{
	uint64_t n = rings_dropped(w);

	for (size_t i = 0; i < w->slot_count; i++)
		n += w->slots[i].target.lost;
	return n;
}

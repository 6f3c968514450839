/* SPDX-License-Identifier: MIT
 *
 * question.c - a question to all workers; reports query workers in no other way.
 *
 * Owns the list of waiting questions and their deadlines, and what outlives a question. Control thread.
 */
#include "weir/stats/question.h"

#include <stdlib.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/engine/engine.h"
#include "weir/stats/stat_base.h"
#include "weir/stats/stat_pace.h"
#include "stat_gather.h"

struct stats {
	struct ev_loop *loop; /* borrows */
	struct stat_gather gather;
	struct stat_bases bases;
	struct stat_pace pace;
	struct list waiting; /* borrows questions */
	struct list looking; /* questions that stats_take_answers() has yet to look at */
	uint64_t last_token;
};

struct stats *stats_new(struct ev_loop *loop, struct engine *e)
{
	struct stats *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	if (stat_gather_init(&s->gather, e) != 0) {
		free(s);
		return NULL;
	}
	if (stat_bases_init(&s->bases, &e->live.objects) != 0) {
		stat_gather_free(&s->gather);
		free(s);
		return NULL;
	}
	stat_pace_init(&s->pace, clock_mono_ns(), clock_process_ns());
	s->loop = loop;
	list_init(&s->waiting);
	list_init(&s->looking);
	return s;
}

void stats_free(struct stats *s)
{
	if (s == NULL)
		return;
	check(list_empty(&s->waiting));
	stat_bases_free(&s->bases);
	stat_gather_free(&s->gather);
	free(s);
}

struct stat_bases *stats_bases(struct stats *s)
{
	return &s->bases;
}

struct stat_pace *stats_pace(struct stats *s)
{
	return &s->pace;
}

/* ---- waiting questions ---- */

static void stop_waiting(struct question *q)
{
	list_remove(&q->link);
	ev_timer_stop(q->stats->loop, &q->deadline);
}

static double wait_s(const struct question *q)
{
	if (q->recent && q->stats->gather.done > 0)
		return QUESTION_RECENT_WAIT_S;
	return q->cursor.silent > 0 ? QUESTION_NEXT_WAIT_S : QUESTION_WAIT_S;
}

static void wait(struct question *q)
{
	if (!list_empty(&q->link))
		return;
	list_push_back(&q->stats->waiting, &q->link);
	ev_timer_set(&q->deadline, wait_s(q), 0.);
	ev_timer_start(q->stats->loop, &q->deadline);
}

static bool has_news(const struct question *q)
{
	if (q->kind == QUESTION_SESSIONS)
		return cursor_is_answered(&q->cursor);
	return q->stats->gather.done >= q->round;
}

/* A consumer may withdraw any question and ask again, so each step starts from the current lists. */
static void tell_consumers(struct stats *s)
{
	struct question *q;

	while (!list_empty(&s->waiting)) {
		q = list_entry(s->waiting.next, struct question, link);
		list_remove(&q->link);
		list_push_back(&s->looking, &q->link);
	}
	while (!list_empty(&s->looking)) {
		q = list_entry(s->looking.next, struct question, link);
		list_remove(&q->link);
		if (has_news(q)) {
			stop_waiting(q);
			q->consumer(q->arg);
		} else {
			list_push_back(&s->waiting, &q->link);
		}
	}
}

void stats_take_answers(struct stats *s)
{
	/* Each round has its own sums. A consumer may request another round, which nothing else would
	 * begin. */
	do {
		while (stat_gather_go_on(&s->gather))
			tell_consumers(s);
		tell_consumers(s);
	} while (stat_gather_is_due(&s->gather));
}

static void on_deadline(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct question *q = timer->data;
	struct stats *s = q->stats;

	(void)loop;
	(void)revents;
	/* The answer may already be there if control itself was late. */
	stats_take_answers(s);
	if (list_empty(&q->link) || ev_is_active(timer))
		return;
	stop_waiting(q);
	/* A partial list is better than none; a partial sum is wrong. */
	if (q->kind == QUESTION_SESSIONS)
		cursor_skip(&q->cursor);
	else
		q->late = true;
	q->consumer(q->arg);
	stats_take_answers(s);
}

/* ---- the asker's side ---- */

void question_init(struct question *q, struct stats *stats, void (*consumer)(void *arg), void *arg)
{
	list_init(&q->link);
	q->stats = stats;
	q->kind = QUESTION_NONE;
	q->token = 0;
	q->consumer = consumer;
	q->arg = arg;
	q->round = 0;
	q->late = false;
	q->recent = false;
	cursor_init(&q->cursor, stats->gather.engine, false);
	ev_init(&q->deadline, on_deadline);
	q->deadline.data = q;
}

uint64_t stats_mark(const struct stats *s)
{
	return s->gather.done + (s->gather.running ? 1 : 0);
}

bool stats_has_passed(const struct stats *s, uint64_t mark)
{
	return s->gather.done >= mark;
}

bool question_is_open(const struct question *q)
{
	return q->kind != QUESTION_NONE;
}

static uint64_t begin(struct question *q, enum question_kind kind)
{
	check(q->kind == QUESTION_NONE);
	check(kind != QUESTION_NONE);
	q->kind = kind;
	q->token = ++q->stats->last_token;
	q->late = false;
	q->recent = false;
	cursor_begin(&q->cursor);
	return q->token;
}

uint64_t question_ask(struct question *q, enum question_kind kind)
{
	const uint64_t token = begin(q, kind);

	if (kind == QUESTION_TALLIES)
		q->round = stat_gather_ask(&q->stats->gather); /* stats_take_answers() begins it */
	return token;
}

uint64_t question_ask_recent(struct question *q)
{
	const uint64_t token = begin(q, QUESTION_TALLIES);

	q->recent = true;
	q->round = stat_gather_ask_recent(&q->stats->gather, clock_mono_ns());
	return token;
}

uint64_t question_ask_sessions(struct question *q, const struct inquiry_filter *f)
{
	const uint64_t token = question_ask(q, QUESTION_SESSIONS);

	cursor_begin_some(&q->cursor, f);
	return token;
}

static struct answer pending(struct question *q)
{
	wait(q);
	return (struct answer){.token = q->token, .kind = ANSWER_PENDING};
}

static struct answer over(struct question *q, unsigned silent)
{
	stop_waiting(q);
	q->kind = QUESTION_NONE;
	return (struct answer){.token = q->token, .kind = ANSWER_OVER, .silent = silent};
}

static struct answer slice(struct question *q)
{
	const struct inquiry *i = &q->cursor.inquiry;

	stop_waiting(q);
	return (struct answer){.token = q->token, .kind = ANSWER_SESSIONS,
			       .sessions = {i->sessions, i->count, cursor_is_last(&q->cursor)}};
}

static struct answer answer_sessions(struct question *q)
{
	switch (cursor_step(&q->cursor)) {
	case CURSOR_WAITS:
		return pending(q);
	case CURSOR_SLICE:
		return slice(q);
	case CURSOR_OVER:
		break;
	}
	return over(q, q->cursor.silent);
}

static struct answer answer_tallies(struct question *q)
{
	const struct stat_gather *g = &q->stats->gather;
	const bool is_old = q->late && q->recent && g->done > 0;
	struct answer a;

	if (q->late && !is_old)
		return over(q, 1); /* workers are asked one at a time, so only one is being waited for */
	if (!q->late && g->done < q->round)
		return pending(q);
	a = over(q, 0);
	a.is_old = is_old;
	a.kind = ANSWER_TALLIES;
	a.tallies = &q->stats->gather.sums;
	return a;
}

struct answer question_answer(struct question *q)
{
	check(q->kind != QUESTION_NONE);
	return q->kind == QUESTION_SESSIONS ? answer_sessions(q) : answer_tallies(q);
}

void question_go_on(struct question *q)
{
	check(q->kind == QUESTION_SESSIONS);
	cursor_go_on(&q->cursor);
}

void question_withdraw(struct question *q)
{
	if (q->kind == QUESTION_SESSIONS)
		cursor_leave(&q->cursor);
	stop_waiting(q);
	q->kind = QUESTION_NONE;
}

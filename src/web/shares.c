/* SPDX-License-Identifier: MIT
 *
 * shares.c - answers that are made once for everyone who asks for the same at the same time.
 *
 * Owns the questions to the workers and the answers that are fresh. Main thread.
 */
#include "shares.h"

#include <stdlib.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "answer.h"

static void on_sums(void *arg);
static void on_list(void *arg);
static void on_timer(struct ev_loop *loop, struct ev_timer *timer, int revents);

void shares_init(struct shares *s, struct ev_loop *loop, const struct web_context *ctx)
{
	*s = (struct shares){.loop = loop, .ctx = ctx};
	question_init(&s->question, ctx->stats, on_sums, s);
	session_list_init(&s->list, ctx->stats, on_list, s);
	list_init(&s->waiting);
	ev_init(&s->timer, on_timer);
	s->timer.data = s;
}

void share_release(struct share *a)
{
	if (a == NULL)
		return;
	check(a->users > 0);
	if (--a->users > 0)
		return;
	check(a->shares->bytes >= a->text.room);
	a->shares->bytes -= a->text.room;
	text_free(&a->text);
	free(a);
}

static void drop_kept(struct shares *s)
{
	for (size_t i = 0; i < WEB_ANSWERS_MAX; i++) {
		share_release(s->kept[i]);
		s->kept[i] = NULL;
	}
}

void shares_free(struct shares *s)
{
	check(list_empty(&s->waiting));
	question_withdraw(&s->question);
	session_list_free(&s->list);
	ev_timer_stop(s->loop, &s->timer);
	drop_kept(s);
	check(s->bytes == 0);
}

/* ---- answers ---- */

/* Of the list for a wish that needs it, else of `sums`. */
static unsigned fill(struct shares *s, const struct wish *wish, const struct chunks *sums, struct text *out)
{
	if (wish->route->needs != ROUTE_NEEDS_SESSIONS)
		return answer_make(s->ctx, wish, sums, out);
	out->failed = !session_list_take(&s->list, out);
	return 200;
}

/* With one user, the caller; NULL = memory is short. */
static struct share *make(struct shares *s, const struct wish *wish, const struct chunks *sums)
{
	struct share *a = s->bytes < WEB_HELD_BYTES ? calloc(1, sizeof(*a)) : NULL;

	if (a == NULL)
		return NULL;
	a->shares = s;
	a->users = 1;
	a->wish = *wish;
	text_init(&a->text);
	a->status = fill(s, wish, sums, &a->text);
	a->made_ns = clock_mono_ns();
	s->bytes += a->text.room;
	if (!a->text.failed)
		return a;
	share_release(a);
	return NULL;
}

struct share *shares_make(struct shares *s, const struct wish *wish)
{
	check(wish->route->needs == ROUTE_NEEDS_NOTHING);
	return make(s, wish, NULL);
}

struct share *shares_find(struct shares *s, const struct wish *wish)
{
	const int64_t oldest_ns = clock_mono_ns() - WEB_SNAPSHOT_MS * NS_PER_MS;

	for (size_t i = 0; i < WEB_ANSWERS_MAX; i++) {
		struct share *a = s->kept[i];

		if (a == NULL || a->made_ns < oldest_ns || !wish_equal(&a->wish, wish))
			continue;
		a->users++;
		return a;
	}
	return NULL;
}

/* The answer to the wish, which is kept; NULL = memory is short, or (`*full`) there are enough. */
static struct share *make_kept(struct shares *s, const struct wish *wish, const struct chunks *sums,
			       bool *full)
{
	for (size_t i = 0; i < WEB_ANSWERS_MAX; i++) {
		struct share *a = s->kept[i];

		if (a != NULL && !wish_equal(&a->wish, wish))
			continue;
		if (a == NULL)
			a = make(s, wish, sums);
		if (a == NULL)
			return NULL;
		s->kept[i] = a;
		a->users++;
		return a;
	}
	*full = true;
	return NULL;
}

/* ---- who waits ---- */

static bool is_waiting_for(const struct shares *s, enum route_needs needs)
{
	for (const struct list *pos = s->waiting.next; pos != &s->waiting; pos = pos->next)
		if (list_entry(pos, struct share_waiter, link)->wish.route->needs == needs)
			return true;
	return false;
}

/* Answers all who wait for this; with `fine` unset, that there is no answer. Others of their kind may come
 * after WEB_SNAPSHOT_MS. */
static void answer_all(struct shares *s, enum route_needs needs, const struct chunks *sums, bool fine)
{
	struct list *pos, *next;

	list_foreach_safe(&s->waiting, pos, next) {
		struct share_waiter *w = list_entry(pos, struct share_waiter, link);
		bool full = false;
		struct share *a;

		if (w->wish.route->needs != needs)
			continue;
		a = fine ? make_kept(s, &w->wish, sums, &full) : NULL;
		if (full)
			continue;
		list_remove(&w->link);
		w->answered(w, a);
	}
	if (ev_is_active(&s->timer))
		return;
	ev_now_update(s->loop);
	ev_timer_set(&s->timer, WEB_SNAPSHOT_MS / 1e3, 0.);
	ev_timer_start(s->loop, &s->timer);
}

static void on_sums(void *arg)
{
	struct shares *s = arg;
	const struct answer a = question_answer(&s->question);

	if (a.kind != ANSWER_PENDING)
		answer_all(s, ROUTE_NEEDS_SUMS, a.kind == ANSWER_TALLIES ? a.tallies : NULL,
			   a.kind == ANSWER_TALLIES);
}

static void on_list(void *arg)
{
	struct shares *s = arg;

	answer_all(s, ROUTE_NEEDS_SESSIONS, NULL, true);
}

static void on_timer(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct shares *s = timer->data;

	(void)loop;
	(void)revents;
	drop_kept(s);
	shares_go_on(s);
}

void shares_wait(struct shares *s, struct share_waiter *w)
{
	list_push_back(&s->waiting, &w->link);
}

void shares_forget(struct shares *s, struct share_waiter *w)
{
	(void)s;
	list_remove(&w->link);
}

void shares_go_on(struct shares *s)
{
	if (ev_is_active(&s->timer))
		return;
	if (!question_is_open(&s->question) && is_waiting_for(s, ROUTE_NEEDS_SUMS)) {
		(void)question_ask_recent(&s->question);
		on_sums(s); /* waits for the workers */
		stats_take_answers(s->ctx->stats);
	}
	if (!session_list_is_open(&s->list) && is_waiting_for(s, ROUTE_NEEDS_SESSIONS))
		session_list_begin(&s->list);
}

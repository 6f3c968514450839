/* SPDX-License-Identifier: MIT
 *
 * inquiry.c - control asks workers for their sessions, a slice at a time.
 *
 * Owns no memory. An inquiry is in at most one worker's list; the lock is held to link and unlink it, never
 * while it is filled. Control's thread and workers' threads, as the header says.
 */
#include "weir/engine/inquiry.h"

#include "weir/base/check.h"
#include "weir/engine/engine.h"
#include "payload.h"
#include "record.h"
#include "session.h"
#include "session_end.h"
#include "session_slab.h"
#include "worker.h"

void inquiry_init(struct inquiry *q, bool sums)
{
	list_init(&q->link);
	atomic_init(&q->lent, false);
	q->sums = sums;
	q->filter = (struct inquiry_filter){0};
	q->worker = 0;
	q->place = 0;
	q->over = false;
	q->count = 0;
}

bool inquiry_is_lent(const struct inquiry *q)
{
	return atomic_load_explicit(&q->lent, memory_order_acquire);
}

static void hand_back(struct inquiry *q)
{
	check(inquiry_is_lent(q));
	check(list_empty(&q->link));
	check(q->count <= (q->sums ? INQUIRY_PLACES_MAX : INQUIRY_SESSIONS_MAX));
	atomic_store_explicit(&q->lent, false, memory_order_release);
}

static void begin_sums(struct worker *w, const struct inquiry *q)
{
	if (q->sums && q->place == 0)
		tally_begin_walk(w);
}

/* The answer for a worker that has no sessions and never will. */
static void leave_empty(struct worker *w, struct inquiry *q)
{
	begin_sums(w, q);
	q->count = 0;
	q->over = true;
	hand_back(q);
}

void inquiry_ask(struct engine *e, unsigned worker, struct inquiry *q)
{
	struct worker *w;
	bool closed;

	check(!inquiry_is_lent(q));
	check(worker < e->worker_count);
	check(list_empty(&q->link));
	w = e->workers[worker];
	q->worker = worker;
	atomic_store_explicit(&q->lent, true, memory_order_relaxed); /* the lock publishes it */
	spinlock_lock(&w->asked.lock);
	closed = w->asked.closed;
	if (!closed)
		list_push_back(&w->asked.waiting, &q->link);
	spinlock_unlock(&w->asked.lock);
	if (closed)
		leave_empty(w, q);
	else
		mailbox_signal(&w->mailbox, MAIL_ASKED);
}

bool inquiry_withdraw(struct engine *e, struct inquiry *q)
{
	struct inquiry_list *l;

	if (!inquiry_is_lent(q))
		return true;
	check(q->worker < e->worker_count);
	l = &e->workers[q->worker]->asked;
	spinlock_lock(&l->lock);
	/* If it is in no list any more, the worker has taken it out. */
	if (!list_empty(&q->link)) {
		list_remove(&q->link);
		hand_back(q);
	}
	spinlock_unlock(&l->lock);
	return !inquiry_is_lent(q);
}

/* ---- the worker's side ---- */

void inquiry_list_init(struct inquiry_list *l)
{
	spinlock_init(&l->lock);
	list_init(&l->waiting);
	l->closed = false;
}

/* Takes the oldest, NULL when there is none; `*more`: others are left. */
static struct inquiry *take_oldest(struct inquiry_list *l, bool *more)
{
	struct inquiry *q = NULL;

	spinlock_lock(&l->lock);
	if (!list_empty(&l->waiting)) {
		q = list_entry(l->waiting.next, struct inquiry, link);
		list_remove(&q->link);
	}
	*more = !list_empty(&l->waiting);
	spinlock_unlock(&l->lock);
	return q;
}

static bool is_wanted(const struct session *s, const struct inquiry_filter *f)
{
	if (f->session != 0 && session_key(s->worker->index, s->number) != f->session)
		return false;
	return s->worker->loop.now_ns - s->accepted_ns >= f->min_age_ns;
}

static void take(struct session *s, struct inquiry *q)
{
	record_take(s, &q->sessions[q->count]);
	if (q->filter.session != 0 && !q->filter.kill)
		record_take_detail(s, &q->sessions[q->count]);
	q->count++;
	if (q->filter.kill && s->state != SESSION_CLOSING)
		session_close(s, CLOSE_KILLED);
}

static struct inquiry_bytes bytes_of(const struct session *s)
{
	return (struct inquiry_bytes){
		.to_server = payload_to_server(s),
		.to_client = s->flows[FLOW_TO_CLIENT].bytes_out,
		.spliced = payload_spliced(s),
		.frontend_slot = s->entry->frontend->slot,
		.backend_slot = s->backend_counted ? s->back->backend->slot : INQUIRY_NO_SLOT,
		.server_slot = s->at != NULL ? s->at->server->slot : INQUIRY_NO_SLOT,
	};
}

static void fill_sums(struct worker *w, struct inquiry *q)
{
	uint32_t budget = INQUIRY_PLACES_MAX;
	struct session *s;

	begin_sums(w, q);
	q->count = 0;
	while ((s = session_slab_next(&w->slab, &q->place, &budget)) != NULL) {
		check(q->count < INQUIRY_PLACES_MAX);
		q->moved[q->count++] = bytes_of(s);
		s->sum_mark = w->sum_mark;
	}
	q->over = slab_is_over(&w->slab, q->place);
}

static void fill(struct worker *w, struct inquiry *q)
{
	uint32_t budget = INQUIRY_PLACES_MAX;
	bool found = false; /* the only one */
	struct session *s;

	check(!q->filter.kill || q->filter.session != 0);
	q->count = 0;
	while (!found && q->count < INQUIRY_SESSIONS_MAX &&
	       (s = session_slab_next(&w->slab, &q->place, &budget)) != NULL) {
		if (!is_wanted(s, &q->filter))
			continue;
		take(s, q);
		found = q->filter.session != 0;
	}
	q->over = found || slab_is_over(&w->slab, q->place);
}

void inquiry_answer(struct worker *w)
{
	bool more;
	struct inquiry *q = take_oldest(&w->asked, &more);

	if (more)
		mailbox_signal(&w->mailbox, MAIL_ASKED); /* answered in the next turn */
	if (q == NULL)
		return; /* it was withdrawn */
	if (q->sums)
		fill_sums(w, q);
	else
		fill(w, q);
	hand_back(q);
	w->engine->notify(w->engine->notify_arg);
}

void inquiry_list_close(struct worker *w)
{
	struct inquiry *q;
	bool more;

	check(w->sessions == 0);
	spinlock_lock(&w->asked.lock);
	w->asked.closed = true;
	spinlock_unlock(&w->asked.lock);
	while ((q = take_oldest(&w->asked, &more)) != NULL)
		leave_empty(w, q);
	w->engine->notify(w->engine->notify_arg);
}

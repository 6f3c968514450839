/* SPDX-License-Identifier: MIT
 *
 * queue.c - clients waiting for a place at a server: first come, first served, across workers.
 *
 * No wake-up is lost: a new waiter is counted in `waiting` and then looks for free places; a thread that
 * releases a place does so and then looks at `waiting`. All four accesses are sequentially consistent, so at
 * least one of the two sees the other. Lock order: the queue's, then that of a worker's grants. No callback
 * runs with a lock held, and queue_serve() does not call server_leave(): serving does not nest. Any thread.
 */
#include "weir/balance/queue.h"

#include <errno.h>

#include "weir/balance/backend.h"
#include "weir/balance/fallback.h"
#include "weir/base/check.h"

void queue_init(struct queue *q)
{
	spinlock_init(&q->lock);
	list_init(&q->any);
	list_init(&q->avoided);
}

void queue_init_server(struct server *s)
{
	list_init(&s->waiters);
	list_init(&s->avoiders.waiters);
	list_init(&s->avoiders.link);
}

void queue_grants_init(struct queue_grants *g, void (*wake)(void *arg), void *arg)
{
	spinlock_init(&g->lock);
	list_init(&g->waiters);
	g->wake = wake;
	g->arg = arg;
}

bool queue_is_waiting(const struct backend *b)
{
	return atomic_load_explicit(&b->queue.waiting_any, memory_order_relaxed) > 0;
}

bool queue_has_room(const struct backend *b, const struct server *s)
{
	const unsigned all_max = backend_settings(b)->config->maxqueue;
	const unsigned max = s != NULL ? server_settings(s)->config->maxqueue : 0;

	if (all_max > 0 && (unsigned)atomic_load_explicit(&b->queue.waiting, memory_order_relaxed) >= all_max)
		return false;
	return max == 0 || (unsigned)atomic_load_explicit(&s->queued, memory_order_relaxed) < max;
}

static bool is_chosen(const struct server *s)
{
	return atomic_load_explicit(&s->in_roster, memory_order_relaxed);
}

/* May `w` wait for this server alone? */
static bool may_wait_for(const struct waiter *w, const struct server *s)
{
	return is_chosen(s) || (w->stuck && atomic_load(&s->keeps));
}

/* ---- the lists; under the queue's lock ---- */

/* Only the holder of the lock writes these counts; others read them. */
static int count(atomic_int *counter, int by)
{
	return atomic_fetch_add(counter, by) + by;
}

static void raise_to(atomic_int *most, int now)
{
	if (now > atomic_load_explicit(most, memory_order_relaxed))
		atomic_store_explicit(most, now, memory_order_relaxed);
}

/* The number of clients waiting where `w` waits, including `w`. */
static atomic_int *list_counter(struct queue *q, const struct waiter *w)
{
	return w->server != NULL ? &w->server->queued : &q->waiting_any;
}

/* Appends it to its list. */
static void link_in(struct queue *q, struct waiter *w)
{
	struct queue_avoiders *a;

	if (w->server != NULL) {
		list_push_back(&w->server->waiters, &w->link);
	} else if (w->avoid == NULL) {
		list_push_back(&q->any, &w->link);
	} else {
		a = &w->avoid->avoiders;
		if (list_empty(&a->waiters))
			list_push_back(&q->avoided, &a->link);
		list_push_back(&a->waiters, &w->link);
		(void)count(&q->avoiding, 1);
	}
}

static void link_out(struct queue *q, struct waiter *w)
{
	struct queue_avoiders *a;

	list_remove(&w->link);
	if (w->server != NULL || w->avoid == NULL)
		return;
	a = &w->avoid->avoiders;
	if (list_empty(&a->waiters))
		list_remove(&a->link);
	(void)count(&q->avoiding, -1);
}

static int put_in(struct queue *q, struct waiter *w)
{
	struct server *s = w->server;
	const int before = atomic_load_explicit(list_counter(q, w), memory_order_relaxed);

	if (!queue_has_room(w->backend, s))
		return -EBUSY;
	w->number = q->next_number++;
	w->before = (uint32_t)before;
	w->at_server = s != NULL;
	w->state = WAITER_QUEUED;
	link_in(q, w);
	(void)count(list_counter(q, w), 1);
	raise_to(&q->waiting_max, count(&q->waiting, 1));
	if (s != NULL)
		raise_to(&s->queued_max, before + 1);
	return 0;
}

static void take_out(struct queue *q, struct waiter *w)
{
	check(w->state == WAITER_QUEUED);
	link_out(q, w);
	(void)count(list_counter(q, w), -1);
	(void)count(&q->waiting, -1);
}

static struct waiter *first_of(const struct list *l)
{
	return list_empty(l) ? NULL : list_entry(l->next, struct waiter, link);
}

static struct waiter *older(struct waiter *a, struct waiter *b)
{
	if (a == NULL || b == NULL)
		return a != NULL ? a : b;
	return a->number < b->number ? a : b;
}

/* The first to arrive of the clients that wait for any server or for `s`. Takes as many steps as there are
 * avoided servers, however many clients wait. */
static struct waiter *oldest_for(const struct queue *q, const struct server *s)
{
	struct waiter *w = older(first_of(&q->any), first_of(&s->waiters));

	for (const struct list *l = q->avoided.next; l != &q->avoided; l = l->next) {
		const struct queue_avoiders *a = list_entry(l, struct queue_avoiders, link);

		if (a != &s->avoiders || q->in_roster == 1)
			w = older(w, first_of(&a->waiters));
	}
	return w;
}

/* ---- serving ---- */

/* Like server_enter(), but obeys the limit even while no server of the backend is marked as limited. */
static bool take_place(struct server *s)
{
	const unsigned limit = atomic_load_explicit(&s->limit, memory_order_relaxed);
	int sessions = atomic_load(&s->sessions);

	while (limit == 0 || (unsigned)sessions < limit)
		if (atomic_compare_exchange_weak(&s->sessions, &sessions, sessions + 1))
			return true;
	return false;
}

/* From here on the waiter belongs to its worker: it may be gone before this returns. */
static void hand_over(struct queue_grants *g, struct waiter *w, struct server *s)
{
	spinlock_lock(&g->lock);
	w->server = s;
	w->state = WAITER_GRANTED;
	list_push_back(&g->waiters, &w->link);
	spinlock_unlock(&g->lock);
}

/* A server that is out of the roster has only those who are stuck to it. */
static struct waiter *next_for(const struct queue *q, const struct server *s)
{
	struct waiter *w;

	if (likely(is_chosen(s)))
		return oldest_for(q, s);
	w = first_of(&s->waiters);
	return w != NULL && may_wait_for(w, s) ? w : NULL;
}

/* Grants one place of `s` to the oldest waiter; returns the grants to wake, NULL when there was no place or
 * no waiter. */
static struct queue_grants *serve_one(struct queue *q, struct server *s)
{
	struct queue_grants *g = NULL;
	struct waiter *w;

	spinlock_lock(&q->lock);
	w = next_for(q, s);
	if (w != NULL && take_place(s)) {
		g = w->grants;
		take_out(q, w);
		hand_over(g, w, s);
		atomic_fetch_add_explicit(&s->chosen_total, 1, memory_order_relaxed);
	}
	spinlock_unlock(&q->lock);
	return g;
}

void queue_serve(struct server *s)
{
	struct queue *q = &s->owner->queue;
	struct queue_grants *g;

	while (atomic_load(&q->waiting) > 0 && (g = serve_one(q, s)) != NULL)
		g->wake(g->arg);
}

static void serve_any(struct backend *b)
{
	const struct roster *r = backend_roster(b);

	for (size_t i = 0; i < r->count && atomic_load(&b->queue.waiting) > 0; i++) {
		struct server *s = r->by_place[i].server;

		if (is_chosen(s) && server_has_place(s))
			queue_serve(s);
	}
}

/* ---- waiting ---- */

/* Call with the lock held: a thread that marks a server as not chosen, or as having answered, takes the lock
 * afterwards. */
static struct server *still_avoided(struct server *s)
{
	return s != NULL && is_chosen(s) && atomic_load(&s->failing) > 0 ? s : NULL;
}

/* Does a client go to the fallback instead? Call with the lock held: the roster and the fallback are older
 * than the last rearrangement of the queue, or another one follows. */
static bool goes_on(const struct backend *b, const struct waiter *w)
{
	const bool keeps = w->stuck && w->server != NULL;

	return unlikely(backend_fallback(b) != NULL) && !w->stays && !keeps && backend_roster(b)->count == 0;
}

int queue_enter(struct backend *b, struct waiter *w, struct server *server, struct queue_grants *g)
{
	struct queue *q = &b->queue;
	int err;

	check(w->state == WAITER_NONE);
	check(w->backend == NULL);
	w->grants = g;
	w->backend = b;
	spinlock_lock(&q->lock);
	/* It may have left the roster since it was picked, and queue_rearrange() may have run already. */
	w->server = server != NULL && may_wait_for(w, server) ? server : NULL;
	server = w->server;
	w->avoid = still_avoided(w->avoid);
	err = goes_on(b, w) ? -EHOSTDOWN : put_in(q, w);
	spinlock_unlock(&q->lock);
	if (err) {
		w->backend = NULL;
		w->server = NULL;
		return err;
	}
	if (server == NULL)
		serve_any(b);
	else if (server_has_place(server))
		queue_serve(server);
	return 0;
}

struct server *queue_leave(struct waiter *w)
{
	struct server *given = NULL;
	struct queue *q;

	if (w->backend == NULL)
		return NULL;
	q = &w->backend->queue;
	spinlock_lock(&q->lock);
	if (w->state == WAITER_QUEUED) {
		take_out(q, w);
	} else {
		check(w->state == WAITER_GRANTED);
		given = w->server;
		spinlock_lock(&w->grants->lock);
		list_remove(&w->link);
		spinlock_unlock(&w->grants->lock);
	}
	spinlock_unlock(&q->lock);
	w->state = WAITER_NONE;
	w->backend = NULL;
	w->server = NULL;
	if (given != NULL)
		server_leave(given);
	return given;
}

struct waiter *queue_take_granted(struct queue_grants *g)
{
	struct waiter *w;

	spinlock_lock(&g->lock);
	w = first_of(&g->waiters);
	if (w != NULL)
		list_remove(&w->link);
	spinlock_unlock(&g->lock);
	if (w == NULL)
		return NULL;
	check(w->state == WAITER_GRANTED);
	w->state = WAITER_NONE;
	w->backend = NULL;
	return w;
}

/* ---- changes of servers ---- */

/* Waiters of the list wait for any server from now on, but for those that may go on waiting for `kept`; each
 * in order of its arrival: both lists are sorted and walked once. */
static void merge_but(struct queue *q, const struct list *from, const struct server *kept)
{
	struct list *pos = q->any.next;
	struct list *at, *tmp;

	list_foreach_safe(from, at, tmp) {
		struct waiter *w = list_entry(at, struct waiter, link);

		if (kept != NULL && may_wait_for(w, kept))
			continue;
		while (pos != &q->any && list_entry(pos, struct waiter, link)->number < w->number)
			pos = pos->next;
		link_out(q, w);
		(void)count(list_counter(q, w), -1);
		w->server = NULL;
		w->avoid = NULL;
		(void)count(list_counter(q, w), 1);
		list_push_back(pos, &w->link); /* before `pos` */
	}
}

static void merge(struct queue *q, const struct list *from)
{
	merge_but(q, from, NULL);
}

void queue_forgive(struct server *s)
{
	struct queue *q = &s->owner->queue;

	spinlock_lock(&q->lock);
	merge(q, &s->avoiders.waiters);
	spinlock_unlock(&q->lock);
	queue_serve(s);
}

void queue_drop_server(struct server *s)
{
	struct queue *q = &s->owner->queue;

	atomic_store(&s->in_roster, false);
	atomic_store(&s->keeps, false);
	spinlock_lock(&q->lock);
	merge(q, &s->waiters);
	merge(q, &s->avoiders.waiters);
	spinlock_unlock(&q->lock);
}

/* Those whose worker is to be woken: as many as are noted without the lock. */
#define WAKES_MAX 64u

struct wakes {
	struct queue_grants *list[WAKES_MAX];
	size_t count;
};

static bool note_wake(struct wakes *k, struct queue_grants *g)
{
	for (size_t i = 0; i < k->count; i++)
		if (k->list[i] == g)
			return true;
	if (k->count == WAKES_MAX)
		return false;
	k->list[k->count++] = g;
	return true;
}

/* False if some are left, of more workers than can be noted at once. With the lock held. */
static bool let_some_go(struct queue *q, struct wakes *k)
{
	struct list *pos, *tmp;

	list_foreach_safe(&q->any, pos, tmp) {
		struct waiter *w = list_entry(pos, struct waiter, link);

		if (w->stays)
			continue;
		if (!note_wake(k, w->grants))
			return false;
		take_out(q, w);
		hand_over(w->grants, w, NULL);
	}
	return true;
}

/* The backend has no server, so all that wait are in one list. */
static void let_go(struct backend *b)
{
	struct queue *q = &b->queue;
	bool done = atomic_load(&q->waiting) == 0;

	while (!done) {
		struct wakes wakes = {.count = 0};

		spinlock_lock(&q->lock);
		done = let_some_go(q, &wakes);
		spinlock_unlock(&q->lock);
		for (size_t i = 0; i < wakes.count; i++)
			wakes.list[i]->wake(wakes.list[i]->arg);
	}
}

/* Whose server may have got another limit. */
static void serve_stuck(struct backend *b)
{
	for (size_t i = 0; i < b->server_count; i++) {
		struct server *s = b->servers[i];

		if (!is_chosen(s) && atomic_load(&s->queued) > 0 && server_has_place(s))
			queue_serve(s);
	}
}

void queue_rearrange(struct backend *b)
{
	struct queue *q = &b->queue;

	spinlock_lock(&q->lock);
	q->in_roster = 0;
	for (size_t i = 0; i < b->server_count; i++) {
		struct server *s = b->servers[i];

		if (is_chosen(s)) {
			q->in_roster++;
			continue;
		}
		merge_but(q, &s->waiters, s);
		merge(q, &s->avoiders.waiters);
	}
	spinlock_unlock(&q->lock);
	serve_any(b);
	serve_stuck(b);
	if (backend_roster(b)->count == 0 && backend_fallback(b) != NULL)
		let_go(b);
}

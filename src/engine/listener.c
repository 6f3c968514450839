/* SPDX-License-Identifier: MIT
 *
 * listener.c - a worker's side of one bound address: accepts, places, pauses.
 *
 * Owns its accept op, and the reservation (slots.h) for the next client. Never talks to a client. A worker's
 * thread.
 */
#include "listener.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/sys/sys.h"
#include "admission.h"
#include "listener_rates.h"
#include "session.h"
#include "session_begin.h"
#include "worker.h"

/* After accept(2) failed because something ran out: a descriptor may be free again by then. */
#define LISTENER_PAUSE_NS (100 * NS_PER_MS)
/* A rate-limit of many thousands does not justify one wake-up per client: a few may come at once. */
#define LISTENER_RATE_PAUSE_MIN_NS NS_PER_MS
/* Maximum searches for a worker when others change the loads meanwhile. */
#define LISTENER_PLACE_TRIES 8

/* Where it waits for this limit; NULL where control or a timer ends the pause. */
static struct paused *paused_of(const struct listener *l, enum listener_limit why)
{
	switch (why) {
	case LIMIT_FRONTEND:
		return &l->frontend->paused;
	case LIMIT_RATE:
		return &l->frontend->rate_paused;
	case LIMIT_PROCESS:
		return &l->worker->engine->paused;
	case LIMIT_PROCESS_RATE:
		return &l->worker->engine->rate_paused;
	case LIMIT_NONE:
	case LIMIT_MEMORY:
		break;
	}
	return NULL;
}

static void wake_worker(void *arg)
{
	struct worker *w = arg;

	mailbox_signal(&w->mailbox, MAIL_RESUME);
}

static bool process_has_room(const struct listener *l)
{
	const struct engine *e = l->worker->engine;

	return atomic_load(&e->sessions) < (int)atomic_load(&e->settings.maxconn);
}

static bool frontend_has_room(const struct listener *l)
{
	const struct frontend *fe = l->frontend;

	return atomic_load(&fe->sessions) < (int)atomic_load(&fe->limit);
}

/* Control found that, and signals every worker when it is over. */
static bool is_memory_short(const struct listener *l)
{
	return atomic_load_explicit(&l->worker->engine->is_accept_paused, memory_order_relaxed);
}

/* Is there room again under the limit that it is paused for? Other limits may leave none; the listener then
 * pauses again, for the right reason. */
static bool may_resume(const struct listener *l)
{
	const enum listener_limit why = l->paused_for;

	check(why != LIMIT_NONE);
	if (why == LIMIT_RATE || why == LIMIT_PROCESS_RATE)
		return !timer_is_set(&l->pause) || listener_rate_has_place(l, why);
	if (why == LIMIT_MEMORY)
		return !is_memory_short(l);
	return why == LIMIT_FRONTEND ? frontend_has_room(l) : process_has_room(l);
}

/* Announces the pause. Whoever releases a slot after this sees it; may_resume(), called after this, sees a
 * slot that was released before. */
static void pause_for_limit(struct listener *l, enum listener_limit why)
{
	check(l->state == LISTENER_ON);
	check(why != LIMIT_NONE);
	check(!l->reserved); /* it would keep the slot from others */
	l->state = LISTENER_LIMITED;
	l->paused_for = why;
	if (paused_of(l, why) != NULL)
		paused_join(paused_of(l, why), &l->waiting);
	counter_add(&l->worker->counters.accept_pauses, 1);
	if (why == LIMIT_MEMORY)
		counter_add(&l->worker->counters.memory_pauses, 1);
	io_cancel(&l->worker->loop, &l->accept);
}

static void end_pause(struct listener *l)
{
	struct paused *in = paused_of(l, l->paused_for);

	if (in != NULL)
		paused_leave(in, &l->waiting);
	l->paused_for = LIMIT_NONE;
}

/* Pauses until the rate `why` lets the next client in: its own timer wakes it, or a client that was not let
 * in. */
static void pause_until(struct listener *l, enum listener_limit why, int64_t due_ns)
{
	struct worker *w = l->worker;
	const int64_t soonest_ns = w->loop.now_ns + LISTENER_RATE_PAUSE_MIN_NS;

	check(l->state == LISTENER_ON);
	check(!timer_is_set(&l->pause));
	counter_add(&w->counters.rate_pauses, 1);
	if (timer_set(&w->loop.timers, &l->pause, due_ns > soonest_ns ? due_ns : soonest_ns)) {
		l->state = LISTENER_OFF; /* no memory even for a timer: the other workers go on */
		io_cancel(&w->loop, &l->accept);
		return;
	}
	pause_for_limit(l, why);
}

/* ---- accepting ---- */

/* For a listener that has its slot. A draining listener still takes the clients already queued. */
static void reserve_rate(struct listener *l)
{
	enum listener_limit why;
	int64_t due_ns = 0;

	check(l->reserved);
	if (l->state == LISTENER_OFF) {
		listener_force_rates(l);
		return;
	}
	why = listener_take_rates(l, &due_ns);
	if (why == LIMIT_NONE)
		return;
	l->reserved = false;
	slots_release(l->worker->engine, l->frontend);
	pause_until(l, why, due_ns);
}

static void force_slot(struct listener *l)
{
	slots_force(l->worker->engine, l->frontend);
	listener_force_rates(l);
}

/* Who is queued there is for another endpoint, also before this worker has heard of it. */
static bool is_given_away(const struct listener *l)
{
	return atomic_load_explicit(&l->endpoint->order, memory_order_relaxed) == ENDPOINT_GIVE;
}

/* The driver calls this before each accept. */
static bool listener_may_accept(struct io_op *op)
{
	struct listener *l = container_of(op, struct listener, accept);
	enum listener_limit why;

	if (unlikely(is_given_away(l)))
		return false;
	if (l->reserved)
		return true;
	if (l->state != LISTENER_ON && l->state != LISTENER_OFF)
		return false;
	if (l->state == LISTENER_ON && unlikely(is_memory_short(l))) {
		pause_for_limit(l, LIMIT_MEMORY);
		return false;
	}
	/* Whoever is queued where the socket is about to be closed would be reset. */
	if (unlikely(l->leaving)) {
		force_slot(l);
		l->reserved = true;
		return true;
	}
	l->rated = false;
	l->process_rated = false;
	why = slots_take(l->worker->engine, l->frontend);
	l->reserved = why == LIMIT_NONE;
	if (l->reserved && listener_has_rate(l))
		reserve_rate(l);
	else if (!l->reserved && l->state == LISTENER_ON)
		pause_for_limit(l, why);
	return l->reserved;
}

static void release_unused(struct listener *l)
{
	if (!l->reserved)
		return;
	l->reserved = false;
	if (unlikely(l->rated || l->process_rated))
		listener_give_back_rates(l);
	slots_release(l->worker->engine, l->frontend);
}

/* The worker to get the next session, by the current loads: the least loaded worker if `w` has so many more
 * sessions that a wake-up is worth it, otherwise `w`. `*load` is the load that the choice was based on. */
static struct worker *least_loaded(struct worker *w, int *load)
{
	const struct engine *e = w->engine;
	const int mine = atomic_load_explicit(&w->load, memory_order_relaxed);
	struct worker *best = w;
	int least = mine;
	unsigned i;

	for (i = 0; i < e->worker_count; i++) {
		const int other = e->workers[i] == NULL
					  ? mine
					  : atomic_load_explicit(&e->workers[i]->load, memory_order_relaxed);

		if (other < least) {
			least = other;
			best = e->workers[i];
		}
	}
	check(least >= 0);
	*load = mine >= least + 1 + least / 4 ? least : mine;
	return *load == mine ? w : best;
}

/* Finds the worker for the next session and counts the session there. Exclusive wake-ups favour one worker at
 * low load, and a few long flows must not share a core while another core idles. Workers that accept at the
 * same time must not choose by the same loads, so the chosen worker must not have been given another session
 * meanwhile. */
static struct worker *place(struct worker *w)
{
	int tries;

	for (tries = 0; tries < LISTENER_PLACE_TRIES && !w->draining; tries++) {
		int load;
		struct worker *to = least_loaded(w, &load);

		if (atomic_compare_exchange_strong(&to->load, &load, load + 1))
			return to;
	}
	atomic_fetch_add(&w->load, 1);
	return w;
}

static void start_session(struct worker *w, const struct letter *letter)
{
	struct worker *to = place(w);
	int load;

	if (to != w) {
		if (mailbox_send(&to->mailbox, letter)) {
			counter_add(&w->counters.handed_off, 1);
			return;
		}
		counter_add(&w->counters.mailbox_full, 1);
		/* It may have seen the load in its last turn, and gone to sleep. */
		load = atomic_fetch_sub(&to->load, 1);
		check(load > 0);
		mailbox_signal(&to->mailbox, MAIL_RESUME);
		atomic_fetch_add(&w->load, 1);
	}
	session_start(w, letter);
}

static void on_client(struct listener *l, int fd)
{
	struct worker *w = l->worker;
	struct frontend *fe = l->frontend;
	struct endpoint_settings *settings = endpoint_settings(l->endpoint);
	struct letter letter = {.fd = fd, .entry = settings};

	check(!w->deaf);
	check(w->loop.peer != NULL);
	addr_to_brief(&w->loop.peer->sa, w->loop.peer->len, &letter.client);
	counter_add(&w->counters.accepted, 1);
	atomic_fetch_add_explicit(&fe->total, 1, memory_order_relaxed);
	if (unlikely(settings->front->choosy) && admission_turn_away(w, settings, fd, &letter.client))
		return; /* the next client gets what was reserved for it */
	if (!l->reserved)
		force_slot(l); /* a driver may accept one more while the accept is being cancelled */
	l->reserved = false; /* the session owns it from now on */
	letter.rated = l->rated;
	start_session(w, &letter);
}

static void pause_for_error(struct listener *l, int err)
{
	struct worker *w = l->worker;
	char text[ADDR_TEXT_MAX];

	check(err < 0);
	check(l->state == LISTENER_ON || l->leaving);
	check(!io_is_pending(&l->accept));
	counter_add(&w->counters.accept_errors, 1);
	counter_add(&w->counters.accept_pauses, 1);
	l->state = LISTENER_BACKOFF;
	if (timer_set(&w->loop.timers, &l->pause, w->loop.now_ns + LISTENER_PAUSE_NS))
		l->state = LISTENER_OFF; /* no memory even for a timer: the other workers go on */
	if (log_limit_ok(&l->log, LOG_CAUSE_ACCEPT, (uint32_t)-err, w->loop.now_ns, 1))
		log_line(LOG_LEVEL_WARNING,
			 "accept on %s failed: %s; clients wait in the backlog (see `limits:`)",
			 addr_format(&l->endpoint->addr, text), strerrordesc_np(-err));
}

static bool has_run_out(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOBUFS || err == -ENOMEM;
}

static void listener_accept_done(struct io_op *op, int result)
{
	struct listener *l = container_of(op, struct listener, accept);

	if (result >= 0) {
		on_client(l, result);
		return;
	}
	release_unused(l);
	if (result == IO_BATCH_END)
		return;
	check(!io_is_pending(op)); /* it was the last of the stream */
	if (l->state == LISTENER_ON && result != -ECANCELED)
		pause_for_error(l, result);
	else if (l->state == LISTENER_LIMITED && may_resume(l))
		listener_resume(l); /* whatever ended the stream, a cancel or a failure just before it */
	else if (l->leaving && !l->given && !l->worker->draining && has_run_out(result))
		pause_for_error(l, result); /* then it stops again: who is queued would be reset */
}

static void listener_pause_over(struct timer *t)
{
	struct listener *l = container_of(t, struct listener, pause);

	check(l->state == LISTENER_LIMITED || l->state == LISTENER_BACKOFF);
	if (l->leaving)
		listener_stop(l);
	else if (l->state == LISTENER_BACKOFF)
		(void)listener_start(l); /* a failure has set the next pause */
	else
		listener_resume(l); /* it was paused for a rate */
}

void listener_init(struct listener *l, struct worker *w, struct endpoint *ep)
{
	memset(l, 0, sizeof(*l));
	l->worker = w;
	l->endpoint = ep;
	l->frontend = ep->frontend;
	l->state = LISTENER_BACKOFF;
	list_init(&l->waiting.link);
	l->waiting.wake = wake_worker;
	l->waiting.arg = w;
	io_sock_init(&l->sock, ep->fd, !addr_is_unix(&ep->addr));
	io_op_init(&l->accept, &l->sock, listener_accept_done);
	timer_init(&l->pause, listener_pause_over);
	atomic_fetch_add(&ep->listeners, 1);
}

int listener_start(struct listener *l)
{
	int r;

	check(l->paused_for == LIMIT_NONE);
	check(!timer_is_set(&l->pause));
	l->state = LISTENER_ON;
	l->accept.kind = IO_ACCEPT;
	l->accept.admit = listener_may_accept;
	r = io_start(&l->worker->loop, &l->accept);
	if (r == IO_PENDING)
		return 0;
	pause_for_error(l, r);
	return r;
}

void listener_resume(struct listener *l)
{
	/* While its cancel is under way, listener_accept_done() looks for room itself. */
	if (l->state != LISTENER_LIMITED || io_is_pending(&l->accept))
		return;
	check(l->paused_for != LIMIT_NONE);
	check(!l->reserved);
	/* If paused for memory, it stays paused until control says otherwise. */
	if (l->paused_for == LIMIT_MEMORY && is_memory_short(l))
		return;
	if (timer_is_set(&l->pause)) { /* it is paused for a rate */
		if (!listener_rate_has_place(l, l->paused_for))
			return;
		timer_cancel(&l->worker->loop.timers, &l->pause);
	}
	end_pause(l);
	(void)listener_start(l); /* a failure has set the pause */
}

void listener_pass_on(struct listener *l)
{
	struct engine *e = l->worker->engine;
	struct frontend *fe = l->frontend;

	if (frontend_has_room(l))
		paused_wake_one(&fe->paused);
	if (process_has_room(l))
		paused_wake_one(&e->paused);
	if (!paused_is_empty(&fe->rate_paused) && listener_rate_has_place(l, LIMIT_RATE))
		paused_wake_one(&fe->rate_paused);
	if (!paused_is_empty(&e->rate_paused) && listener_rate_has_place(l, LIMIT_PROCESS_RATE))
		paused_wake_one(&e->rate_paused);
}

void listener_stop(struct listener *l)
{
	check(!l->worker->deaf);
	end_pause(l);
	timer_cancel(&l->worker->loop.timers, &l->pause);
	/* A paused listener starts once more, for the last accepts that a cancel makes. */
	if (l->state != LISTENER_ON && l->state != LISTENER_OFF && !io_is_pending(&l->accept))
		(void)listener_start(l); /* a pause that a failure has set is cancelled below */
	if (l->leaving && !l->worker->draining && l->state == LISTENER_BACKOFF && !io_is_pending(&l->accept))
		return; /* or it stops after that pause */
	timer_cancel(&l->worker->loop.timers, &l->pause);
	l->state = LISTENER_OFF;
	io_cancel(&l->worker->loop, &l->accept); /* clients already queued are still taken */
}

bool listener_is_idle(const struct listener *l)
{
	return !io_is_pending(&l->accept) && !timer_is_set(&l->pause);
}

/* SPDX-License-Identifier: MIT
 *
 * worker.c - one thread, one loop, one core, and all that they own.
 *
 * Owns the order of a turn's end: reap, age, publish. Never blocks except in the loop's wait. The worker's
 * thread; worker_new(), worker_spawn() and worker_free() are for control.
 */
#include "worker.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/crash_report.h"
#include "weir/base/thread.h"
#include "weir/engine/histograms.h"
#include "weir/engine/source_wait.h"
#include "weir/sys/sys.h"
#include "admission.h"
#include "connect.h"
#include "egress.h"
#include "extra.h"
#include "give_back.h"
#include "queueing.h"
#include "server_port.h"
#include "session.h"
#include "session_begin.h"
#include "session_end.h"
#include "turns.h"

#define WORKER_BATON_NS (10 * NS_PER_MS)
/* Minimum time between two notifications to control that buffers are short. */
#define MANY_TELL_NS (20 * NS_PER_MS)

/* ---- mail ---- */

static void stop_listeners(struct worker *w)
{
	check(!w->deaf);
	w->draining = true;
	evict_drain(w);
	timer_cancel(&w->loop.timers, &w->baton);
	listeners_foreach(w, l) {
		if (!l->leaving)
			listener_stop(l);
	}
}

static void worker_woken(struct io_loop *loop)
{
	struct worker *w = worker_of_loop(loop);
	const unsigned signals = mailbox_signals(&w->mailbox);
	struct letter letter;

	if (unlikely(signals & MAIL_ROUND))
		rounds_heard(w);
	if (unlikely(signals & (MAIL_MAXIMA | MAIL_TIMES)))
		tally_forget(w, signals & MAIL_MAXIMA, signals & MAIL_TIMES); /* before what is asked */
	if (unlikely(signals & MAIL_MAXIMA))
		loop->timer_lag_max_ns = 0;
	/* Connections sent here wait until something can be started; they count in our load already. */
	while ((likely(!loop->is_down) || w->stopping) && mailbox_take(&w->mailbox, &letter))
		session_start(w, &letter);
	if (unlikely(signals & MAIL_EVICT))
		evict_sessions(w);
	if (unlikely(signals & MAIL_ASKED))
		inquiry_answer(w);
	if (signals & MAIL_GRANTS)
		queueing_take(w, connect_granted);
	if (unlikely(signals & MAIL_LOOK))
		source_wait_look(w);
	if (unlikely(signals & MAIL_PLACES))
		source_wait_take(w, admission_held_no_more);
	if (unlikely(signals & MAIL_NAMES))
		egress_take(w, connect_resolved);
	if (unlikely(signals & MAIL_ENDPOINTS))
		listeners_follow(w);
	if ((signals & (MAIL_DRAIN | MAIL_STOP)) && !w->draining)
		stop_listeners(w);
	if (signals & MAIL_STOP)
		w->stopping = true;
	if (unlikely(signals & MAIL_PING)) {
		atomic_store(&w->pong, atomic_load(&w->engine->ping));
		w->engine->notify(w->engine->notify_arg);
	}
	if (!(signals & MAIL_RESUME) || w->draining)
		return;
	listeners_foreach(w, l)
		listener_resume(l);
	/* If there is no memory for the timer, the next release has the same effect. */
	(void)timer_set(&w->loop.timers, &w->baton, w->loop.now_ns + WORKER_BATON_NS);
}

/* A release wakes one worker. If the slot is still free now, the other workers need not stay paused
 * either. */
static void worker_pass_baton(struct timer *t)
{
	struct worker *w = container_of(t, struct worker, baton);

	listeners_foreach(w, l)
		listener_pass_on(l);
}

/* ---- the end of a turn ---- */

static void stop_sessions(struct worker *w)
{
	struct list *pos;
	struct list *tmp;

	list_foreach_safe(&w->awaiting_ops, pos, tmp)
		session_hurry(list_entry(pos, struct session, link));
	while (!list_empty(&w->live))
		session_close(list_entry(w->live.next, struct session, link), CLOSE_STOPPED);
}

static void reap(struct worker *w)
{
	while (!list_empty(&w->closing))
		(void)session_reap(list_entry(w->closing.next, struct session, link)); /* else it comes
										        * again */
}

/* Control ages what is unused in the pools, and sleeps while nothing is. It is notified again from time to
 * time, because it may have emptied the lists and gone to sleep since. */
static void tell_control(struct worker *w)
{
	struct engine *e = w->engine;

	if (pipe_pool_idle(&e->pipes) == 0 && buf_pool_idle(&e->bufs) == 0)
		return;
	if (w->loop.now_ns <
	    w->told_ns + atomic_load_explicit(&e->settings.pipe_cycle_ns, memory_order_relaxed) / 8)
		return;
	w->told_ns = w->loop.now_ns;
	e->notify(e->notify_arg);
}

static void publish_counters(struct worker *w)
{
	struct counters *c = &w->counters;
	const struct io_loop *loop = &w->loop;

	check(w->sessions <= w->slab.slots);
	counter_set(&c->sessions, w->sessions);
	counter_set(&c->timers, loop->timers.count);
	counter_set(&c->pending_ops, loop->pending);
	counter_set(&c->pipes_in_use, loop->pipes.in_use);
	counter_set(&c->pipes_resting, shelf_size(&loop->pipes.list));
	counter_set(&c->pipes_killed, loop->pipes.killed);
	counter_set(&c->bufs_in_use, loop->bufs.in_use);
	counter_set(&c->bufs_in_use_bytes, loop->bufs.in_use_bytes);
	counter_set(&c->session_slots, w->slab.slots);
	counter_set(&c->stale_events, loop->stale_events);
	counter_set(&c->turns, loop->turns);
	counter_set(&c->timer_runs, loop->timer_runs);
	counter_set(&c->timer_lag_ns, loop->timer_lag_ns);
	counter_set(&w->timer_lag_max_ns, loop->timer_lag_max_ns);
}

/* Control watches memory while there are many sessions, and looks at once when buffers are short: a second
 * may be too long. If it stops watching right now, the next turn notifies it again. */
static void tell_of_sessions(struct worker *w)
{
	struct engine *e = w->engine;

	if (!atomic_load_explicit(&e->sessions_watched, memory_order_relaxed) ||
	    (buf_read_bytes(&w->loop.bufs) == BUF_MIN && w->loop.now_ns >= w->many_told_ns + MANY_TELL_NS &&
	     !atomic_load_explicit(&e->is_accept_paused, memory_order_relaxed))) {
		w->many_told_ns = w->loop.now_ns;
		e->notify(e->notify_arg);
	}
}

static bool has_idle_listeners(const struct worker *w)
{
	listeners_foreach(w, l) {
		if (!listener_is_idle(l))
			return false;
	}
	return true;
}

/* The stages of the end: it leaves its listeners, then has no sessions, then no letters. */
static void move_on_draining(struct worker *w)
{
	if (!w->deaf && has_idle_listeners(w)) {
		w->deaf = true;
		atomic_fetch_add(&w->engine->workers_deaf, 1);
		w->engine->notify(w->engine->notify_arg); /* after the last, control closes the endpoints */
	}
	if (w->deaf && w->sessions == 0 && atomic_load(&w->load) == 0)
		w->finished = mailbox_close(&w->mailbox);
	check(w->sessions > 0 || (list_empty(&w->live) && list_empty(&w->awaiting_ops)));
	if (!w->finished)
		return;
	inquiry_list_close(w);
	rounds_end(w);
}

void worker_turn(struct worker *w)
{
	check(!w->finished);
	io_loop_turn(&w->loop);
	if (unlikely(w->stopping))
		stop_sessions(w);
	reap(w);
	if (unlikely(w->look_turns > 0))
		source_wait_turned(w);
	give_back_arm(w);
	tell_control(w);
	publish_counters(w);
	if (unlikely(w->sessions >=
		     atomic_load_explicit(&w->engine->settings.sessions_many, memory_order_relaxed)))
		tell_of_sessions(w);
	if (unlikely(w->leaving > 0))
		listeners_clear(w);
	if (unlikely(w->round != 0))
		rounds_pass(w);
	if (unlikely(w->draining))
		move_on_draining(w);
}

/* ---- creation and end ---- */

static void wake_control(void *arg)
{
	const struct engine *e = arg;

	e->notify(e->notify_arg);
}

/* Each has room for everything that lives, and from now on for what comes. */
static int make_tables(struct worker *w)
{
	struct live *live = &w->engine->live;
	int err = slot_space_add_table(&live->endpoints, &w->listeners);

	if (!err)
		err = slot_space_add_table(&live->versions, &w->counts);
	if (!err)
		err = slot_space_add_table(&live->objects, &w->tallies);
	if (!err)
		err = slot_space_add_table(&live->objects, &w->line_limits);
	if (!err)
		err = slot_space_add_table(&live->objects, &w->histograms);
	if (!err)
		err = slot_space_add_table(&live->objects, &w->evictions);
	if (!err)
		err = slot_space_add_table(&live->objects, &w->pickers);
	if (!err)
		err = slot_space_add_table(&live->objects, &w->marks);
	return err;
}

static void init_tables(struct worker *w)
{
	chunks_init(&w->listeners, sizeof(struct listener));
	chunks_init(&w->counts, sizeof(counted_entry));
	chunks_init(&w->tallies, sizeof(struct tally));
	chunks_init(&w->line_limits, sizeof(struct log_limit));
	histograms_init(&w->histograms);
	chunks_init(&w->evictions, sizeof(struct eviction));
	chunks_init(&w->pickers, sizeof(struct picker));
	chunks_init(&w->marks, sizeof(struct pick_mark));
}

static void free_table(struct slot_space *space, struct chunks *table)
{
	slot_space_remove_table(space, table);
	chunks_free(table);
}

static void free_tables(struct worker *w)
{
	struct live *live = &w->engine->live;

	free_table(&live->endpoints, &w->listeners);
	free_table(&live->versions, &w->counts);
	free_table(&live->objects, &w->tallies);
	free_table(&live->objects, &w->line_limits);
	histograms_free(&w->histograms, slot_space_peak(&live->objects));
	free_table(&live->objects, &w->histograms);
	free_table(&live->objects, &w->evictions);
	free_table(&live->objects, &w->pickers);
	free_table(&live->objects, &w->marks);
}

static void make_listeners(struct worker *w)
{
	struct entries *e = &w->engine->entries;

	for (uint32_t slot = 0; slot < slot_space_peak(&w->engine->live.endpoints); slot++) {
		struct endpoint *ep = entries_at(e, slot);

		if (ep != NULL)
			listener_init(worker_listener(w, slot), w, ep);
	}
}

static void free_parts(struct worker *w)
{
	check(list_empty(&w->source_waits));
	listeners_foreach(w, l)
		atomic_fetch_sub(&l->endpoint->listeners, 1);
	free_tables(w);
	egress_end_worker(w);
	slab_free(&w->ported);
	slab_free(&w->extras);
	slab_free(&w->slab);
	log_ring_free(w->log);
	free(w);
}

void worker_forget(void *arg, uint32_t slot)
{
	struct worker *w = arg;

	tally_clear(chunks_at(&w->tallies, slot));
	histograms_forget(w, slot);
	memset(chunks_at(&w->line_limits, slot), 0, sizeof(struct log_limit));
	memset(chunks_at(&w->pickers, slot), 0, sizeof(struct picker));
	memset(chunks_at(&w->marks, slot), 0, sizeof(struct pick_mark));
}

static void wake_for_grants(void *arg)
{
	struct worker *w = arg;

	mailbox_signal(&w->mailbox, MAIL_GRANTS);
}

static struct worker *worker_alloc(struct engine *e, unsigned index)
{
	struct worker *w = aligned_alloc(64, (sizeof(*w) + 63) / 64 * 64);

	if (w == NULL)
		return NULL;
	memset(w, 0, sizeof(*w));
	w->engine = e;
	w->index = index;
	w->cpu = -1;
	list_init(&w->live);
	list_init(&w->closing);
	list_init(&w->awaiting_ops);
	list_init(&w->source_waits);
	queue_grants_init(&w->grants, wake_for_grants, w);
	inquiry_list_init(&w->asked);
	session_slab_init(&w->slab);
	session_extras_init(&w->extras);
	server_port_init_slab(&w->ported);
	egress_init_worker(w);
	init_tables(w);
	give_back_init(w);
	timer_init(&w->baton, worker_pass_baton);
	return w;
}

struct worker *worker_make(struct engine *e, unsigned index, const struct io_driver *driver, int *err)
{
	struct worker *w = worker_alloc(e, index);

	*err = -ENOMEM;
	if (w == NULL)
		return NULL;
	w->log = log_ring_new(wake_control, e);
	if (w->log != NULL)
		*err = io_loop_init(&w->loop, driver);
	if (*err) {
		free_parts(w);
		return NULL;
	}
	pipe_cache_init(&w->loop.pipes, &e->pipes, worker_own_pipes(e));
	buf_cache_init(&w->loop.bufs, &e->bufs);
	mailbox_init(&w->mailbox, &w->loop);
	w->loop.woken = worker_woken;
	w->loop.lost = worker_lost;
	*err = make_tables(w);
	if (!*err) {
		make_listeners(w);
		return w;
	}
	worker_free(w);
	return NULL;
}

int worker_listen(struct worker *w)
{
	check(!w->draining);
	check(!w->spawned);
	listeners_foreach(w, l) {
		const int err = listener_start(l);

		if (err)
			return err;
	}
	publish_counters(w); /* for readers that come before its first turn */
	return 0;
}

struct worker *worker_new(struct engine *e, unsigned index, const struct io_driver *driver, int *err)
{
	struct worker *w = worker_make(e, index, driver, err);

	if (w == NULL)
		return NULL;
	*err = worker_listen(w);
	if (!*err)
		return w;
	/* Clients already queued at its listeners may still be accepted; they are then reset. */
	mailbox_signal(&w->mailbox, MAIL_STOP);
	worker_run_out(w);
	worker_free(w);
	return NULL;
}

void worker_run_out(struct worker *w)
{
	check(!w->spawned); /* otherwise its thread turns it */
	while (!w->finished) {
		io_loop_wake(&w->loop);
		worker_turn(w);
	}
}

void worker_free(struct worker *w)
{
	check(w->sessions == 0);
	check(atomic_load(&w->load) == 0);
	check(w->source_wait_count == 0);
	timer_cancel(&w->loop.timers, &w->age);
	io_loop_release(&w->loop);
	pipe_cache_free(&w->loop.pipes);
	buf_cache_free(&w->loop.bufs);
	io_loop_free(&w->loop);
	free_parts(w);
}

static void pin(const struct worker *w)
{
	cpu_set_t set;

	if (w->cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((unsigned)w->cpu, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set) != 0)
		log_line(LOG_LEVEL_NOTICE,
			 "worker %u: CPU %d is not available to this process; the worker runs unpinned",
			 w->index, w->cpu);
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct engine *e = w->engine;
	char name[16];

	(void)snprintf(name, sizeof(name), "worker %u", w->index); /* a truncated name is still a name */
	crash_report_thread(name);
	log_use_ring(w->log);
	pin(w);
	atomic_fetch_add(&e->workers_ready, 1);
	e->notify(e->notify_arg);
	while (!w->finished)
		turns_take(w);
	check(w->sessions == 0);
	check(w->deaf);
	/* Unused resources are returned while their owner lives; the structure stays for its readers. */
	io_loop_release(&w->loop);
	pipe_cache_free(&w->loop.pipes);
	buf_cache_free(&w->loop.bufs);
	publish_counters(w);
	counter_set(&w->busy_ns, (uint64_t)clock_thread_ns());
	log_use_ring(NULL);
	atomic_store(&w->pong, WORKER_ENDED);
	atomic_fetch_add(&e->workers_done, 1);
	e->notify(e->notify_arg);
	return NULL;
}

int worker_spawn(struct worker *w)
{
	check(!w->spawned);
	check(!w->finished);
	const int err = thread_start(&w->thread, worker_main, w);

	w->spawned = err == 0;
	return err;
}

/* SPDX-License-Identifier: MIT
 *
 * engine.c - the data plane as control sees it: entries, backends, workers.
 *
 * Owns the pools; starts and joins threads. Never touches a session. Control thread.
 */
#include "weir/engine/engine.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "weir/balance/fallback.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/engine/tallies.h"
#include "rounds.h"
#include "worker.h"

/* Clients in a queue wait until there are descriptors for them. Where there never are any, a stop does not
 * wait for ever. */
#define DRAIN_ENDPOINTS_MAX_NS (6 * NS_PER_SEC)

static int make_backends(struct engine *e)
{
	const struct config *c = e->config;

	e->backends = calloc(c->backend_count + 1, sizeof(struct backend *));
	if (e->backends == NULL)
		return -ENOMEM;
	e->backend_room = c->backend_count + 1;
	while (e->backend_count < c->backend_count) {
		struct backend *b = backend_new(&e->live, &c->backends[e->backend_count]);

		if (b == NULL)
			return -ENOMEM;
		e->backends[e->backend_count++] = b;
	}
	for (size_t i = 0; i < c->backend_count; i++)
		if (c->backends[i].fallback_backend != NULL)
			backend_set_fallback(e->backends[i], e->backends[c->backends[i].fallback]);
	return 0;
}

int engine_prepare_backend(struct engine *e, size_t more)
{
	const size_t room = (e->backend_count + more) * 2;
	struct backend **wider;

	if (e->backend_count + more <= e->backend_room)
		return 0;
	wider = realloc(e->backends, room * sizeof(struct backend *));
	if (wider == NULL)
		return -ENOMEM;
	e->backends = wider;
	e->backend_room = room;
	return 0;
}

void engine_add_backend(struct engine *e, struct backend *b)
{
	check(e->backend_count < e->backend_room);
	*(struct tally_sum *)chunks_at(&e->kept, b->slot) = (struct tally_sum){0}; /* of who had its number */
	e->backends[e->backend_count++] = b;
}

void engine_drop_backend(struct engine *e, struct backend *b)
{
	size_t i = 0;

	while (i < e->backend_count && e->backends[i] != b)
		i++;
	check(i < e->backend_count);
	e->backend_count--;
	memmove(&e->backends[i], &e->backends[i + 1], (e->backend_count - i) * sizeof(struct backend *));
}

static void free_backends(struct engine *e)
{
	while (e->backend_count > 0)
		backend_free(e->backends[--e->backend_count]);
	free(e->backends);
	e->backends = NULL;
}

static int build(struct engine *e)
{
	int err = entries_init(&e->entries, &e->live);

	if (!err)
		err = slot_space_add_table(&e->live.objects, &e->ends);
	if (!err)
		err = slot_space_add_table(&e->live.objects, &e->kept);
	if (!err)
		err = make_backends(e);
	if (!err)
		err = entries_build(&e->entries, e->config, e->backends);
	return err;
}

static void init_settings(struct engine *e)
{
	atomic_init(&e->settings.maxconn, INT_MAX); /* until it is planned */
	atomic_init(&e->settings.rate_limit, 0);
	atomic_init(&e->settings.sessions_many, UINT32_MAX);
	atomic_init(&e->settings.splice, (int)e->config->global.splice);
	atomic_init(&e->settings.pipe_cycle_ns, e->config->global.pipe_cycle_ns);
}

static void entries_changed(void *arg);
static void end_sessions(struct live *l, uint32_t slot, bool when_idle);

int engine_init(struct engine *e, const struct config *c, void (*notify)(void *), void *arg)
{
	int err;

	memset(e, 0, sizeof(*e));
	spinlock_init(&e->egress.lock);
	list_init(&e->egress.asked);
	e->config = c;
	e->notify = notify;
	e->notify_arg = arg;
	init_settings(e);
	paused_init(&e->paused);
	rate_init(&e->rate, 0);
	paused_init(&e->rate_paused);
	chunks_init(&e->ends, sizeof(struct engine_ends));
	chunks_init(&e->kept, sizeof(struct tally_sum));
	rounds_init(e);
	e->live.forget = worker_forget;
	e->live.keep = tally_keep;
	e->live.end = end_sessions;
	err = build(e);
	e->entries.changed = entries_changed;
	e->entries.changed_arg = e;
	if (err)
		engine_free(e);
	return err;
}

/* ---- workers ---- */

/* The CPU for worker `i`, -1 for none: from the configured list, in turn; with `auto` one CPU each if there
 * are as many workers as CPUs available to us. */
static int choose_cpu(const struct engine *e, unsigned i)
{
	const struct config_global *g = &e->config->global;
	cpu_set_t set;
	unsigned seen = 0;
	int cpu;

	if (g->affinity == CONFIG_AFFINITY_OFF)
		return -1;
	if (g->affinity == CONFIG_AFFINITY_LIST)
		return g->cpu_count > 0 ? (int)g->cpus[i % g->cpu_count] : -1;
	if (sched_getaffinity(0, sizeof(set), &set) != 0 || (unsigned)CPU_COUNT(&set) != e->worker_count)
		return -1;
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET((unsigned)cpu, &set) && seen++ == i)
			return cpu;
	return -1;
}

static void free_workers(struct engine *e)
{
	unsigned i;

	for (i = 0; i < e->worker_count; i++)
		if (e->workers[i] != NULL)
			worker_free(e->workers[i]);
	free(e->workers);
	e->workers = NULL;
	if (e->worker_count > 0) {
		pipe_pool_free(&e->pipes);
		buf_pool_free(&e->bufs);
	}
	e->worker_count = 0;
}

/* Makes all workers before the first one listens: they look at each other's data as soon as they run, and if
 * one cannot be made, none has listened. */
static int make_workers(struct engine *e, unsigned workers, const struct io_driver *driver)
{
	unsigned i;
	int err;

	check(e->worker_count == 0);
	e->workers = calloc(workers, sizeof(*e->workers));
	if (e->workers == NULL)
		return -ENOMEM;
	e->worker_count = workers;
	for (i = 0; i < workers; i++) {
		e->workers[i] = worker_make(e, i, driver, &err);
		if (e->workers[i] == NULL) {
			free_workers(e);
			return err;
		}
		e->workers[i]->cpu = choose_cpu(e, i);
	}
	return 0;
}

/* A thread could not be started: ends the workers that run, and turns the others until they have ended. */
static void stop_started(struct engine *e)
{
	unsigned i;

	engine_stop(e);
	for (i = 0; i < e->worker_count; i++)
		if (!e->workers[i]->spawned)
			worker_run_out(e->workers[i]);
	engine_join(e);
}

int engine_start(struct engine *e, const struct engine_limits *limits, unsigned workers,
		 const struct io_driver *driver)
{
	unsigned i;
	int err;

	check(workers > 0);
	check(e->workers == NULL);
	e->borrowed_bytes = workers * driver->borrows_bytes;
	pipe_pool_init(&e->pipes, limits->maxpipes, limits->pipe_bytes, limits->pipe_budget_bytes);
	buf_pool_init(&e->bufs, limits->buf_budget_bytes + e->borrowed_bytes);
	engine_set_limits(e, limits);
	err = make_workers(e, workers, driver);
	if (err)
		return err;
	for (i = 0; i < workers && !err; i++)
		err = worker_listen(e->workers[i]);
	for (i = 0; i < workers && !err; i++)
		err = worker_spawn(e->workers[i]);
	if (err)
		stop_started(e);
	return err;
}

static void drain_workers(struct engine *e)
{
	e->drain = DRAIN_WORKERS;
	engine_signal_all(e, MAIL_DRAIN);
}

void engine_take_news(struct engine *e)
{
	/* Only a stop that does not wait resets whom it finds in the queue. */
	if (e->worker_count > 0 && atomic_load(&e->workers_deaf) == (int)e->worker_count)
		entries_close(&e->entries);
	retire_go_on(&e->live.retire);
	if (e->drain == DRAIN_ENDPOINTS && e->entries.endpoint_count == 0)
		drain_workers(e);
}

int64_t engine_wake(struct engine *e, int64_t now_ns)
{
	const int64_t at_ns = entries_wake(&e->entries, now_ns);

	engine_take_news(e);
	if (e->drain != DRAIN_ENDPOINTS)
		return at_ns;
	if (now_ns < e->drain_until_ns)
		return at_ns < e->drain_until_ns ? at_ns : e->drain_until_ns;
	drain_workers(e);
	return at_ns;
}

/* For struct entries. */
static void entries_changed(void *arg)
{
	engine_signal_all(arg, MAIL_ENDPOINTS);
}

void engine_signal_all(struct engine *e, enum mail_signal signal)
{
	for (unsigned i = 0; i < e->worker_count; i++)
		if (e->workers[i] != NULL)
			mailbox_signal(&e->workers[i]->mailbox, signal);
}

void engine_drain(struct engine *e, int64_t now_ns)
{
	if (e->drain != DRAIN_NONE)
		return;
	e->drain = DRAIN_ENDPOINTS;
	e->drain_until_ns = now_ns + DRAIN_ENDPOINTS_MAX_NS;
	entries_leave_all(&e->entries, now_ns);
	retire_want(&e->live.retire); /* there may be no endpoint that does */
}

void engine_stop(struct engine *e)
{
	e->drain = DRAIN_WORKERS;
	engine_signal_all(e, MAIL_STOP);
}

void engine_pause_accept(struct engine *e, bool pause)
{
	atomic_store(&e->is_accept_paused, pause);
	if (!pause)
		engine_signal_all(e, MAIL_RESUME);
}

void engine_join(struct engine *e)
{
	unsigned i;

	for (i = 0; i < e->worker_count; i++)
		if (e->workers[i] != NULL && e->workers[i]->spawned)
			(void)pthread_join(e->workers[i]->thread, NULL); /* it was started */
}

void engine_free(struct engine *e)
{
	free_workers(e);
	/* Endpoints that are deaf hold frontends that were removed. */
	(void)entries_wake(&e->entries, CLOCK_NEVER);
	retire_end(&e->live.retire);
	entries_free(&e->entries);
	free_backends(e);
	slot_space_remove_table(&e->live.objects, &e->ends);
	slot_space_remove_table(&e->live.objects, &e->kept);
	chunks_free(&e->ends);
	chunks_free(&e->kept);
	live_free(&e->live);
}

/* ---- orders, and signs of life ---- */

/* A number and a signal rather than a letter: a full mailbox loses neither. */
static void evict(struct engine *e, uint32_t slot, enum engine_end why)
{
	check(why < ENGINE_END_COUNT);
	atomic_fetch_add(&((struct engine_ends *)chunks_at(&e->ends, slot))->times[why], 1);
	engine_signal_all(e, MAIL_EVICT);
}

/* For struct live. */
static void end_sessions(struct live *l, uint32_t slot, bool when_idle)
{
	evict(container_of(l, struct engine, live), slot, when_idle ? ENGINE_END_IDLE : ENGINE_END_REMOVED);
}

void engine_close_sessions(struct engine *e, struct server *s)
{
	evict(e, s->slot, ENGINE_END_DOWN);
}

void engine_kill_sessions(struct engine *e, struct server *s)
{
	evict(e, s->slot, ENGINE_END_KILLED);
}

void engine_ping(struct engine *e)
{
	atomic_fetch_add(&e->ping, 1);
	engine_signal_all(e, MAIL_PING);
}

unsigned engine_silent_workers(const struct engine *e, unsigned *first)
{
	const uint32_t round = atomic_load(&e->ping);
	unsigned silent = 0;

	for (unsigned i = e->worker_count; i-- > 0;) {
		const uint32_t pong = atomic_load(&e->workers[i]->pong);

		if (pong == round || pong == WORKER_ENDED)
			continue;
		*first = i;
		silent++;
	}
	return silent;
}

const struct counters *engine_counters(const struct engine *e, unsigned worker)
{
	check(worker < e->worker_count);
	return &e->workers[worker]->counters;
}

struct log_ring *engine_log_ring(const struct engine *e, unsigned worker)
{
	check(worker < e->worker_count);
	return e->workers[worker]->log;
}

/* SPDX-License-Identifier: MIT
 *
 * engine.c - the data plane as control sees it: endpoints, frontends, workers.
 *
 * Owns the bound descriptors and the pools; starts and joins threads. Never touches a session. Control
 * thread, except for engine_worker_deaf().
 */
#include "weir/engine/engine.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/entry/endpoint.h"
#include "weir/sys/sys.h"
#include "admission.h"
#include "worker.h"

static size_t count_binds(const struct config *c)
{
	size_t n = 0;
	size_t i;

	for (i = 0; i < c->frontend_count; i++)
		n += c->frontends[i].bind_count;
	return n;
}

static void init_frontend(struct engine *e, unsigned i, size_t *next)
{
	struct frontend *fe = &e->frontends[i];
	const struct config_frontend *config = &e->config->frontends[i];
	size_t k;

	check(config->backend < e->config->backend_count);
	fe->config = config;
	fe->backend = &e->backends[config->backend];
	fe->index = i;
	fe->own_limit = config->maxconn;
	for (k = 0; k < config->bind_count; k++) {
		struct endpoint *ep = &e->endpoints[(*next)++];

		check(*next <= e->endpoint_count);
		ep->config = &config->binds[k];
		ep->frontend = fe;
		ep->addr = config->binds[k].addr.addr;
		ep->fd = -1;
	}
}

/* calloc() for structures that need their own cache lines. */
static void *aligned_zalloc(size_t count, size_t size)
{
	const size_t bytes = (count * size + 63) / 64 * 64;
	void *p = aligned_alloc(64, bytes > 0 ? bytes : 64);

	if (p != NULL)
		memset(p, 0, bytes);
	return p;
}

/* The layout of each worker's tallies: the frontends, then each backend followed by its servers. */
static int plan_tallies(struct engine *e)
{
	const struct config *c = e->config;
	size_t i;

	e->first_tally = calloc(c->backend_count + 1, sizeof(*e->first_tally));
	if (e->first_tally == NULL)
		return -ENOMEM;
	e->tally_count = c->frontend_count;
	for (i = 0; i < c->backend_count; i++) {
		e->first_tally[i] = e->tally_count;
		e->tally_count += 1 + c->backends[i].server_count;
	}
	return 0;
}

static void init_settings(struct engine *e)
{
	atomic_init(&e->settings.maxconn, INT_MAX); /* until it is planned */
	atomic_init(&e->settings.sessions_many, UINT32_MAX);
	atomic_init(&e->settings.splice, (int)e->config->global.splice);
	atomic_init(&e->settings.pipe_cycle_ns, e->config->global.pipe_cycle_ns);
}

int engine_init(struct engine *e, const struct config *c, void (*notify)(void *), void *arg)
{
	size_t next = 0;
	unsigned i;

	memset(e, 0, sizeof(*e));
	e->config = c;
	e->notify = notify;
	e->notify_arg = arg;
	init_settings(e);
	e->endpoint_count = count_binds(c);
	e->backends = backends_new(c);
	e->frontends = aligned_zalloc(c->frontend_count, sizeof(*e->frontends));
	e->endpoints = aligned_zalloc(e->endpoint_count, sizeof(*e->endpoints));
	if (e->backends == NULL || e->frontends == NULL || e->endpoints == NULL || plan_tallies(e) != 0) {
		e->endpoint_count = 0;
		engine_free(e);
		return -ENOMEM;
	}
	for (i = 0; i < c->frontend_count; i++)
		init_frontend(e, i, &next);
	check(next == e->endpoint_count);
	if (admission_init(e) != 0) {
		engine_free(e);
		return -ENOMEM;
	}
	return 0;
}

/* Makes room after the endpoint at `at` for `more` others of the same bind. 0 or -ENOMEM. */
static int widen_endpoints(struct engine *e, size_t at, size_t more)
{
	struct endpoint *wider = aligned_zalloc(e->endpoint_count + more, sizeof(*wider));

	check(at < e->endpoint_count);
	if (wider == NULL)
		return -ENOMEM;
	memcpy(wider, e->endpoints, (at + 1) * sizeof(*wider));
	memcpy(wider + at + 1 + more, e->endpoints + at + 1, (e->endpoint_count - at - 1) * sizeof(*wider));
	for (size_t i = 0; i <= more; i++) {
		wider[at + i] = wider[at];
		wider[at + i].part = more > 0 ? (unsigned)i + 1 : 0;
	}
	free(e->endpoints);
	e->endpoints = wider;
	e->endpoint_count += more;
	return 0;
}

int engine_adopt(struct engine *e, const struct config_bind *b, int *fds, size_t count)
{
	size_t at = 0;
	int err;

	check(count > 0);
	check(b->addr.kind == ADDR_FD);
	check(e->workers == NULL); /* workers borrow endpoints */
	while (at < e->endpoint_count && e->endpoints[at].config != b)
		at++;
	check(at < e->endpoint_count);
	check(e->endpoints[at].fd < 0);
	err = widen_endpoints(e, at, count - 1);
	for (size_t i = 0; i < count && !err; i++) {
		err = endpoint_adopt(&e->endpoints[at + i], fds[i]);
		fds[i] = -1;
	}
	return err;
}

int engine_bind(struct engine *e, struct endpoint **failed)
{
	size_t i;
	int err;

	for (i = 0; i < e->endpoint_count; i++) {
		/* A bind whose inherited socket was not passed has been refused before. */
		if (e->endpoints[i].config->addr.kind == ADDR_FD)
			continue;
		err = endpoint_bind(&e->endpoints[i]);
		if (err) {
			*failed = &e->endpoints[i];
			return err;
		}
	}
	return 0;
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

/* Closing resets clients that came after the last accept: only passing on the socket could close that gap. */
static void close_endpoints(struct engine *e)
{
	size_t i;

	for (i = 0; i < e->endpoint_count; i++) {
		struct endpoint *ep = &e->endpoints[i];

		if (ep->fd < 0)
			continue;
		/* Remove the name first, so that no client finds a socket on which nothing listens. */
		sock_path_release(&ep->path, &ep->addr);
		sys_close(ep->fd);
		ep->fd = -1;
	}
}

void engine_worker_deaf(struct engine *e)
{
	const int deaf = atomic_fetch_add(&e->workers_deaf, 1) + 1;

	check(deaf <= (int)e->worker_count); /* each worker calls this once */
	if (deaf == (int)e->worker_count)
		close_endpoints(e);
}

static void signal_all(struct engine *e, enum mail_signal signal)
{
	unsigned i;

	for (i = 0; i < e->worker_count; i++)
		if (e->workers[i] != NULL)
			mailbox_signal(&e->workers[i]->mailbox, signal);
}

void engine_drain(struct engine *e)
{
	signal_all(e, MAIL_DRAIN);
}

void engine_stop(struct engine *e)
{
	signal_all(e, MAIL_STOP);
}

void engine_pause_accept(struct engine *e, bool pause)
{
	atomic_store(&e->is_accept_paused, pause);
	if (!pause)
		signal_all(e, MAIL_RESUME);
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
	admission_free(e);
	close_endpoints(e);
	backends_free(e->backends, e->config->backend_count);
	free(e->frontends);
	free(e->endpoints);
	free(e->first_tally);
	e->first_tally = NULL;
	e->backends = NULL;
	e->frontends = NULL;
	e->endpoints = NULL;
}

/* ---- orders, and signs of life ---- */

/* A number and a signal rather than a letter: a full mailbox loses neither. */
static void evict(struct engine *e, struct server *s, enum server_end why)
{
	check(why < SERVER_ENDS);
	check(s->owner >= e->backends && s->owner < e->backends + e->config->backend_count);
	atomic_fetch_add(&s->ends[why], 1);
	signal_all(e, MAIL_EVICT);
}

void engine_close_sessions(struct engine *e, struct server *s)
{
	evict(e, s, SERVER_END_DOWN);
}

void engine_kill_sessions(struct engine *e, struct server *s)
{
	evict(e, s, SERVER_END_KILLED);
}

void engine_ping(struct engine *e)
{
	atomic_fetch_add(&e->ping, 1);
	signal_all(e, MAIL_PING);
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

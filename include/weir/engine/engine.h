/* SPDX-License-Identifier: MIT
 *
 * engine.h - the data plane as control sees it: start workers, mail them, read what they count.
 *
 * Everything here is called from the control thread unless it says otherwise.
 *
 * Shared between threads, the complete list (adding to it is a matter for review):
 *  - the pipe and buffer pools' lists (spinlock) and budgets (one atomic each);
 *  - each server's runtime line (balance/server.h), each backend's roster (a spinlock, held for two
 *    instructions when a server has changed) and queue (a spinlock, touched only while somebody waits);
 *  - the tables of maxconn-per-source (sharded spinlocks) and the clocks of rate-limit (a spinlock each),
 *    where they are configured; the rounds of looking for sessions that are ending (atomics, touched
 *    only when a source has reached its limit);
 *  - the session counts of the process and of each frontend, each worker's load, and what
 *    listeners are paused for (atomics, touched once a connection);
 *  - whether memory is short, and whether control watches it (atomics, written by control alone);
 *  - the rounds of signs of life (atomics, touched only when a watchdog asks);
 *  - each worker's list of what control asks it for (spinlock), and the buffer of each inquiry, which one
 *    of both owns at a time (inquiry.h; touched by `show sess` and `show stat` only);
 *  - each worker's mailbox (spinlock, eventfd), its published counters and its tallies (one writer,
 *    relaxed) and its log ring (single producer, single consumer);
 *  - control's alone with its helpers: the jobs of names/lookup.h and the queues of logging/log_file.h (a
 *    mutex each, which no worker takes).
 */
#ifndef WEIR_ENGINE_ENGINE_H
#define WEIR_ENGINE_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/balance/backend.h"
#include "weir/base/counters.h"
#include "weir/base/log.h"
#include "weir/config/config.h"
#include "weir/entry/endpoint.h"
#include "weir/entry/frontend.h"
#include "weir/io/buf_pool.h"
#include "weir/io/pipe_pool.h"

struct io_driver;
struct worker;

/* What was planned from the limits of this process; see host/limits.h. */
struct engine_limits {
	unsigned maxconn;
	unsigned maxpipes;
	uint32_t pipe_bytes;
	uint64_t pipe_budget_bytes;
	uint64_t buf_budget_bytes;
};

struct engine {
	const struct config *config; /* borrows */
	struct backend *backends;    /* owns */
	struct frontend *frontends;  /* owns */
	struct endpoint *endpoints;  /* owns */
	size_t endpoint_count;
	size_t *first_tally; /* owns; of each backend: its place in a worker's tallies, its servers follow */
	size_t tally_count;
	struct engine_limits limits;
	struct pipe_pool pipes;
	struct buf_pool bufs;
	struct worker **workers; /* owns */
	unsigned worker_count;
	_Alignas(64) atomic_int sessions; /* of the process; a reservation is taken before accept */
	atomic_int paused; /* listeners that are paused because of it */
	_Atomic int workers_ready;
	_Atomic int workers_done;
	_Atomic int workers_deaf; /* have left all listeners; the last of them closes these */
	_Atomic uint32_t ping; /* the current round; each worker has its answer */
	_Atomic uint32_t look_round; /* source_wait.c: the last that was drawn */
	struct counters control; /* what control counts; its thread is the writer */
	/* Tells control that something is to be seen: records, an inquiry that was answered, a worker that is
	 * ready or done. Called from workers; must not block. */
	void (*notify)(void *arg);
	void *notify_arg;
	uint32_t sessions_many;       /* a worker with so many has control notified; set before the start */
	atomic_bool sessions_watched; /* control looks by itself meanwhile */
	atomic_bool is_accept_paused; /* engine_pause_accept() */
};

/* Builds frontends, backends and (not yet bound) endpoints. 0 or -ENOMEM. */
int engine_init(struct engine *e, const struct config *c, void (*notify)(void *), void *arg);
/* Gives the bind `b` its inherited sockets, which listen and are nonblocking already: one endpoint
 * each. Takes the descriptors; call before engine_bind(), once for each bind of ADDR_FD. 0, or -errno
 * with those that were taken in an endpoint, and the others the caller's as before (fds[i] < 0 =
 * taken). */
int engine_adopt(struct engine *e, const struct config_bind *b, int *fds, size_t count);
/* Binds and listens where nothing was adopted, before privileges are dropped. On failure returns
 * -errno with `*failed` the endpoint that it is about; what was bound is closed by engine_free(). */
int engine_bind(struct engine *e, struct endpoint **failed);
/* Makes pools and worker threads. 0, or -errno with none of them left running; with worker_count 0 then,
 * as when a driver cannot be opened so often, nobody was listened to and it may be called again. When each
 * worker listens, workers_ready equals worker_count. */
int engine_start(struct engine *e, const struct engine_limits *limits, unsigned workers,
		 const struct io_driver *driver);
/* Each worker stops accepting (after taking what waits), ends when its last session has. */
void engine_drain(struct engine *e);
/* Each worker ends all its sessions (reason STOPPED) and itself. */
void engine_stop(struct engine *e);
/* Memory is short: no worker accepts from now on, until it is called again with false. Who drains takes what
 * waits all the same. */
void engine_pause_accept(struct engine *e, bool pause);
/* Joins the threads; call when workers_done equals worker_count. */
void engine_join(struct engine *e);
/* Frees all, closes listeners, unlinks socket paths that we made. */
void engine_free(struct engine *e);

/* Asks each worker for a sign of life: one that turns its loop answers and notifies. */
void engine_ping(struct engine *e);
/* How many workers have not answered the last engine_ping() (nor ended); `*first` is one of them. */
unsigned engine_silent_workers(const struct engine *e, unsigned *first);

/* Asks each worker to end its sessions with `s` (reason SERVER_DOWN), a few in each turn of its loop; one
 * that is being connected tries another server. Never lost, however much mail a worker has: see evict.h. */
void engine_close_sessions(struct engine *e, struct server *s);
/* The same because the administrator wants it so (reason KILLED): all of them end. */
void engine_kill_sessions(struct engine *e, struct server *s);

/* A worker's side: it accepts no more. The last one to say so closes the endpoints, so that new
 * clients are refused while the sessions that are left go on. Any worker's thread, once each. */
void engine_worker_deaf(struct engine *e);

const struct counters *engine_counters(const struct engine *e, unsigned worker);
/* The sum over all workers and control of the counter at `offset` in struct counters; of a gauge as each
 * worker left it at the end of its last turn. */
static inline uint64_t engine_sum_at(const struct engine *e, size_t offset)
{
	const char *control = (const char *)&e->control;
	uint64_t sum = counter_get((const _Atomic uint64_t *)(const void *)(control + offset));

	for (unsigned i = 0; i < e->worker_count; i++) {
		const char *base = (const char *)engine_counters(e, i);

		sum += counter_get((const _Atomic uint64_t *)(const void *)(base + offset));
	}
	return sum;
}
/* Of a row of counters.tbl.h. engine_sum(e, sessions) are those that are open: e->sessions has the places too
 * that are reserved for an accept which may find nobody. */
#define engine_sum(e, name) engine_sum_at(e, offsetof(struct counters, name))
struct log_ring *engine_log_ring(const struct engine *e, unsigned worker);

#endif

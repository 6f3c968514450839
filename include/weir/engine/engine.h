/* SPDX-License-Identifier: MIT
 *
 * engine.h - the data plane as control sees it: start workers, send them mail, read what they count.
 *
 * Everything here is called from the control thread unless it says otherwise.
 *
 * What threads share is listed in doc/architecture.md, "Threads", with the reason why it is safe. The list is
 * complete, and an addition needs review.
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
#include "weir/engine/engine_settings.h"
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
	size_t *first_tally; /* owns; per backend: its place in a worker's tallies; its servers follow */
	size_t tally_count;
	struct engine_limits limits; /* as set last; for control */
	uint64_t borrowed_bytes;     /* that drivers borrow of the buffers, on top of their budget */
	struct engine_settings settings;
	struct pipe_pool pipes;
	struct buf_pool bufs;
	struct worker **workers; /* owns */
	unsigned worker_count;
	_Alignas(64) atomic_int sessions; /* of the process; a slot is reserved before each accept */
	atomic_int paused; /* listeners paused because the process is at maxconn */
	_Atomic int workers_ready;
	_Atomic int workers_done;
	_Atomic int workers_deaf; /* have left all listeners; the last of them closes these */
	_Atomic uint32_t ping; /* the current round; each worker holds its answer in `pong` */
	_Atomic uint32_t look_round; /* source_wait.c: the latest round that was drawn */
	struct counters control; /* control's own counts; its thread is the writer */
	/* Notifies control that there is something to see: records, an answered inquiry, a worker that is
	 * ready or done. Called from workers; must not block. */
	void (*notify)(void *arg);
	void *notify_arg;
	atomic_bool sessions_watched; /* control is watching by itself */
	atomic_bool is_accept_paused; /* engine_pause_accept() */
};

/* Builds frontends, backends and endpoints, which are not bound yet. 0 or -ENOMEM. */
int engine_init(struct engine *e, const struct config *c, void (*notify)(void *), void *arg);
/* Gives the bind `b` its inherited sockets, which already listen and are nonblocking: one endpoint each.
 * Takes ownership of the descriptors; call before engine_bind(), once for each bind of ADDR_FD. 0, or -errno:
 * descriptors taken by then stay in their endpoints, and the caller still owns the others (fds[i] < 0 =
 * taken). */
int engine_adopt(struct engine *e, const struct config_bind *b, int *fds, size_t count);
/* Binds and listens wherever nothing was adopted; call before privileges are dropped. On failure returns
 * -errno with `*failed` set to the endpoint at fault; engine_free() closes what was bound. */
int engine_bind(struct engine *e, struct endpoint **failed);
/* Creates the pools and the worker threads. 0, or -errno with no thread left running. If worker_count is then
 * 0, for example because a driver cannot be opened that many times, no worker has listened and this may be
 * called again. Once every worker listens, workers_ready equals worker_count. */
int engine_start(struct engine *e, const struct engine_limits *limits, unsigned workers,
		 const struct io_driver *driver);
/* Each worker stops accepting, after taking the clients already queued, and ends when its last session has
 * ended. */
void engine_drain(struct engine *e);
/* Each worker ends all its sessions (reason STOPPED), then itself. */
void engine_stop(struct engine *e);
/* Memory is short: no worker accepts until this is called again with false. A draining worker still takes the
 * clients already queued. */
void engine_pause_accept(struct engine *e, bool pause);
/* Joins the threads; call when workers_done equals worker_count. */
void engine_join(struct engine *e);
/* Frees everything, closes the listeners and unlinks the socket paths that we created. */
void engine_free(struct engine *e);

/* Asks each worker for a sign of life: a worker whose loop turns answers and notifies. */
void engine_ping(struct engine *e);
/* How many workers have neither answered the last engine_ping() nor ended; `*first` is one of them. */
unsigned engine_silent_workers(const struct engine *e, unsigned *first);

/* Asks each worker to end its sessions with `s` (reason SERVER_DOWN), a few per turn of its loop; a session
 * that is still connecting tries another server. Never lost, however much mail a worker has: see evict.h. */
void engine_close_sessions(struct engine *e, struct server *s);
/* The same on the administrator's order (reason KILLED): all of them end. */
void engine_kill_sessions(struct engine *e, struct server *s);

/* For a worker that accepts no more. The last worker to call this closes the endpoints, so that new clients
 * are refused while the remaining sessions go on. Any worker's thread, once each. */
void engine_worker_deaf(struct engine *e);

const struct counters *engine_counters(const struct engine *e, unsigned worker);
/* The sum over all workers and control of the counter at `offset` in struct counters; for a gauge, the values
 * that the workers published at the end of their last turns. */
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
/* The same for a row of counters.tbl.h. engine_sum(e, sessions) is the number of open sessions; e->sessions
 * also includes slots reserved for an accept that may find no client. */
#define engine_sum(e, name) engine_sum_at(e, offsetof(struct counters, name))
struct log_ring *engine_log_ring(const struct engine *e, unsigned worker);

#endif

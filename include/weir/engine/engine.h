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

#include "weir/account/failure.h"
#include "weir/balance/backend.h"
#include "weir/base/counters.h"
#include "weir/base/live.h"
#include "weir/base/log.h"
#include "weir/base/mark.h"
#include "weir/base/rate.h"
#include "weir/config/config.h"
#include "weir/engine/egress.h"
#include "weir/engine/engine_settings.h"
#include "weir/entry/entries.h"
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

/* What reads records of sessions after their end: see base/retire.h. */
struct engine_records {
	void (*mark)(void *arg);    /* NULL: none are read */
	bool (*is_read)(void *arg); /* if not, engine_take_news() is called once they are */
	void *arg;
};

/* Why all sessions of a server, or of a frontend or backend that was removed, must end. IDLE: each of those
 * that `drain` allows, once it is idle. */
enum engine_end {
	ENGINE_END_DOWN,
	ENGINE_END_KILLED,
	ENGINE_END_REMOVED,
	ENGINE_END_IDLE,
	ENGINE_END_COUNT,
};

/* How many times they had to. Never reset: workers remember what they handled. */
struct engine_ends {
	_Atomic uint32_t times[ENGINE_END_COUNT];
};

/* What can be changed at run time. */
enum engine_mark {
#define ENGINE_MARK(name, word) ENGINE_MARK_##name,
#include "weir/engine/engine_marks.tbl.h"
#undef ENGINE_MARK
	ENGINE_MARKS
};

/* How far engine_drain() has come. */
enum engine_drain_step {
	DRAIN_NONE,
	DRAIN_ENDPOINTS, /* they leave, and workers serve who still comes */
	DRAIN_WORKERS,	 /* these end with their last sessions */
};

struct engine {
	const struct config *config; /* borrows */
	struct live live;
	struct backend **backends; /* owns each, and the array; in the order of the configuration */
	size_t backend_count;
	size_t backend_room; /* of the array */
	struct entries entries;
	struct chunks ends; /* struct engine_ends, by the slot of the server, frontend or backend */
	struct chunks kept; /* struct tally_sum of servers that have left, by the slot of their backend */
	struct engine_limits limits; /* as set last; for control */
	unsigned maxconn_set; /* at run time, instead of a higher one in `limits`; 0 = none. Control */
	struct mark marks[ENGINE_MARKS]; /* of what differs from the file; control */
	uint64_t borrowed_bytes;     /* that drivers borrow of the buffers, on top of their budget */
	struct engine_settings settings;
	struct pipe_pool pipes;
	struct buf_pool bufs;
	struct worker **workers; /* owns */
	unsigned worker_count;
	_Alignas(64) atomic_int sessions; /* of the process; a slot is reserved before each accept */
	struct paused paused; /* listeners that wait because the process is at maxconn */
	struct rate rate;     /* of engine_set_process_rate(); its limit is that of `settings` */
	struct paused rate_paused; /* listeners that wait because of it */
	_Atomic int workers_ready;
	_Atomic int workers_done;
	_Atomic int workers_deaf; /* have left all listeners; after the last, control closes these */
	_Atomic uint64_t round;	  /* of retirement; each worker holds the one it passed in `passed` */
	_Atomic uint32_t ping; /* the current round; each worker holds its answer in `pong` */
	_Atomic uint32_t turn_watch; /* the number of the watch of engine_watch_turns(); 0 = none */
	uint32_t last_turn_watch;    /* the same, also when it is over; control */
	_Atomic uint64_t rates_since; /* seconds up to this one do not count for a maximum rate: tallies.h */
	_Atomic int histograms;	      /* enum histograms_kept, see histograms.h; control sets it */
	_Atomic uint32_t look_round; /* source_wait.c: the latest round that was drawn */
	struct counters control; /* control's own counts; its thread is the writer */
	/* Notifies control that there is something to see: records, an answered inquiry, a worker that is
	 * ready or done. Called from workers; must not block. */
	void (*notify)(void *arg);
	void *notify_arg;
	enum engine_drain_step drain; /* engine_drain() */
	int64_t drain_until_ns;	      /* while endpoints leave: when workers are told at the latest */
	atomic_bool sessions_watched; /* control is watching by itself */
	atomic_bool is_accept_paused; /* engine_pause_accept() */
	struct egress_desk egress;     /* questions about names that clients ask for */
	struct engine_records records; /* control sets it before engine_start() */
};

/* Builds frontends, backends and endpoints, which are not bound yet. 0 or -ENOMEM. */
int engine_init(struct engine *e, const struct config *c, void (*notify)(void *), void *arg);
/* Backends that were prepared (balance/live_change.h) will be the engine's: makes room for `more` of them. 0
 * or -ENOMEM; nothing is to be undone. */
int engine_prepare_backend(struct engine *e, size_t more);
/* It is now, as the last one; after backend_commit_add(). */
void engine_add_backend(struct engine *e, struct backend *b);
/* It is no longer; before backend_remove(). Frontends, which must not lead there any more, go through
 * e->entries. */
void engine_drop_backend(struct engine *e, struct backend *b);
/* Creates the pools and the worker threads. 0, or -errno with no thread left running. If worker_count is then
 * 0, for example because a driver cannot be opened that many times, no worker has listened and this may be
 * called again. Once every worker listens, workers_ready equals worker_count. */
int engine_start(struct engine *e, const struct engine_limits *limits, unsigned workers,
		 const struct io_driver *driver);
/* All endpoints leave, as entries_leave_all() describes: clients already queued are taken, and so is each
 * whose handshake is in flight. Once all have left, each worker ends with its last session. Nothing happens
 * the second time. engine_wake() goes on with it. `now_ns` is the monotonic clock. */
void engine_drain(struct engine *e, int64_t now_ns);
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

/* From now on each worker measures the CPU time of every turn of its loop, until this is called with false.
 * The turn that is under way is not measured. */
void engine_watch_turns(struct engine *e, bool watch);
/* The longest turn of any worker since the last watch began, in ns of its thread's CPU clock. */
uint64_t engine_longest_turn_ns(const struct engine *e);

/* Asks each worker to end its sessions with `s` (reason SERVER_DOWN), a few per turn of its loop; a session
 * that is still connecting tries another server. Never lost, however much mail a worker has: see evict.h. */
void engine_close_sessions(struct engine *e, struct server *s);
/* The same on the administrator's order (reason KILLED): all of them end. (Those of what is removed end by
 * themselves, if `on-removed` says so.) */
void engine_kill_sessions(struct engine *e, struct server *s);

/* Goes on with what workers have brought forward: frees what has left, and closes the endpoints once all
 * workers have left them, so that new clients are refused while the remaining sessions go on. Call when
 * notified. */
void engine_take_news(struct engine *e);
/* The same, and endpoints whose time has come leave. Returns when to call it again, at the latest, or
 * CLOCK_NEVER. `now_ns` is the monotonic clock. */
int64_t engine_wake(struct engine *e, int64_t now_ns);

/* The last failures that a worker met. Read them with failure_get(). */
const struct failure_ring *engine_failures(const struct engine *e, unsigned worker, enum failure_group group);
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

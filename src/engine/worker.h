/* SPDX-License-Identifier: MIT
 *
 * worker.h - one thread, one loop, one core, and all that they own.
 *
 * Only a worker's own thread touches its data, except for: mailbox, `asked`, `tray` and `grants` (spinlocks),
 * counters, closes, tallies, histograms, counts and failures (one writer), log ring, `load`, `looked`,
 * `passed`, `pong`, `has_source_waits`, `timer_lag_max_ns`, `busy_ns` (atomics) and the listeners' `waiting`
 * (a spinlock). doc/architecture.md, "Threads", has the reason why each is safe.
 */
#ifndef WEIR_ENGINE_WORKER_H
#define WEIR_ENGINE_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "weir/account/close_reason.h"
#include "weir/account/failure.h"
#include "weir/account/limited_by.h"
#include "weir/base/counters.h"
#include "weir/base/list.h"
#include "weir/base/recent.h"
#include "weir/engine/engine.h"
#include "weir/engine/inquiry.h"
#include "weir/engine/tallies.h"
#include "weir/io/io.h"
#include "evict.h"
#include "listener.h"
#include "mailbox.h"
#include "rounds.h"
#include "session_slab.h"

/* A value of `pong`: the worker has no loop any more, which does not count as silence. */
#define WORKER_ENDED UINT32_MAX

struct worker {
	struct io_loop loop;
	struct engine *engine; /* borrows */
	unsigned index;
	int cpu; /* -1 = not pinned */
	pthread_t thread;
	struct list live;    /* sessions that are not closing */
	struct list closing; /* sessions to look at when the turn ends */
	struct list awaiting_ops; /* closing sessions that still have pending ops */
	struct slab slab;
	struct slab extras; /* of session_extra, for sessions that need one */
	struct slab questions; /* of egress_question, about names that clients ask for */
	struct egress_tray tray; /* those that were answered */
	struct slab ported; /* of ported_addr, for connects to servers with the client's port */
	struct queue_grants grants; /* sessions here that were given a place */
	struct list source_waits;   /* sessions here that wait for another of their source to end */
	struct chunks listeners;    /* struct listener, by the slot of the endpoint */
	struct chunks counts;       /* counted_entry, by the slot of settings: sessions here that use them */
	struct chunks pickers;      /* struct picker, by the slot of the backend */
	struct chunks marks;        /* struct pick_mark, by the slot of the server */
	struct chunks tallies;      /* struct tally, by the slot of the frontend, backend or server */
	struct chunks histograms;   /* struct histogram_set *, like tallies: histograms.h */
	struct chunks evictions;    /* struct eviction, by the slot of the server */
	struct evict_walk evict_walk;
	uint8_t sum_mark : 2; /* tallies.h: the last walk that adds up, 1 and 2 in turn; 0 = none */
	struct timer age;     /* give_back.c; set only while something is unused */
	struct timer baton;         /* after a resume: wakes the next paused listener, if room is left */
	struct log_ring *log;       /* owns */
	struct chunks line_limits;  /* struct log_limit, like tallies: for log lines about one server, or
				     * about clients that one frontend kept out */
	struct log_limit shortage_limit;
	int64_t told_ns; /* when control was notified that the pools hold something unused */
	int64_t many_told_ns; /* the same, about many sessions */
	uint32_t next_number;
	uint32_t sessions;
	unsigned source_wait_count; /* in source_waits */
	unsigned look_turns;        /* source_wait.c: turns left of a look for sessions that are ending */
	uint32_t look_round;        /* the round that this look answers */
	bool look_again;            /* another look was requested meanwhile */
	uint64_t round;         /* rounds.c: the round to pass, 0 = none */
	uint64_t forgot;        /* the round for which it last cleared what has left */
	uint32_t round_letters; /* the letters to be read before that */
	unsigned leaving; /* listeners that have not left yet */
	bool draining;
	bool stopping;
	bool deaf; /* has left all listeners */
	bool finished;
	bool spawned; /* for control: it has a thread */
	struct mailbox mailbox;
	struct inquiry_list asked;
	/* Sessions here or on their way here: placement compares these. */
	_Alignas(64) atomic_int load;
	_Atomic uint32_t pong; /* the last engine_ping() round that was answered */
	_Atomic uint32_t turn_watch;	  /* the watch that longest_turn_ns belongs to */
	_Atomic uint64_t longest_turn_ns; /* see engine_watch_turns() */
	_Atomic uint32_t looked; /* the last look_round that it has completed */
	_Atomic uint64_t passed; /* the last round of retirement that it passed; rounds.h */
	atomic_bool has_source_waits;
	_Alignas(64) struct counters counters;
	_Atomic uint64_t closes[CLOSE_REASONS]; /* how sessions, and clients turned away, ended here */
	struct recent closes_lately[CLOSE_REASONS]; /* the same, in the last minute */
	struct recent limits_lately[LIMITS];        /* who slowed down those that ended in it */
	_Atomic uint64_t timer_lag_max_ns;
	_Atomic uint64_t busy_ns; /* the CPU time of its thread, once that has ended */
	struct failure_ring failures[FAILURE_GROUPS]; /* failing.h */
};

/* Makes a worker with its loop but without its thread; it does not listen yet. NULL on failure with `*err`
 * -errno, and nothing has changed. */
struct worker *worker_make(struct engine *e, unsigned index, const struct io_driver *driver, int *err);
/* Its listeners start to accept. 0, or -errno: some have started, so signal it to stop and run it out. */
int worker_listen(struct worker *w);
/* How many pipes each worker may keep for itself, from the limits of the engine. Control thread. */
uint32_t worker_own_pipes(const struct engine *e);
/* Both of these, for tests, which turn the worker themselves. NULL on failure with `*err` -errno. */
struct worker *worker_new(struct engine *e, unsigned index, const struct io_driver *driver, int *err);
/* One turn: wait, dispatch, reap, publish. */
void worker_turn(struct worker *w);
/* Turns a worker until it has ended. It must have been told to stop, and have no thread. */
void worker_run_out(struct worker *w);
/* Frees a worker whose sessions have all ended. */
void worker_free(struct worker *w);
/* Starts the thread, which ends by itself when the worker is finished. 0 or -errno. */
int worker_spawn(struct worker *w);

/* lost.c, as io_loop.lost: ends all sessions of the worker, both sides with RST, as it is unknown which bytes
 * are missing; its listeners go on. */
void worker_lost(struct io_loop *loop);

/* Clears what the worker `arg` keeps under the slot of an object that has left; for struct live. The worker's
 * thread, or control once it has ended. */
void worker_forget(void *arg, uint32_t slot);

/* To all workers. Control thread. */
void engine_signal_all(struct engine *e, enum mail_signal signal);

/* The listener of this worker at the endpoint with this slot; one whose `worker` is NULL is none. */
static inline struct listener *worker_listener(const struct worker *w, uint32_t slot)
{
	return chunks_at(&w->listeners, slot);
}

/* The worker that owns this loop. */
static inline struct worker *worker_of_loop(struct io_loop *loop)
{
	return container_of(loop, struct worker, loop);
}

/* Every worker looks again at what it is paused for, and begins a cycle if one is due. Control. */
void worker_resume_all(struct engine *e);

#endif

/* SPDX-License-Identifier: MIT
 *
 * queue.h - who waits for a place at a server: first come, first served, across workers.
 *
 * A backend has one queue for any of its servers and one for each server; a free place goes to whoever came
 * first of both (HAProxy's process_srv_queue()). Who has just failed at a server waits for any but that one,
 * until it has answered somebody, or has left the roster, or is the only one. A place that is given is
 * already taken (server_enter()) when the worker hears of it. Nothing here is touched unless somebody waits,
 * but for one load when a place is given back. Free of sockets. Any thread.
 */
#ifndef WEIR_BALANCE_QUEUE_H
#define WEIR_BALANCE_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/base/list.h"
#include "weir/base/spinlock.h"

struct backend;
struct server;

/* Where a worker finds those of its waiters that were given a place. */
struct queue_grants {
	struct spinlock lock;
	struct list waiters;      /* struct waiter, WAITER_GRANTED; under the lock */
	void (*wake)(void *arg);  /* called after a grant, without a lock; any thread */
	void *arg;
};

enum waiter_state { WAITER_NONE, WAITER_QUEUED, WAITER_GRANTED };

/* One client that waits; in the memory of its session. */
struct waiter {
	struct list link;
	struct queue_grants *grants; /* borrows: of its worker */
	struct backend *backend;     /* borrows; NULL = does not wait: the worker's own to read */
	struct server *server;       /* waits for this one, or NULL = any; granted: has a place at it */
	const struct server *avoid;  /* waits for any but this one; NULL = for any indeed */
	uint64_t number;             /* order of arrival in the backend */
	uint32_t before;             /* how many waited there when it came (HAProxy's sq, or bq) */
	enum waiter_state state;     /* under the backend's lock, or the worker's own once granted */
};

/* Who waits for any server but a certain one. */
struct queue_avoiders {
	struct list waiters;
	struct list link; /* among those that are not empty */
};

struct queue {
	_Alignas(64) struct spinlock lock; /* of all below, and of the waiters in it */
	struct list any;                   /* who waits for any server */
	struct list *of_server;            /* owns; one a server */
	struct queue_avoiders *avoiders;   /* owns; one a server */
	struct list avoided;               /* struct queue_avoiders that are not empty */
	unsigned chosen;                   /* servers of the roster */
	uint64_t next_number;
	_Alignas(64) atomic_int waiting; /* in all lists; read without the lock */
	atomic_int waiting_any; /* those with something to avoid included */
	atomic_int avoiding;
	atomic_int waiting_max;
};

/* 0 or -ENOMEM. Control thread. */
int queue_init(struct queue *q, size_t servers);
void queue_free(struct queue *q); /* nobody waits */
void queue_grants_init(struct queue_grants *g, void (*wake)(void *arg), void *arg);

/* Lets `w` wait for `server`, or for any when it is NULL or may not be chosen any more: then for any but
 * w->avoid, which the caller has set, if its last connect failed and it may be chosen. -EBUSY when the
 * server's queue, or all queues of the backend together, have their maxqueue. It may be granted before this
 * returns. Worker thread. */
int queue_enter(struct backend *b, struct waiter *w, struct server *server, struct queue_grants *g);
/* Takes `w` out again; a place that it was given meanwhile is given back, to the next who waits. Harmless
 * when it does not wait. Worker thread. */
void queue_leave(struct waiter *w);
/* The oldest waiter of this worker that was given a place, NULL when there is none; it is out of all lists.
 * Worker thread. */
struct waiter *queue_take_granted(struct queue_grants *g);
/* Gives free places of `s` to those who wait, unless it may not be chosen. Any thread. */
void queue_serve(struct server *s);
/* `s` has answered: who avoided it does so no more. Any thread. */
void queue_forgive(struct server *s);
/* Servers have changed: who waited for one that is not in the roster, or avoided it, waits for any, and each
 * server is served. Control thread. */
void queue_rearrange(struct backend *b);
/* Is somebody waiting for any server? A newcomer goes behind them. Any thread. */
bool queue_is_waiting(const struct backend *b);

#endif

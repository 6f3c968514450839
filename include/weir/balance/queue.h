/* SPDX-License-Identifier: MIT
 *
 * queue.h - clients waiting for a place at a server: first come, first served, across workers.
 *
 * A backend has one queue for any of its servers and one in each server; a free place goes to the client that
 * came first in either (HAProxy's process_srv_queue()). A client whose connect to a server has just failed
 * waits for any other server, until that server has answered a client or a health check, has left the roster,
 * or is the only one. A granted place is already taken (server_enter()) when the worker is notified. While
 * nobody waits, this costs only one load when a place is released. Uses no sockets. Any thread.
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

/* Where a worker finds those of its waiters that were granted a place. */
struct queue_grants {
	struct spinlock lock;
	struct list waiters;      /* struct waiter, WAITER_GRANTED; under the lock */
	void (*wake)(void *arg);  /* called after a grant, without a lock; any thread */
	void *arg;
};

enum waiter_state { WAITER_NONE, WAITER_QUEUED, WAITER_GRANTED };

/* One waiting client; part of its session's memory. */
struct waiter {
	struct list link;
	struct queue_grants *grants; /* borrows: of its worker */
	struct backend *backend;     /* borrows; NULL = not waiting; only the worker reads it */
	/* Waits for this one, NULL = any. Once granted: has a place at it; NULL = has none, as the backend
	 * has lost its last server: the client goes to the fallback. */
	struct server *server;
	struct server *avoid;        /* waits for any server but this one; NULL = no exception */
	uint64_t number;             /* order of arrival in the backend */
	uint32_t before;             /* clients queued there when it arrived (HAProxy's sq, or bq) */
	bool at_server;              /* `before` counts the clients that waited for the same server */
	bool stuck;                  /* keeps its server (sticky.h): waits for it even if it is drained */
	bool stays;                  /* goes to no other backend: it has tried a server of this one */
	enum waiter_state state;     /* under the backend's lock; once granted, private to the worker */
};

/* Clients that wait for any server but a certain one. */
struct queue_avoiders {
	struct list waiters;
	struct list link; /* in `avoided` while not empty */
};

struct queue {
	_Alignas(64) struct spinlock lock; /* protects everything below and the waiters in it */
	struct list any;                   /* waits for any server */
	struct list avoided;               /* struct queue_avoiders that are not empty */
	unsigned in_roster;                /* servers in the roster */
	uint64_t next_number;
	_Alignas(64) atomic_int waiting; /* in all lists; read without the lock */
	atomic_int waiting_any; /* including those that avoid a server */
	atomic_int avoiding;
	atomic_int waiting_max;
};

void queue_init(struct queue *q);
/* The part of a server that belongs to the queue. */
void queue_init_server(struct server *s);
void queue_grants_init(struct queue_grants *g, void (*wake)(void *arg), void *arg);

/* Queues `w` for `server`, or for any server if that is NULL or may no longer be chosen; with w->stuck, which
 * the caller has set, also for one that is drained. A client that waits for any server does not get
 * w->avoid, which the caller has set, if its last connect failed and it may be chosen. -EBUSY when the
 * server's queue, or all queues of the backend together, have reached maxqueue. -EHOSTDOWN when it does not
 * wait here, because the backend has no server but a fallback. w->stays, which the caller has set, rules that
 * out. The place may be granted before this returns. Worker thread. */
int queue_enter(struct backend *b, struct waiter *w, struct server *server, struct queue_grants *g);
/* Removes `w`; a place granted meanwhile is released to the next waiting client. Harmless when `w` is not
 * waiting. Returns the server whose place was released, NULL = none. Worker thread. */
struct server *queue_leave(struct waiter *w);
/* The oldest waiter of this worker that was granted a place, removed from all lists; NULL when there is none.
 * Worker thread. */
struct waiter *queue_take_granted(struct queue_grants *g);
/* Grants free places of `s` to waiting clients, unless it may not be chosen. Any thread. */
void queue_serve(struct server *s);
/* Call when `s` has answered: clients no longer avoid it. Any thread. */
void queue_forgive(struct server *s);
/* Call when servers have changed: clients that wait for, or avoid, a server that is not in the roster now
 * wait for any server. Then all servers are served. Without any, but with a fallback, clients that do not
 * stay are granted no server, and go there. Control thread. */
void queue_rearrange(struct backend *b);
/* Call when `s` leaves for good: clients that wait for it, or avoid it, wait for any server. Control
 * thread. */
void queue_drop_server(struct server *s);
/* Are clients waiting for any server? A new client goes behind them. Any thread. */
bool queue_is_waiting(const struct backend *b);
/* May one more client wait for `s`, NULL = for any server? Any thread. */
bool queue_has_room(const struct backend *b, const struct server *s);

#endif

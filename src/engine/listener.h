/* SPDX-License-Identifier: MIT
 *
 * listener.h - a worker's side of one bound address: accepts, places, pauses.
 *
 * The endpoint owns the descriptor, which all workers share. A worker's thread, except for `waiting`,
 * which is under the lock of its list.
 */
#ifndef WEIR_ENGINE_LISTENER_H
#define WEIR_ENGINE_LISTENER_H

#include <stdbool.h>

#include "weir/base/log.h"
#include "weir/entry/paused.h"
#include "weir/io/io.h"
#include "slots.h"

struct engine;
struct endpoint;
struct frontend;
struct worker;

enum listener_state {
	LISTENER_ON,
	LISTENER_LIMITED, /* paused: a limit is reached, or memory is short; clients wait in the backlog */
	LISTENER_BACKOFF, /* paused: accept failed for lack of descriptors or memory; a timer resumes */
	LISTENER_OFF,     /* for good: draining, or no memory for the timer of a pause */
};

struct listener {
	struct io_sock sock; /* borrows the endpoint's descriptor */
	struct io_op accept;
	struct timer pause; /* set while it is paused for a rate or after a failure */
	struct worker *worker;     /* borrows; NULL = none at this slot */
	struct endpoint *endpoint; /* borrows */
	struct frontend *frontend; /* borrows: that of the endpoint */
	enum listener_state state;
	bool leaving;          /* its endpoint leaves */
	bool given;            /* and another one has the socket: who is queued is for that one */
	bool reserved;         /* a slot was taken and no client has come for it yet */
	bool rated;            /* a place of rate-limit was taken with it: there was a limit then */
	bool process_rated;    /* the same of the process's rate */
	enum listener_limit paused_for;
	struct paused_one waiting; /* while it is paused for a limit that others free */
	struct log_limit log;
};

/* MAIL_ENDPOINTS: endpoints have come, or have another order. */
void listeners_follow(struct worker *w);
/* The end of a turn in which some are leaving: those that have left are gone, or start again if they shall
 * stay after all. */
void listeners_clear(struct worker *w);

/* All listeners of a worker. */
#define listeners_foreach(w, l)                                                                              \
	for (struct listener *l = listener_first(w); (l) != NULL; (l) = listener_next(l))
struct listener *listener_first(const struct worker *w);
struct listener *listener_next(const struct listener *l);

void listener_init(struct listener *l, struct worker *w, struct endpoint *ep);
/* Starts to accept. 0 or -errno. */
int listener_start(struct listener *l);
/* Maxconn or rate-limit may have room again, or memory may no longer be short. */
void listener_resume(struct listener *l);
/* If maxconn or rate-limit has room, wakes the next listener that is paused for it. */
void listener_pass_on(struct listener *l);
/* Takes the clients already queued, unless it is `given`, then never accepts again. */
void listener_stop(struct listener *l);
/* True when neither an op of it is pending nor its timer is set. */
bool listener_is_idle(const struct listener *l);

#endif

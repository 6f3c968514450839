/* SPDX-License-Identifier: MIT
 *
 * listener.h - a worker's place at one bound address: accepts, places, rests, pauses.
 *
 * The descriptor is the endpoint's and shared by all workers. A worker's thread, but for
 * `resting`, which releasers on other workers read.
 */
#ifndef WEIR_ENGINE_LISTENER_H
#define WEIR_ENGINE_LISTENER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "weir/base/log.h"
#include "weir/io/io.h"
#include "slots.h"

struct engine;
struct endpoint;
struct frontend;
struct worker;

enum listener_state {
	LISTENER_ON,
	LISTENER_RESTING, /* a limit is reached, or memory is short: the kernel's backlog holds the clients */
	LISTENER_PAUSED,  /* accept failed for want of descriptors or memory: a timer resumes */
	LISTENER_OFF,     /* draining: for good */
};

struct listener {
	struct io_sock sock; /* borrows the endpoint's descriptor */
	struct io_op accept;
	struct timer pause; /* set while it is paused, or rests for LIMIT_RATE */
	struct worker *worker;     /* borrows */
	struct endpoint *endpoint; /* borrows */
	enum listener_state state;
	bool reserved;      /* a slot was taken and no client has come for it yet */
	atomic_int resting; /* enum listener_limit; 0 = does not rest */
	struct log_limit log;
};

void listener_init(struct listener *l, struct worker *w, struct endpoint *ep);
/* Begins to accept. 0 or -errno. */
int listener_start(struct listener *l);
/* Maxconn or rate-limit may have room again, or memory may be short no longer. */
void listener_resume(struct listener *l);
/* If maxconn or rate-limit has room, wakes the next listener that rests for want of it. */
void listener_pass_on(struct listener *l);
/* Takes who waits already, then never accepts again. */
void listener_stop(struct listener *l);
/* Is an op of it still pending? */
bool listener_is_idle(const struct listener *l);

#endif

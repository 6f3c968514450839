/* SPDX-License-Identifier: MIT
 *
 * listener.h - a worker's place at one bound address: accepts, places, pauses.
 *
 * The descriptor is the endpoint's and shared by all workers. A worker's thread, but for
 * `paused_for`, which releasers on other workers read.
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
	LISTENER_LIMITED, /* paused: a limit is reached, or memory is short; clients wait in the backlog */
	LISTENER_PAUSED,  /* paused: accept failed for want of descriptors or memory; a timer resumes */
	LISTENER_OFF,     /* draining: for good */
};

struct listener {
	struct io_sock sock; /* borrows the endpoint's descriptor */
	struct io_op accept;
	struct timer pause; /* set while it is paused for LIMIT_RATE or for a failure */
	struct worker *worker;     /* borrows */
	struct endpoint *endpoint; /* borrows */
	enum listener_state state;
	bool reserved;         /* a slot was taken and no client has come for it yet */
	atomic_int paused_for; /* enum listener_limit; 0 = none of them */
	struct log_limit log;
};

void listener_init(struct listener *l, struct worker *w, struct endpoint *ep);
/* Begins to accept. 0 or -errno. */
int listener_start(struct listener *l);
/* Maxconn or rate-limit may have room again, or memory may be short no longer. */
void listener_resume(struct listener *l);
/* If maxconn or rate-limit has room, wakes the next listener that is paused for want of it. */
void listener_pass_on(struct listener *l);
/* Takes who waits already, then never accepts again. */
void listener_stop(struct listener *l);
/* Is an op of it still pending? */
bool listener_is_idle(const struct listener *l);

#endif

/* SPDX-License-Identifier: MIT
 *
 * slots.h - the reservations of maxconn: one per session, taken before accept.
 *
 * A listener takes one; the session owns it from its start to its end. A listener that waits for one to be
 * given back is paused. Any worker's thread.
 */
#ifndef WEIR_ENGINE_SLOTS_H
#define WEIR_ENGINE_SLOTS_H

#include <stdint.h>

struct engine;
struct frontend;

/* Why a listener is paused: which count has to fall, or that it waits for time to pass or for memory, which
 * control watches. */
enum listener_limit {
	LIMIT_NONE,
	LIMIT_FRONTEND,
	LIMIT_PROCESS,
	LIMIT_RATE,	    /* of the frontend */
	LIMIT_PROCESS_RATE, /* engine_set_process_rate() */
	LIMIT_MEMORY,
};

/* Takes one of the process and one of the frontend. LIMIT_NONE, or the limit that is reached. */
enum listener_limit slots_take(struct engine *e, struct frontend *fe);
/* Takes one whether there is room or not. */
void slots_force(struct engine *e, struct frontend *fe);
/* Gives back one session's reservation, and wakes a listener that is paused for lack of one. */
void slots_release(struct engine *e, struct frontend *fe);
/* A client accepted at `since_ns` is not let in: gives back its place of rate-limit, if it has one, and wakes
 * a listener that is paused for lack of one. */
void slots_release_rate(struct frontend *fe, int64_t since_ns);

#endif

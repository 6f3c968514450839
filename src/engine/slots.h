/* SPDX-License-Identifier: MIT
 *
 * slots.h - the reservations of maxconn: one for each session, taken before accept.
 *
 * A listener takes one; from the session's start to its end it is the session's own. Who waits for one to be
 * given back is a listener that is paused. Any worker's thread.
 */
#ifndef WEIR_ENGINE_SLOTS_H
#define WEIR_ENGINE_SLOTS_H

#include <stdint.h>

struct engine;
struct frontend;

/* Why a listener is paused: which count has to fall, that time has to pass, or what control waits for. */
enum listener_limit { LIMIT_NONE, LIMIT_FRONTEND, LIMIT_PROCESS, LIMIT_RATE, LIMIT_MEMORY };

/* Takes one of the process and of the frontend. LIMIT_NONE, or which of the two has none. */
enum listener_limit slots_take(struct engine *e, struct frontend *fe);
/* Takes one whether there is room or not. */
void slots_force(struct engine *e, struct frontend *fe);
/* Gives back one session's reservation, and wakes who is paused for want of it. */
void slots_release(struct engine *e, struct frontend *fe);
/* A client that was accepted at `since_ns` is not let in: gives its place of rate-limit back, if it has one,
 * and wakes a listener that is paused for want of it. */
void slots_release_rate(struct engine *e, struct frontend *fe, int64_t since_ns);
/* Wakes one listener that is paused for `why`: of `fe`, or of any frontend when it is NULL. */
void slots_wake(struct engine *e, const struct frontend *fe, enum listener_limit why);

#endif

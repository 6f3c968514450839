/* SPDX-License-Identifier: MIT
 *
 * fallback.h - a session leaves a backend that has no server for the fallback-backend.
 *
 * A worker's thread.
 */
#ifndef WEIR_ENGINE_FALLBACK_H
#define WEIR_ENGINE_FALLBACK_H

#include <stdbool.h>

struct session;

/* Moves the session on along the chain of its backend, with its counts, if that has no server and the session
 * has tried none: to the first backend that has one, or else to the last. It must not wait in a queue. True:
 * it is to choose a server, in whichever backend it is now. False: nothing is behind its backend, or it has
 * tried a server there. */
bool fallback_follow(struct session *s);

#endif

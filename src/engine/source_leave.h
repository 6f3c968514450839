/* SPDX-License-Identifier: MIT
 *
 * source_leave.h - a session leaves its source: first it announces that, then its place is free.
 *
 * Both functions do nothing for a session that maxconn-per-source does not count. A worker's thread.
 */
#ifndef WEIR_ENGINE_SOURCE_LEAVE_H
#define WEIR_ENGINE_SOURCE_LEAVE_H

#include <stdbool.h>

struct session;

/* The client has ended its side, a side was reset, or the session closes: a session of its source is about to
 * leave. Does nothing after the first time. */
void source_leave_soon(struct session *s);
/* The session has ended: its source counts one less. True when another session was given its place there, and
 * with it its reservations of maxconn. */
bool source_leave(struct session *s);

#endif

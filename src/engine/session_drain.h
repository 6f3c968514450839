/* SPDX-License-Identifier: MIT
 *
 * session_drain.h - `drain = idle`: a session ends once it is idle, because something that it uses leaves.
 *
 * A worker's thread.
 */
#ifndef WEIR_ENGINE_SESSION_DRAIN_H
#define WEIR_ENGINE_SESSION_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

struct session;

/* Something that the session may use drains: if so, and its backend is configured for it, the session ends
 * once it is idle. It may be closing afterwards, for want of memory. */
void session_drain(struct session *s);
/* When a session with `drains` is to be looked at next; CLOCK_NEVER = not while it is as it is. */
int64_t session_drain_look(const struct session *s);
/* The timer of a session with `drains` fired: ends it if it is idle. True when it was ended. */
bool session_drain_fired(struct session *s);

#endif

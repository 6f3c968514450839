/* SPDX-License-Identifier: MIT
 *
 * session_end.h - a session loses a side, closes, and is freed.
 *
 * A worker's thread.
 */
#ifndef WEIR_ENGINE_SESSION_END_H
#define WEIR_ENGINE_SESSION_END_H

#include <stdbool.h>

#include "session.h"


/* Ends it: both sides are closed as `s->ends` says by then, RST where nothing else was set. */
void session_close(struct session *s, enum close_reason reason);
/* RST, EPIPE, a time-out of the kernel: `err` (negative errno) was seen on a side. What that side
 * sent before is still delivered; what was bound for it is dropped. */
void session_side_failed(struct session *s, enum side_name side, int err);
/* Flow callbacks: the source ended with FIN; FIN was passed on; all from a reset side was written. */
void session_flow_ended(struct session *s, const struct flow *f);
void session_flow_done(struct session *s, struct flow *f);
void session_flow_delivered(struct session *s);
/* For the worker that stops, and for the timer: a closing session waits for no acknowledgements. */
void session_hurry(struct session *s);
/* For the worker, at the end of a turn: moves the close on; true when the session was freed. */
bool session_reap(struct session *s);
/* The server slot of this session is given back. */
void session_leave_server(struct session *s);

#endif

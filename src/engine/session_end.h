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

/* Begins the close. At the end of the turn the sockets are closed as `s->ends` says by then (a reset that
 * delivers waits for the acknowledgements first): a reset of both sides, or FIN for CLOSE_NORMAL; a caller
 * that wants another end sets `s->ends` after this call. */
void session_close(struct session *s, enum close_reason reason);
/* `err` (negative errno) was seen on a side: RST, EPIPE or a timeout of the kernel. What that side sent
 * before is still delivered; what was bound for it is dropped. */
void session_side_failed(struct session *s, enum side_name side, int err);
/* Flow callbacks: the source ended with FIN; FIN was passed on; everything from a reset side was written. */
void session_flow_ended(struct session *s, const struct flow *f);
void session_flow_done(struct session *s, struct flow *f);
void session_flow_delivered(struct session *s);
/* For a worker that stops, and for the timer: a closing session waits for acknowledgements no more. */
void session_hurry(struct session *s);
/* For the worker, at the end of a turn: continues the close; true when the session was freed. */
bool session_reap(struct session *s);
/* Gives back the session's place at its server, if it has one. */
void session_leave_server(struct session *s);

#endif

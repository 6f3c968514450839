/* SPDX-License-Identifier: MIT
 *
 * session_deadline.h - how long a session may go on as it is.
 *
 * A worker's thread.
 */
#ifndef WEIR_ENGINE_SESSION_DEADLINE_H
#define WEIR_ENGINE_SESSION_DEADLINE_H

#include <stdint.h>

#include "weir/account/close_reason.h"

struct session;

/* The next deadline, CLOCK_NEVER = none, and the reason for the session's end if nothing happens until
 * then. */
int64_t session_deadline(const struct session *s, enum close_reason *why);
/* When timeout-half-closed expires, counted from now. */
int64_t session_half_closed_end(const struct session *s);
/* Sets the timer to the session's next deadline. */
void session_rearm(struct session *s);

#endif

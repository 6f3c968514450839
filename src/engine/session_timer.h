/* SPDX-License-Identifier: MIT
 *
 * session_timer.h - the timer of a session has fired.
 *
 * A worker's thread.
 */
#ifndef WEIR_ENGINE_SESSION_TIMER_H
#define WEIR_ENGINE_SESSION_TIMER_H

struct timer;

/* The callback of session.timer: ends the session, lets its phase continue, or waits again. */
void session_timer_fired(struct timer *t);

#endif

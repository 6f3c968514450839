/* SPDX-License-Identifier: MIT
 *
 * session_begin.h - an accepted descriptor becomes a session.
 *
 * A worker's thread.
 */
#ifndef WEIR_ENGINE_SESSION_BEGIN_H
#define WEIR_ENGINE_SESSION_BEGIN_H

struct letter;
struct worker;

/* Begins a session for the accepted descriptor of `l`, whose ownership it takes, even on failure. From now on
 * the session owns the reservations of its frontend and of the process. */
void session_start(struct worker *w, const struct letter *l);

#endif

/* SPDX-License-Identifier: MIT
 *
 * session_begin.h - an accepted descriptor becomes a session.
 *
 * A worker's thread.
 */
#ifndef WEIR_ENGINE_SESSION_BEGIN_H
#define WEIR_ENGINE_SESSION_BEGIN_H

struct addr_brief;
struct endpoint;
struct worker;

/* Begins a session for an accepted descriptor, whose ownership it takes, even on failure. From now on the
 * session owns the reservations of its frontend and of the process. */
void session_start(struct worker *w, struct endpoint *ep, int fd, const struct addr_brief *client);

#endif

/* SPDX-License-Identifier: MIT
 *
 * session_begin.h - an accepted descriptor becomes a session.
 *
 * A worker's thread.
 */
#ifndef WEIR_ENGINE_SESSION_BEGIN_H
#define WEIR_ENGINE_SESSION_BEGIN_H

struct addr_brief;
struct endpoint_settings;
struct worker;

/* Begins a session for an accepted descriptor, whose ownership it takes, even on failure. From now on the
 * session owns the reservations of its frontend and of the process. `judged`: the settings by which its
 * listener has judged it. */
void session_start(struct worker *w, struct endpoint_settings *judged, int fd,
		   const struct addr_brief *client);

#endif

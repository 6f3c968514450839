/* SPDX-License-Identifier: MIT
 *
 * choice.h - which server a session goes to now, and what becomes of it when there is none.
 *
 * A worker's thread.
 */
#ifndef WEIR_ENGINE_CHOICE_H
#define WEIR_ENGINE_CHOICE_H

struct server;
struct session;

/* A place at a server, which is the session's from now on (server_leave()); not at `avoid` unless it is the
 * only one, NULL = any. NULL: the session waits for a place, or is closing as `no-server` wants it. */
struct server *choice_take(struct session *s, const struct server *avoid);
/* The same at the server that the session was at last, and at no other. */
struct server *choice_take_again(struct session *s);

#endif

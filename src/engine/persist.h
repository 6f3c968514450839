/* SPDX-License-Identifier: MIT
 *
 * persist.h - the server that a client wants to come back to. A worker's thread.
 */
#ifndef WEIR_ENGINE_PERSIST_H
#define WEIR_ENGINE_PERSIST_H

#include <stdbool.h>

struct server;
struct session;

/* The server of the session's backend that its client has named (sniff.c), if the backend has `persist` and
 * the server takes clients back: roster_find_home(). NULL = none. After a failed try there is none either, so
 * that retries and `redispatch` work as for any client. */
struct server *persist_home(const struct session *s);
/* Is there such a server with a free place or a queue, so that no fallback is needed? */
bool persist_may_go_home(const struct session *s);

#endif

/* SPDX-License-Identifier: MIT
 *
 * session_slab.h - the memory of a worker's sessions: a slab (slab.h) whose slots have generations.
 *
 * What can still refer to the memory of a session that has ended, and why none of it is misled:
 *  - An event of the batch being handled, from epoll or from the epoll set beside a ring. Its data holds the
 *    generation of the socket, which is compared with the one in the page: 0, which no socket has, while the
 *    page is gone, and from then on a generation above all that the page had before.
 *  - An event of a later batch: only where the ring was too full to take a close at once. The same holds.
 *  - A late or repeated completion of the ring. A session ends when each of its ops has come back, so no op
 *    is waited for: in a page that is gone, or new, there is no op in its place.
 *  - The fake driver keeps ops, not sockets, and none of a session that has ended.
 *  - Timers, queues and source waits are left before a session ends. Letters carry descriptors.
 *
 * In addition, pages are given back only from a timer, when no event of a batch is left to be handled, and a
 * cycle after the last of their sessions was freed. So the generations are the second line of defence;
 * neither relies on the other.
 *
 * A worker's thread.
 */
#ifndef WEIR_ENGINE_SESSION_SLAB_H
#define WEIR_ENGINE_SESSION_SLAB_H

#include "weir/io/slab.h"

struct session;

/* slab_free(), slab_age() and slab_give_back() are used as they are, the last one from a timer: no page may
 * go between the events of a batch. */
void session_slab_init(struct slab *slab);
/* A session that is all zero except for the generations of its sockets; NULL without memory. */
struct session *session_slab_get(struct slab *slab);
void session_slab_put(struct slab *slab, struct session *s);
/* A walk in slices, as slab_next() describes it: the first session in use from `*cursor` on; NULL at the end
 * (slab_is_over()), or when `*budget` is used up. A session that exists throughout a walk is visited once,
 * any other at most once. */
struct session *session_slab_next(const struct slab *slab, uint32_t *cursor, uint32_t *budget);

#endif

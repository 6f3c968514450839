/* SPDX-License-Identifier: MIT
 *
 * session_slab.h - the memory of a worker's sessions: chunks, a free list, never given back.
 *
 * Memory of a session stays a session for ever, so that a stale event can be told by the
 * generation in it. A worker's thread. Floor 4.
 */
#ifndef WEIR_ENGINE_SESSION_SLAB_H
#define WEIR_ENGINE_SESSION_SLAB_H

#include <stdint.h>

#include "weir/base/list.h"

struct session;
struct session_chunk;

struct session_slab {
	struct list free; /* of session.link */
	struct session_chunk *chunks; /* owns */
	uint32_t slots;
};

void session_slab_init(struct session_slab *slab);
void session_slab_free(struct session_slab *slab);
/* A session with everything zero but the generations of its sockets; NULL without memory. */
struct session *session_slab_get(struct session_slab *slab);
void session_slab_put(struct session_slab *slab, struct session *s);

#endif

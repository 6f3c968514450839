/* SPDX-License-Identifier: MIT
 *
 * session_slab.c - the memory of a worker's sessions: chunks, a free list, never given back.
 *
 * The most recently freed session is handed out first: its memory is warm. A worker's thread.
 * Floor 4.
 */
#include "weir/engine/session_slab.h"

#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/engine/session.h"
#include "weir/io/sys.h"

#define CHUNK_SESSIONS_MIN 64u

struct session_chunk {
	struct session_chunk *next; /* owns */
	struct session sessions[];
};

/* At least a page, which may be 64 KiB. */
static uint32_t chunk_sessions(void)
{
	const size_t fit = (sys_page_bytes() - sizeof(struct session_chunk)) / sizeof(struct session);

	return fit > CHUNK_SESSIONS_MIN ? (uint32_t)fit : CHUNK_SESSIONS_MIN;
}

void session_slab_init(struct session_slab *slab)
{
	memset(slab, 0, sizeof(*slab));
	list_init(&slab->free);
}

void session_slab_free(struct session_slab *slab)
{
	struct session_chunk *chunk;

	while ((chunk = slab->chunks) != NULL) {
		slab->chunks = chunk->next;
		free(chunk);
	}
	list_init(&slab->free);
	slab->slots = 0;
}

static bool grow(struct session_slab *slab)
{
	const uint32_t count = chunk_sessions();
	struct session_chunk *chunk = calloc(1, sizeof(*chunk) + count * sizeof(chunk->sessions[0]));

	if (chunk == NULL)
		return false;
	chunk->next = slab->chunks;
	slab->chunks = chunk;
	slab->slots += count;
	for (uint32_t i = 0; i < count; i++)
		list_push_back(&slab->free, &chunk->sessions[i].link);
	return true;
}

struct session *session_slab_get(struct session_slab *slab)
{
	struct session *s;
	uint16_t gens[2];

	if (list_empty(&slab->free) && !grow(slab))
		return NULL;
	s = list_entry(slab->free.next, struct session, link);
	list_remove(&s->link);
	check(s->state == SESSION_FREE);
	gens[0] = s->sides[0].sock.gen;
	gens[1] = s->sides[1].sock.gen;
	memset(s, 0, sizeof(*s));
	s->sides[0].sock.gen = gens[0];
	s->sides[1].sock.gen = gens[1];
	list_init(&s->link);
	return s;
}

void session_slab_put(struct session_slab *slab, struct session *s)
{
	check(s->state == SESSION_FREE);
	check(list_empty(&s->link));
	list_push_front(&slab->free, &s->link);
}

/* SPDX-License-Identifier: MIT
 *
 * session_slab.c - the memory of a worker's sessions: a slab whose slots have generations.
 *
 * A worker's thread.
 */
#include "session_slab.h"

#include <stddef.h>
#include <string.h>

#include "weir/base/check.h"
#include "session.h"

_Static_assert(offsetof(struct session, link) == 0, "the slab's list while it is free");

static void begin_slot(void *slot, uint16_t gen)
{
	struct session *s = slot;

	s->sides[0].sock.gen = gen;
	s->sides[1].sock.gen = gen;
}

static uint16_t came(const void *slot, uint16_t gen)
{
	const struct session *s = slot;
	const uint16_t client = (uint16_t)(s->sides[0].sock.gen - gen);
	const uint16_t server = (uint16_t)(s->sides[1].sock.gen - gen);

	return client > server ? client : server;
}

static const struct slab_kind session_kind = {
	.bytes = sizeof(struct session),
	.begin = begin_slot,
	.came = came,
};

void session_slab_init(struct slab *slab)
{
	slab_init(slab, &session_kind);
}

struct session *session_slab_get(struct slab *slab)
{
	struct session *s = slab_get(slab);
	uint16_t gens[2];

	if (s == NULL)
		return NULL;
	check(s->state == SESSION_FREE);
	gens[0] = s->sides[0].sock.gen;
	gens[1] = s->sides[1].sock.gen;
	memset(s, 0, sizeof(*s));
	s->sides[0].sock.gen = gens[0];
	s->sides[1].sock.gen = gens[1];
	list_init(&s->link);
	return s;
}

void session_slab_put(struct slab *slab, struct session *s)
{
	check(s->state == SESSION_FREE);
	check(list_empty(&s->link));
	slab_put(slab, s);
}

struct session *session_slab_next(const struct slab *slab, uint32_t *cursor, uint32_t *budget)
{
	struct session *s;

	do
		s = slab_next(slab, cursor, budget);
	while (s != NULL && s->state == SESSION_FREE);
	return s;
}

/* SPDX-License-Identifier: MIT
 *
 * live.h - what live objects share: their numbers, the counts of who uses them, and how they leave.
 *
 * One per engine. A live object (frontend, backend, server, endpoint) keeps its number for life; its settings
 * are versions with numbers of their own, under which workers count the sessions that use them. Control
 * thread.
 */
#ifndef WEIR_BASE_LIVE_H
#define WEIR_BASE_LIVE_H

#include "weir/base/retire.h"
#include "weir/base/slot_space.h"

struct live {
	struct retire retire;
	struct slot_space objects;   /* frontends, backends and servers */
	struct slot_space endpoints;
	struct slot_space versions;  /* settings of all of them: tables of counted_entry */
	/* A worker clears what it kept under the slot of an object; set by the engine. */
	void (*forget)(void *worker, uint32_t slot);
	/* Nobody uses the object at `slot` any more, and no worker has cleared what it counted there: adds
	 * that to what is kept for `owner`, the slot of the object that it was part of. Set by the engine;
	 * NULL = nothing is kept. */
	void (*keep)(struct live *l, uint32_t slot, uint32_t owner);
	/* The sessions of the frontend, backend or server at `slot` are to end; with `when_idle`, of those
	 * that may, each once it is idle. Set by the engine; NULL = there are none. Control thread. */
	void (*end)(struct live *l, uint32_t slot, bool when_idle);
	unsigned last_iid; /* the last number that a frontend or backend got, for reports */
};

static inline void live_init(struct live *l, const struct retire_rounds *rounds)
{
	retire_init(&l->retire, rounds);
	slot_space_init(&l->objects);
	slot_space_init(&l->endpoints);
	slot_space_init(&l->versions);
	l->forget = NULL;
	l->keep = NULL;
	l->end = NULL;
	l->last_iid = 0;
}

static inline void live_end_sessions(struct live *l, uint32_t slot, bool when_idle)
{
	if (l->end != NULL)
		l->end(l, slot, when_idle);
}

/* Nothing lives any more, and no worker has a table. */
static inline void live_free(struct live *l)
{
	retire_end(&l->retire);
	slot_space_free(&l->objects);
	slot_space_free(&l->endpoints);
	slot_space_free(&l->versions);
}

#endif

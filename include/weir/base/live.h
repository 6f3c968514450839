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
};

static inline void live_init(struct live *l, const struct retire_rounds *rounds)
{
	retire_init(&l->retire, rounds);
	slot_space_init(&l->objects);
	slot_space_init(&l->endpoints);
	slot_space_init(&l->versions);
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

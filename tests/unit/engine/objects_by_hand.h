/* SPDX-License-Identifier: MIT
 *
 * objects_by_hand.h - the frontends, endpoints, backends and servers of a configuration in an engine without
 * threads, for tests that stand in for engine.c; and the tallies of workers that such a test makes.
 */
#ifndef WEIR_TESTS_OBJECTS_BY_HAND_H
#define WEIR_TESTS_OBJECTS_BY_HAND_H

#include <stdlib.h>

#include "../balance/live_by_hand.h"
#include "weir/base/check.h"
#include "weir/engine/engine.h"
#include "engine/worker.h"

/* Sets `live`, `config`, `backends`, `entries` and `kept` alone. */
static inline void objects_by_hand(struct engine *e, const struct config *c)
{
	e->config = c;
	live_by_hand_init(&e->live);
	chunks_init(&e->kept, sizeof(struct tally_sum));
	check(slot_space_add_table(&e->live.objects, &e->kept) == 0);
	check(entries_init(&e->entries, &e->live) == 0);
	e->backends = calloc(c->backend_count + 1, sizeof(struct backend *));
	check(e->backends != NULL);
	for (e->backend_count = 0; e->backend_count < c->backend_count; e->backend_count++) {
		e->backends[e->backend_count] = backend_new(&e->live, &c->backends[e->backend_count]);
		check(e->backends[e->backend_count] != NULL);
	}
	check(entries_build(&e->entries, c, e->backends) == 0);
}

static inline void backend_forget_counts(struct backend *b)
{
	for (size_t i = 0; i < b->server_count; i++)
		atomic_store(&b->servers[i]->sessions, 0);
}

/* Whatever the test has counted at them. */
static inline void objects_by_hand_free(struct engine *e)
{
	entries_foreach_frontend(&e->entries, fe)
		atomic_store(&fe->sessions, 0);
	entries_free(&e->entries);
	while (e->backend_count > 0) {
		backend_forget_counts(e->backends[--e->backend_count]);
		backend_free(e->backends[e->backend_count]);
	}
	free(e->backends);
	e->backends = NULL;
	slot_space_remove_table(&e->live.objects, &e->kept);
	chunks_free(&e->kept);
	live_free(&e->live);
}

/* The one at this place in the configuration. */
static inline struct frontend *frontend_by_hand(const struct engine *e, size_t place)
{
	entries_foreach_frontend(&e->entries, fe) {
		if (place-- == 0)
			return fe;
	}
	return NULL;
}

/* Gives a worker that is none of engine.c's a tally for each object, all zero. */
static inline void tallies_by_hand(struct engine *e, struct worker *w)
{
	chunks_init(&w->tallies, sizeof(struct tally));
	check(slot_space_add_table(&e->live.objects, &w->tallies) == 0);
}

/* Before objects_by_hand_free(). */
static inline void tallies_by_hand_free(struct engine *e, struct worker *w)
{
	slot_space_remove_table(&e->live.objects, &w->tallies);
	chunks_free(&w->tallies);
}

static inline struct tally *tally_by_hand(const struct worker *w, uint32_t slot)
{
	return chunks_at(&w->tallies, slot);
}

#endif

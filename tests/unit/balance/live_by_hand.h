/* SPDX-License-Identifier: MIT
 *
 * live_by_hand.h - the numbers and the retirement that live objects need, for tests without workers: every
 * round is over at once.
 */
#ifndef WEIR_TESTS_LIVE_BY_HAND_H
#define WEIR_TESTS_LIVE_BY_HAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "weir/balance/backend.h"
#include "weir/base/check.h"
#include "weir/base/live.h"

static inline void live_round_begins(void *arg, uint64_t round)
{
	(void)arg;
	(void)round;
}

static inline bool live_round_is_over(void *arg, uint64_t round)
{
	(void)arg;
	(void)round;
	return true;
}

static inline void live_is_marked(void *arg)
{
	(void)arg;
}

static inline bool live_is_read(void *arg)
{
	(void)arg;
	return true;
}

static inline void live_by_hand_init(struct live *l)
{
	const struct retire_rounds rounds = {
		.begin = live_round_begins,
		.is_over = live_round_is_over,
		.mark = live_is_marked,
		.is_read = live_is_read,
	};

	live_init(l, &rounds);
}

/* The backends of a configuration, whose numbers are those of a `struct live` of their own; NULL when out of
 * memory. */
static inline struct backend **backends_by_hand(const struct config *c)
{
	struct backend **backends = calloc(c->backend_count + 1, sizeof(struct backend *));
	struct live *l = calloc(1, sizeof(*l));

	check(backends != NULL);
	check(l != NULL);
	live_by_hand_init(l);
	for (size_t i = 0; i < c->backend_count; i++) {
		backends[i] = backend_new(l, &c->backends[i]);
		if (backends[i] == NULL)
			return NULL;
	}
	return backends;
}

/* Frees them. At least one. */
static inline void backends_by_hand_free(struct backend **backends)
{
	struct live *l = backends[0]->live;

	retire_end(&l->retire);
	for (size_t i = 0; backends[i] != NULL; i++)
		backend_free(backends[i]);
	live_free(l);
	free(l);
	free(backends);
}

/* The one backend of a configuration. */
static inline struct backend *backend_by_hand(const struct config *c)
{
	struct live *l = calloc(1, sizeof(*l));
	struct backend *b;

	check(l != NULL);
	live_by_hand_init(l);
	b = backend_new(l, &c->backends[0]);
	if (b == NULL) {
		live_free(l);
		free(l);
	}
	return b;
}

static inline void backend_by_hand_free(struct backend *b)
{
	struct live *l = b->live;

	retire_end(&l->retire);
	backend_free(b);
	live_free(l);
	free(l);
}

/* A picker with a table of its own. */
static inline void picker_by_hand(struct picker *p, struct backend *b, unsigned skip)
{
	struct chunks *marks = calloc(1, sizeof(*marks));

	check(marks != NULL);
	chunks_init(marks, sizeof(struct pick_mark));
	check(slot_space_add_table(&b->live->objects, marks) == 0);
	picker_init(p, b, marks, skip);
}

static inline void picker_by_hand_free(struct picker *p)
{
	struct chunks *marks = (struct chunks *)(uintptr_t)p->marks; /* as above */

	slot_space_remove_table(&p->backend->live->objects, marks);
	chunks_free(marks);
	free(marks);
	*p = (struct picker){0};
}

#endif

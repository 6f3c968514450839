/* SPDX-License-Identifier: MIT
 *
 * index.h - finds things by a text, however many there are. Allocated in an arena. Main thread.
 */
#ifndef WEIR_DRAFT_INDEX_H
#define WEIR_DRAFT_INDEX_H

#include "weir/config/arena.h"

struct index_entry {
	const char *text; /* borrows; NULL = free */
	void *thing;
};

/* Begins as {0}. */
struct index {
	struct index_entry *entries;
	size_t room; /* a power of two, or 0 */
	size_t count;
};

/* What was put there last under this text, or NULL. */
void *index_find(const struct index *x, const char *text);
/* Puts `thing`, which must not be NULL, in the place of what was there. */
void index_put(struct arena *a, struct index *x, const char *text, void *thing);

#endif

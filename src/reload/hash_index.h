/* SPDX-License-Identifier: MIT
 *
 * hash_index.h - finds the items of an array by a hash, and remembers which of them were met.
 *
 * Items are numbers below the room. The caller compares what it finds: a chain also holds items with other
 * hashes. Control thread.
 */
#ifndef WEIR_SRC_RELOAD_HASH_INDEX_H
#define WEIR_SRC_RELOAD_HASH_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_INDEX_NONE SIZE_MAX

struct hash_index {
	size_t mask;
	size_t *heads; /* owns, with `nexts` in the same memory */
	size_t *nexts;
	bool *met; /* owns */
};

/* An empty index for `room` items, 0 included. 0 or -ENOMEM. */
int hash_index_init(struct hash_index *x, size_t room);
/* Harmless on an index that is all zero. */
void hash_index_free(struct hash_index *x);
/* Adds an item, once: it is found before those with the same hash that were added earlier. */
void hash_index_add(struct hash_index *x, size_t item, uint64_t hash);

/* The chain of `hash`: HASH_INDEX_NONE ends it. */
static inline size_t hash_index_first(const struct hash_index *x, uint64_t hash)
{
	return x->heads[hash & x->mask];
}

static inline size_t hash_index_next(const struct hash_index *x, size_t item)
{
	return x->nexts[item];
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * chunks.c - a table that grows and never moves: its entries lie in parts, each twice as large as the last.
 *
 * Owns the parts. Control makes room; the entries belong to the owner of the table.
 */
#include "weir/base/chunks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_LINE 64u

void chunks_init(struct chunks *c, size_t size)
{
	check(size > 0);
	list_init(&c->link);
	c->size = size;
	c->emptied = false;
	for (unsigned i = 0; i < CHUNKS_PARTS; i++)
		atomic_init(&c->parts[i], NULL);
}

int chunks_reserve(struct chunks *c, uint32_t number)
{
	size_t bytes;
	unsigned part;
	void *entries;

	if (number >= CHUNKS_LIMIT)
		return -ENOSPC;
	part = chunks_part(number);
	if (atomic_load_explicit(&c->parts[part], memory_order_relaxed) != NULL)
		return 0;
	/* Cache lines of its own: the adjacent memory may belong to another worker. */
	if (__builtin_mul_overflow((size_t)CHUNKS_FIRST << part, c->size, &bytes) ||
	    __builtin_add_overflow(bytes, CACHE_LINE - 1, &bytes))
		return -ENOMEM;
	bytes -= bytes % CACHE_LINE;
	entries = aligned_alloc(CACHE_LINE, bytes);
	if (entries == NULL)
		return -ENOMEM;
	memset(entries, 0, bytes);
	atomic_store_explicit(&c->parts[part], entries, memory_order_release);
	return 0;
}

void chunks_free(struct chunks *c)
{
	for (unsigned i = 0; i < CHUNKS_PARTS; i++) {
		free(atomic_load_explicit(&c->parts[i], memory_order_relaxed));
		atomic_store_explicit(&c->parts[i], NULL, memory_order_relaxed);
	}
}

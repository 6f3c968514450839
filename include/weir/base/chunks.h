/* SPDX-License-Identifier: MIT
 *
 * chunks.h - a table that grows and never moves: its entries lie in parts, each twice as large as the last.
 *
 * Control makes room, and the owner of the table (a worker) uses the entries. An entry is zero until it is
 * first used. Whoever learns of a number does so from control, after the room was made; a walk over all
 * entries asks chunks_has().
 */
#ifndef WEIR_BASE_CHUNKS_H
#define WEIR_BASE_CHUNKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base/check.h"
#include "weir/base/list.h"

#define CHUNKS_FIRST_BITS 5u
#define CHUNKS_FIRST	  (1u << CHUNKS_FIRST_BITS) /* entries of the first part */
#define CHUNKS_PARTS	  20u
/* Numbers of entries are below this. */
#define CHUNKS_LIMIT (CHUNKS_FIRST * ((1u << CHUNKS_PARTS) - 1))

struct chunks {
	struct list link; /* slot_space.h */
	size_t size;	  /* of one entry */
	bool emptied;	  /* slot_space_put() makes an entry zero; else its owner has */
	_Atomic(void *) parts[CHUNKS_PARTS]; /* owns; each starts a cache line */
};

/* Needs no memory. */
void chunks_init(struct chunks *c, size_t size);
/* Makes room for the entry `number`. 0, -ENOMEM, or -ENOSPC past CHUNKS_LIMIT; entries never move. One thread
 * at a time; others may use the table meanwhile. */
int chunks_reserve(struct chunks *c, uint32_t number);
/* Nobody uses it any more. */
void chunks_free(struct chunks *c);

static inline unsigned chunks_part(uint32_t number)
{
	return 31u - (unsigned)__builtin_clz(number + CHUNKS_FIRST) - CHUNKS_FIRST_BITS;
}

/* Is there room for `number`? Any thread. */
static inline bool chunks_has(const struct chunks *c, uint32_t number)
{
	return number < CHUNKS_LIMIT &&
	       atomic_load_explicit(&c->parts[chunks_part(number)], memory_order_acquire) != NULL;
}

/* The entry `number`, for which there is room. */
static inline void *chunks_at(const struct chunks *c, uint32_t number)
{
	const unsigned part = chunks_part(number);
	char *entries;

	check(number < CHUNKS_LIMIT);
	entries = atomic_load_explicit(&c->parts[part], memory_order_acquire);
	check(entries != NULL);
	return entries + (number + CHUNKS_FIRST - (CHUNKS_FIRST << part)) * c->size;
}

#endif

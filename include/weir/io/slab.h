/* SPDX-License-Identifier: MIT
 *
 * slab.h - memory for many objects of one size: slots in pages, whose memory is returned once no slot is in
 * use.
 *
 * A page is 16 KiB, or one page of the machine if that is larger. A page without used slots ages like an idle
 * pipe (shelf.h): once it has been unused for more than one cycle, its memory goes back to the system, which
 * free(3) of small pieces seldom achieves. The page stays mapped and reads as zeros until it is needed again.
 * Its directory entry, some 60 bytes, stays too. One thread, the worker's.
 */
#ifndef WEIR_IO_SLAB_H
#define WEIR_IO_SLAB_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/base/list.h"
#include "weir/io/shelf.h"

struct slab_block;

/* The objects in the slots. Their first member is a struct list, which belongs to the slab while the slot is
 * free; the slab writes nothing else in a slot that has begun. */
struct slab_kind {
	uint32_t bytes; /* of a slot, a multiple of 8 */
	/* Prepares a slot, all zeros so far, whose generations begin with that of its page. NULL = slots have
	 * no generation. */
	void (*begin)(void *slot, uint16_t gen);
	/* How many generations the slot is ahead of `gen`, with which it began. */
	uint16_t (*came)(const void *slot, uint16_t gen);
};

struct slab {
	const struct slab_kind *kind; /* borrows */
	struct list partial;          /* of slab_page.link: pages with used slots, and room for more */
	struct shelf empty;           /* of slab_page.item: pages without used slots */
	struct shelf_item *dead;      /* such pages, whose memory is about to be returned */
	struct shelf_item *away;      /* such pages, whose memory has been returned */
	struct slab_block **blocks;   /* owns: the directory, by number; blocks are never removed */
	uint32_t block_count;
	uint32_t block_room;
	uint32_t page_bytes; /* a power of two */
	uint32_t page_slots; /* tests set it before the first slot is taken */
	uint32_t slots;      /* in pages that have memory */
};

void slab_init(struct slab *slab, const struct slab_kind *kind);
/* Frees everything. No slot may be in use. */
void slab_free(struct slab *slab);
/* A slot as slab_put() received it, or as it began; its list is initialised. NULL when out of memory. */
void *slab_get(struct slab *slab);
void slab_put(struct slab *slab, void *slot);

/* Ends a cycle: the memory of pages that were empty throughout is to be returned. Call slab_give_back() until
 * it returns false, before the next cycle ends. */
void slab_age(struct slab *slab);
/* Returns the memory of at most `max` of these pages to the system; true when there are more. */
bool slab_give_back(struct slab *slab, uint32_t max);
/* Are there empty pages, still ageing or with memory to be returned? */
static inline bool slab_rests(const struct slab *slab)
{
	return shelf_size(&slab->empty) > 0 || slab->dead != NULL;
}

/* For a walk in slices: the next slot from `*cursor` on, in use or not, of pages that have a used one; moves
 * the cursor past it. Each slot, and each page without a used one, takes 1 from `*budget`. NULL at the end,
 * or when the budget is used up. Begin with a cursor of 0. Slots and pages may come and go between two calls:
 * a slot in use throughout the walk is visited exactly once. */
void *slab_next(const struct slab *slab, uint32_t *cursor, uint32_t *budget);
/* Is the walk at its end? */
bool slab_is_over(const struct slab *slab, uint32_t cursor);

#endif

/* SPDX-License-Identifier: MIT
 *
 * slab.h - memory for many things of one size: pages of slots, given back when none of a page is in use.
 *
 * A page is 16 KiB, or one of the machine's where that is more. One without used slots rests as a pipe does
 * (shelf.h): unused for more than one cycle, its memory goes back to the system, which free(3) of small
 * pieces seldom does. Its addresses stay ours, and read as zeros until they are needed again. The directory
 * of pages stays too, some 60 bytes each. A worker's thread.
 */
#ifndef WEIR_IO_SLAB_H
#define WEIR_IO_SLAB_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/base/list.h"
#include "weir/io/shelf.h"

struct slab_block;

/* What the slots are for. Their first member is a struct list, the slab's while a slot is free; it writes
 * nothing else in them. */
struct slab_kind {
	uint32_t bytes; /* of a slot, a multiple of 8 */
	/* The slot, all zeros, begins with the generation of its page. NULL = it has none. */
	void (*begin)(void *slot, uint16_t gen);
	/* How far the slot has come from the generation of its page. */
	uint16_t (*came)(const void *slot, uint16_t gen);
};

struct slab {
	const struct slab_kind *kind; /* borrows */
	struct list partial;          /* of slab_page.link: pages with used slots, and room for more */
	struct shelf empty;           /* of slab_page.item: without used slots */
	struct shelf_item *dead;      /* the same, and their memory is about to go back */
	struct shelf_item *away;      /* the same, and it has */
	struct slab_block **blocks;   /* owns: the directory, by number; none ever goes */
	uint32_t block_count;
	uint32_t block_room;
	uint32_t page_bytes; /* a power of two */
	uint32_t page_slots; /* tests set it before the first slot is taken */
	uint32_t slots;      /* in pages that have memory */
};

void slab_init(struct slab *slab, const struct slab_kind *kind);
/* No slot is in use any more. */
void slab_free(struct slab *slab);
/* A slot as slab_put() got it, or as it began; its list is initialised. NULL without memory. */
void *slab_get(struct slab *slab);
void slab_put(struct slab *slab, void *slot);

/* Ends a cycle: pages that were empty throughout are about to go back. Call slab_give_back() until it says
 * that nothing is left before the next cycle ends. */
void slab_age(struct slab *slab);
/* Gives the memory of at most `max` of them back; true when there are more. */
bool slab_give_back(struct slab *slab, uint32_t max);
/* Is anything left to age, or to give back? */
static inline bool slab_rests(const struct slab *slab)
{
	return shelf_size(&slab->empty) > 0 || slab->dead != NULL;
}

/* For a walk in slices: the next slot from `*cursor` on, in use or not, of pages that have a used one; moves
 * the cursor behind it. Each slot and each page without one takes 1 from `*budget`. NULL at the end, or when
 * the budget is used up. Begin with 0. Slots and pages may come and go between two calls: one that is in use
 * from the beginning of a walk to its end is met once. */
void *slab_next(const struct slab *slab, uint32_t *cursor, uint32_t *budget);
/* Is nothing at `cursor` or behind it? */
bool slab_is_over(const struct slab *slab, uint32_t cursor);

#endif

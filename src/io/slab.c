/* SPDX-License-Identifier: MIT
 *
 * slab.c - memory for many objects of one size: slots in pages, whose memory is returned once no slot is in
 * use.
 *
 * Pages with used slots are filled first, so that others become empty; within a page the most recently freed
 * slot is handed out first: its memory is warm. Memory is taken in blocks of pages, which stay mapped. One
 * thread, the worker's.
 */
#include "weir/io/slab.h"

#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/sys/sys.h"

#define PAGE_BYTES_MIN UINT32_C(16384)
#define BLOCK_PAGES 16u
#define BLOCK_ROOM_MIN 16u

/* What is kept of a page when its memory is returned. */
struct slab_page {
	struct shelf_item item; /* on the shelf of empty pages, or in a chain */
	struct list link;       /* in the list of partial pages */
	struct list free;       /* free slots, if the page has memory */
	struct page_memory *memory;
	uint16_t used;
	uint16_t gen; /* the generation with which its slots began when the page got its memory */
};

/* The page itself, aligned to its size. */
struct page_memory {
	struct slab_page *page;
	_Alignas(8) char slots[];
};

struct slab_block {
	void *memory; /* owns */
	struct slab_page pages[BLOCK_PAGES];
};

static struct slab_page *page_of(const struct slab *slab, const void *slot)
{
	const uintptr_t at = (uintptr_t)slot & ~((uintptr_t)slab->page_bytes - 1);

	return ((struct page_memory *)at)->page;
}

static void *slot_at(const struct slab *slab, const struct slab_page *page, uint32_t number)
{
	return page->memory->slots + (size_t)number * slab->kind->bytes;
}

void slab_init(struct slab *slab, const struct slab_kind *kind)
{
	const uint32_t machine = sys_page_bytes();

	check(kind->bytes >= sizeof(struct list));
	memset(slab, 0, sizeof(*slab));
	slab->kind = kind;
	list_init(&slab->partial);
	slab->page_bytes = machine > PAGE_BYTES_MIN ? machine : PAGE_BYTES_MIN;
	slab->page_slots = (slab->page_bytes - (uint32_t)sizeof(struct page_memory)) / kind->bytes;
}

void slab_free(struct slab *slab)
{
	check(list_empty(&slab->partial));
	for (uint32_t i = 0; i < slab->block_count; i++) {
		free(slab->blocks[i]->memory);
		free(slab->blocks[i]);
	}
	free(slab->blocks);
	slab_init(slab, slab->kind);
}

/* ---- pages ---- */

static void chain_push(struct shelf_item **chain, struct slab_page *page)
{
	check(page->item.next == &page->item);
	page->item.next = *chain;
	*chain = &page->item;
}

static bool make_directory_room(struct slab *slab)
{
	const uint32_t room = slab->block_room != 0 ? 2 * slab->block_room : BLOCK_ROOM_MIN;
	struct slab_block **blocks;

	if (slab->block_count < slab->block_room)
		return true;
	blocks = realloc(slab->blocks, room * sizeof(struct slab_block *));
	if (blocks == NULL)
		return false;
	slab->blocks = blocks;
	slab->block_room = room;
	return true;
}

/* One more block of pages, none of which has been touched yet. */
static bool add_block(struct slab *slab)
{
	const size_t bytes = slab->page_bytes;
	struct slab_block *block;

	if (!make_directory_room(slab))
		return false;
	block = calloc(1, sizeof(*block));
	if (block == NULL)
		return false;
	block->memory = aligned_alloc(bytes, BLOCK_PAGES * bytes);
	if (block->memory == NULL) {
		free(block);
		return false;
	}
	for (uint32_t i = BLOCK_PAGES; i-- > 0;) {
		struct slab_page *page = &block->pages[i];

		shelf_item_init(&page->item);
		list_init(&page->link);
		page->memory = (struct page_memory *)(void *)((char *)block->memory + i * bytes);
		chain_push(&slab->away, page);
	}
	slab->blocks[slab->block_count++] = block;
	return true;
}

/* Gives a page its memory: the system provides it when it is written to. */
static void populate(struct slab *slab, struct slab_page *page)
{
	struct page_memory *memory = page->memory;

	memset(memory, 0, slab->page_bytes);
	memory->page = page;
	list_init(&page->free);
	for (uint32_t i = 0; i < slab->page_slots; i++) {
		void *slot = slot_at(slab, page, i);

		if (slab->kind->begin != NULL)
			slab->kind->begin(slot, page->gen);
		list_push_back(&page->free, slot);
	}
	slab->slots += slab->page_slots;
}

/* The most generations that a slot of the page has used since the page got its memory. */
static uint16_t generations_used(const struct slab *slab, const struct slab_page *page)
{
	uint16_t most = 0;

	for (uint32_t i = 0; slab->kind->came != NULL && i < slab->page_slots; i++) {
		const uint16_t n = slab->kind->came(slot_at(slab, page, i), page->gen);

		most = n > most ? n : most;
	}
	return most;
}

static void empty_out(struct slab *slab, struct slab_page *page)
{
	check(page->used == 0);
	page->gen = (uint16_t)(page->gen + generations_used(slab, page));
	if (sys_discard(page->memory, slab->page_bytes))
		memset(page->memory, 0, slab->page_bytes); /* locked memory, or a seccomp filter: keep it */
	slab->slots -= slab->page_slots;
	chain_push(&slab->away, page);
}

static struct slab_page *page_of_item(struct shelf_item *item)
{
	return item != NULL ? container_of(item, struct slab_page, item) : NULL;
}

/* A page without used slots: a warm one, else one whose memory is about to be returned, else one without
 * memory. */
static struct slab_page *take_empty(struct slab *slab)
{
	struct slab_page *page = page_of_item(shelf_pop(&slab->empty));

	if (page == NULL)
		page = page_of_item(shelf_next_dead(&slab->dead));
	if (page != NULL)
		return page;
	if (slab->away == NULL && !add_block(slab))
		return NULL;
	page = page_of_item(shelf_next_dead(&slab->away));
	populate(slab, page);
	return page;
}

/* ---- slots ---- */

void *slab_get(struct slab *slab)
{
	struct slab_page *page;
	struct list *slot;

	if (unlikely(list_empty(&slab->partial))) {
		page = take_empty(slab);
		if (page == NULL)
			return NULL;
		list_push_front(&slab->partial, &page->link);
	}
	page = list_entry(slab->partial.next, struct slab_page, link);
	slot = page->free.next;
	list_remove(slot);
	if (++page->used == slab->page_slots)
		list_remove(&page->link);
	return slot;
}

void slab_put(struct slab *slab, void *slot)
{
	struct slab_page *page = page_of(slab, slot);

	check(page->used > 0);
	list_push_front(&page->free, slot);
	if (page->used-- == slab->page_slots)
		list_push_front(&slab->partial, &page->link);
	if (page->used == 0) {
		list_remove(&page->link);
		shelf_push(&slab->empty, &page->item);
	}
}

/* ---- ageing ---- */

void slab_age(struct slab *slab)
{
	check(slab->dead == NULL);
	slab->dead = shelf_age(&slab->empty);
}

bool slab_give_back(struct slab *slab, uint32_t max)
{
	for (uint32_t i = 0; i < max && slab->dead != NULL; i++)
		empty_out(slab, page_of_item(shelf_next_dead(&slab->dead)));
	return slab->dead != NULL;
}

/* ---- walking ---- */

bool slab_is_over(const struct slab *slab, uint32_t cursor)
{
	return cursor / slab->page_slots >= slab->block_count * BLOCK_PAGES;
}

void *slab_next(const struct slab *slab, uint32_t *cursor, uint32_t *budget)
{
	const uint32_t slots = slab->page_slots;

	for (; *budget > 0 && !slab_is_over(slab, *cursor); (*budget)--) {
		const uint32_t number = *cursor / slots;
		const struct slab_page *page =
			&slab->blocks[number / BLOCK_PAGES]->pages[number % BLOCK_PAGES];

		if (page->used > 0) {
			(*budget)--;
			return slot_at(slab, page, (*cursor)++ % slots);
		}
		*cursor = (number + 1) * slots; /* a page without used slots may have no memory */
	}
	return NULL;
}

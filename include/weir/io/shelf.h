/* SPDX-License-Identifier: MIT
 *
 * shelf.h - idle items of a pool: a LIFO that ages, used by both pools.
 *
 * Borrows its items. Not thread-safe: a cache's shelf belongs to one thread, a pool's shelf is protected by
 * the pool's lock. Everything but shelf_move() takes a few instructions for any number of items, so ageing
 * needs no walk under the lock.
 *
 * Ageing has two steps, as in Go's sync.Pool: at the end of a cycle all items on the shelf become victims,
 * and victims not taken during the cycle are handed out to be destroyed. Items returned during the cycle are
 * taken first, so the remaining victims are the shelf's low-water mark: the oldest items, unused for a whole
 * cycle. An item that is no longer used is gone after more than one cycle and at most two.
 */
#ifndef WEIR_IO_SHELF_H
#define WEIR_IO_SHELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base/check.h"

/* First member of a pooled object. `next` points to the item itself while it is not on a shelf. No shelf sets
 * that value, so a double put is detected at once. */
struct shelf_item {
	struct shelf_item *next;
};

struct shelf {
	struct shelf_item *head;    /* returned in this cycle; the youngest first */
	struct shelf_item *victims; /* idle since the cycle began, or longer */
	uint32_t count;             /* from `head` */
	uint32_t victim_count;
};

static inline void shelf_item_init(struct shelf_item *item)
{
	item->next = item;
}

static inline uint32_t shelf_size(const struct shelf *s)
{
	return s->count + s->victim_count;
}

static inline void shelf_push(struct shelf *s, struct shelf_item *item)
{
	check(item->next == item);
	item->next = s->head;
	s->head = item;
	s->count++;
}

/* The youngest item returned in this cycle; NULL when there are only victims or nothing. */
static inline struct shelf_item *shelf_pop_young(struct shelf *s)
{
	struct shelf_item *item = s->head;

	if (unlikely(item == NULL))
		return NULL;
	check(s->count > 0);
	s->head = item->next;
	s->count--;
	item->next = item;
	return item;
}

/* Any item; a victim that is taken is no longer a victim. NULL when the shelf is empty. */
static inline struct shelf_item *shelf_pop(struct shelf *s)
{
	struct shelf_item *item = shelf_pop_young(s);

	if (item != NULL || s->victims == NULL)
		return item;
	item = s->victims;
	check(s->victim_count > 0);
	s->victims = item->next;
	s->victim_count--;
	item->next = item;
	return item;
}

/* Moves at most `max` items, the youngest first; returns how many. They begin a new cycle. */
static inline uint32_t shelf_move(struct shelf *from, struct shelf *to, uint32_t max)
{
	struct shelf_item *item;
	uint32_t n = 0;

	while (n < max && (item = shelf_pop(from)) != NULL) {
		shelf_push(to, item);
		n++;
	}
	return n;
}

/* Ends a cycle; returns the chain of items to destroy, linked by `next`, or NULL. */
static inline struct shelf_item *shelf_age(struct shelf *s)
{
	struct shelf_item *dead = s->victims;

	check((s->head == NULL) == (s->count == 0));
	s->victims = s->head;
	s->victim_count = s->count;
	s->head = NULL;
	s->count = 0;
	return dead;
}

/* Takes the first item off a chain of shelf_age(); NULL at its end. */
static inline struct shelf_item *shelf_next_dead(struct shelf_item **chain)
{
	struct shelf_item *item = *chain;

	if (item == NULL)
		return NULL;
	*chain = item->next;
	shelf_item_init(item);
	return item;
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * shelf.h - where pooled things rest: a LIFO that ages, the shape that both pools share.
 *
 * Borrows its items. Not thread-safe: a cache's shelf has one thread, a pool's shelf has the pool's
 * lock. Everything but shelf_move() is a few instructions for any number of items, so ageing needs
 * no walk under the lock.
 *
 * Ageing in two steps, as Go's sync.Pool has it: at the end of a cycle all that rests becomes
 * victims, and the victims that nobody took during the cycle are handed out to be destroyed. Items
 * that came back during the cycle are taken first, so what is left of the victims is the shelf's
 * low-water mark: the oldest items, which nobody needed for a whole cycle. A thing that is not used
 * any more is gone after more than one cycle and at most two.
 */
#ifndef WEIR_IO_SHELF_H
#define WEIR_IO_SHELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base/check.h"

/* First member of a pooled thing. `next` is the item itself while it is not on a shelf, which is a
 * value that no shelf gives it: a second put is seen at once. */
struct shelf_item {
	struct shelf_item *next;
};

struct shelf {
	struct shelf_item *head;    /* came back in this cycle; the youngest first */
	struct shelf_item *victims; /* rest since the cycle began, or longer */
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

/* The youngest item that came back in this cycle; NULL when there are at most victims. */
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

/* Any item; a victim that is taken is one no more. NULL when the shelf is empty. */
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

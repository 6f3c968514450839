/* SPDX-License-Identifier: MIT
 *
 * list.h - a circular doubly linked list; the node is embedded in the object.
 *
 * Owns nothing: the list borrows its nodes until they are removed. An initialised, unlinked
 * node points at itself, so list_remove() may be called twice. Not thread-safe.
 */
#ifndef WEIR_BASE_LIST_H
#define WEIR_BASE_LIST_H

#include <stdbool.h>

#include "weir/base/check.h"

struct list {
	struct list *next;
	struct list *prev;
};

static inline void list_init(struct list *l)
{
	l->next = l;
	l->prev = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_push_back(struct list *l, struct list *node)
{
	node->prev = l->prev;
	node->next = l;
	l->prev->next = node;
	l->prev = node;
}

static inline void list_push_front(struct list *l, struct list *node)
{
	node->next = l->next;
	node->prev = l;
	l->next->prev = node;
	l->next = node;
}

static inline void list_remove(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

#define list_entry(node, type, member) container_of(node, type, member)

/* `pos` may be removed while the loop runs; its successor may not. */
#define list_foreach_safe(l, pos, tmp)                                                                     \
	for ((pos) = (l)->next, (tmp) = (pos)->next; (pos) != (l); (pos) = (tmp), (tmp) = (pos)->next)

#endif

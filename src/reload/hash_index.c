/* SPDX-License-Identifier: MIT
 *
 * hash_index.c - finds the items of an array by a hash, and remembers which of them were met.
 *
 * Chains of numbers, with at least as many heads as there is room for items. Control thread.
 */
#include "hash_index.h"

#include <errno.h>
#include <stdlib.h>

#include "weir/base/check.h"

int hash_index_init(struct hash_index *x, size_t room)
{
	size_t heads = 1;

	while (heads < room)
		heads *= 2;
	x->mask = heads - 1;
	x->heads = calloc(heads + room, sizeof(size_t));
	x->met = calloc(room + 1, sizeof(bool));
	if (x->heads == NULL || x->met == NULL) {
		hash_index_free(x);
		return -ENOMEM;
	}
	x->nexts = x->heads + heads;
	for (size_t i = 0; i < heads + room; i++)
		x->heads[i] = HASH_INDEX_NONE;
	return 0;
}

void hash_index_free(struct hash_index *x)
{
	free(x->heads);
	free(x->met);
	*x = (struct hash_index){0};
}

void hash_index_add(struct hash_index *x, size_t item, uint64_t hash)
{
	size_t *head = &x->heads[hash & x->mask];

	check(x->nexts[item] == HASH_INDEX_NONE);
	x->nexts[item] = *head;
	*head = item;
}

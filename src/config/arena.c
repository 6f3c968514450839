/* SPDX-License-Identifier: MIT
 *
 * arena.c - memory that lives as long as one reading of the configuration, freed in one go.
 *
 * Never returns NULL: when out of memory it jumps (see arena.h). One thread at a time.
 */
#include "weir/config/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"

struct arena_block {
	struct arena_block *next;     /* owns */
	void (*release)(void *bytes); /* NULL = only memory */
	alignas(max_align_t) char bytes[];
};

void arena_no_memory(const struct arena *a)
{
	check(a->no_memory != NULL);
	longjmp(*a->no_memory, 1);
}

void *arena_alloc_owner(struct arena *a, size_t size, void (*release)(void *bytes))
{
	struct arena_block *block;

	check(size < SIZE_MAX - sizeof(*block));
	if (a->max > 0 && a->used + size > a->max)
		arena_no_memory(a);
	block = calloc(1, sizeof(*block) + size);
	if (block == NULL)
		arena_no_memory(a);
	a->used += sizeof(*block) + size;
	block->release = release;
	block->next = a->blocks;
	a->blocks = block;
	return block->bytes;
}

void *arena_alloc(struct arena *a, size_t size)
{
	return arena_alloc_owner(a, size, NULL);
}

char *arena_strndup(struct arena *a, const char *text, size_t len)
{
	char *copy = arena_alloc(a, len + 1);

	memcpy(copy, text, len);
	return copy;
}

char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
	va_list again;
	char *text;
	int len;

	check(fmt != NULL);
	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	check(len >= 0);
	text = arena_alloc(a, (size_t)len + 1);
	(void)vsnprintf(text, (size_t)len + 1, fmt, ap); /* measured above */
	return text;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = arena_vprintf(a, fmt, ap);
	va_end(ap);
	return text;
}

void *arena_grow(struct arena *a, void *array, size_t count, size_t item_size)
{
	void *larger;

	check(item_size > 0);
	if (count != 0 && (count & (count - 1)) != 0)
		return array;
	check(count < SIZE_MAX / item_size / 2);
	larger = arena_alloc(a, (count == 0 ? 1 : 2 * count) * item_size);
	if (count != 0)
		memcpy(larger, array, count * item_size);
	return larger;
}

void arena_free(struct arena *a)
{
	while (a->blocks != NULL) {
		struct arena_block *block = a->blocks;

		a->blocks = block->next;
		if (block->release != NULL)
			block->release(block->bytes);
		free(block);
	}
}

/* SPDX-License-Identifier: MIT
 *
 * arena.h - memory that lives as long as one reading of the configuration, freed in one go.
 *
 * Every allocation is a block of its own, so that a sanitizer sees where each one ends. It hands
 * out zeroed memory and never NULL: without memory for a configuration there is nothing to run,
 * so a failed allocation is a broken check. Main thread. Floor 2.
 */
#ifndef SLUICE_CONFIG_ARENA_H
#define SLUICE_CONFIG_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *blocks; /* owns */
};

void *arena_alloc(struct arena *a, size_t size);
char *arena_strndup(struct arena *a, const char *text, size_t len);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Room for one more: an array of `count` items grows when `count` is 0 or a power of two, so its
 * capacity need not be kept. Returns the array, moved or not. */
void *arena_grow(struct arena *a, void *array, size_t count, size_t item_size);
void arena_free(struct arena *a);

#endif

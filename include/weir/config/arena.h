/* SPDX-License-Identifier: MIT
 *
 * arena.h - memory that lives as long as one reading of the configuration, freed in one go.
 *
 * Every allocation is a block of its own, so that a sanitizer sees where each one ends. It hands
 * out zeroed memory and never NULL. When there is no memory it jumps to `no_memory`, which
 * config_read() sets before it reads and clears before it returns: a reload that runs out of memory
 * is refused, the process goes on. The jump was chosen over a NULL at each of the hundred calls
 * between a line and the snapshot, because none of them could do anything but pass it up. The price
 * is a rule: between setting `no_memory` and arena_free() nobody holds anything that the arena does
 * not know; what must be released goes into a block of arena_alloc_owner(). Without `no_memory` a
 * failed allocation is a broken check. Main thread.
 */
#ifndef WEIR_CONFIG_ARENA_H
#define WEIR_CONFIG_ARENA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *blocks; /* owns */
	jmp_buf *no_memory;	    /* borrows, while config_read() runs; NULL = broken check */
};

void *arena_alloc(struct arena *a, size_t size);
/* The same, and arena_free() calls `release` with it; it may still be all zero then. */
void *arena_alloc_owner(struct arena *a, size_t size, void (*release)(void *bytes));
/* What arena_alloc() does without memory, for allocations of others. */
void arena_no_memory(const struct arena *a) __attribute__((noreturn));
char *arena_strndup(struct arena *a, const char *text, size_t len);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Room for one more: an array of `count` items grows when `count` is 0 or a power of two, so its
 * capacity need not be kept. Returns the array, moved or not. */
void *arena_grow(struct arena *a, void *array, size_t count, size_t item_size);
void arena_free(struct arena *a);

#endif

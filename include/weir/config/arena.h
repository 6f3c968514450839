/* SPDX-License-Identifier: MIT
 *
 * arena.h - memory that lives as long as one reading of the configuration, or one copy, freed in one go.
 *
 * Every allocation is a separate block, so that a sanitizer sees where each one ends. Memory is zeroed and
 * never NULL. When memory runs out the arena jumps to `no_memory`, which config_read() sets before it reads
 * and clears before it returns: a reload that runs out of memory is refused and the process continues. The
 * jump was chosen over returning NULL from each of the hundred calls between a line and the snapshot, because
 * none of them could do anything but pass it up. The price is a rule: between setting `no_memory` and
 * arena_free() nobody may hold anything unknown to the arena; anything that must be released goes into a
 * block of arena_alloc_owner(). With `max`, memory runs out when the blocks together have more bytes than
 * that. A copy (copy.h) is made in the same way. Without `no_memory` a failed
 * allocation fails a check(). One thread at a time.
 */
#ifndef WEIR_CONFIG_ARENA_H
#define WEIR_CONFIG_ARENA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *blocks; /* owns */
	jmp_buf *no_memory;	    /* borrows, while its setter runs; NULL = failed check() */
	size_t max;		    /* bytes; 0 = no limit */
	size_t used;		    /* bytes, with those of the blocks' heads */
};

void *arena_alloc(struct arena *a, size_t size);
/* The same, and arena_free() calls `release` with it; the block may still be all zero then. */
void *arena_alloc_owner(struct arena *a, size_t size, void (*release)(void *bytes));
/* Does what arena_alloc() does when out of memory, for allocations made elsewhere. */
void arena_no_memory(const struct arena *a) __attribute__((noreturn));
char *arena_strndup(struct arena *a, const char *text, size_t len);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Makes room for one more item: an array of `count` items grows when `count` is 0 or a power of two, so its
 * capacity need not be stored. Returns the array, moved or not. */
void *arena_grow(struct arena *a, void *array, size_t count, size_t item_size);
void arena_free(struct arena *a);

#endif

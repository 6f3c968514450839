/* SPDX-License-Identifier: MIT
 *
 * alloc_fail.h - lets the allocation of a given number fail, and counts what is allocated.
 *
 * The program is linked with the arguments alloc_fail of tests/meson.build. Any thread.
 */
#ifndef WEIR_TESTS_BASE_ALLOC_FAIL_H
#define WEIR_TESTS_BASE_ALLOC_FAIL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

void *__real_calloc(size_t count, size_t size);
void *__real_malloc(size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void __real_free(void *p);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
void __wrap_free(void *p);

static atomic_long until_failure = -1; /* allocations that still succeed; -1 = all */
static atomic_bool failure_lasts;      /* those after the one that fails fail, too */
static atomic_long allocated;	       /* and not freed */

/* The allocation `number` from here on fails, 0 = the next, as do those after it; -1: none does. */
static inline void fail_allocations_from(long number)
{
	failure_lasts = true;
	until_failure = number;
}

static inline bool allocation_fails(void)
{
	if (until_failure < 0)
		return false;
	if (failure_lasts && until_failure == 0)
		return true;
	return until_failure-- == 0;
}

static inline void *counted_new(void *p)
{
	allocated += p != NULL;
	return p;
}

void *__wrap_calloc(size_t count, size_t size)
{
	return allocation_fails() ? NULL : counted_new(__real_calloc(count, size));
}

void *__wrap_malloc(size_t size)
{
	return allocation_fails() ? NULL : counted_new(__real_malloc(size));
}

void *__wrap_realloc(void *p, size_t size)
{
	if (allocation_fails())
		return NULL;
	return p == NULL ? counted_new(__real_realloc(p, size)) : __real_realloc(p, size);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
	return allocation_fails() ? NULL : counted_new(__real_aligned_alloc(align, size));
}

void __wrap_free(void *p)
{
	allocated -= p != NULL;
	__real_free(p);
}

#endif

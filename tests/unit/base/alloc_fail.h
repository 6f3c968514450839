/* SPDX-License-Identifier: MIT
 *
 * alloc_fail.h - lets the allocation of a given number fail.
 *
 * The program is linked with --wrap=aligned_alloc and --wrap=realloc, which catches the code under test.
 */
#ifndef WEIR_TESTS_BASE_ALLOC_FAIL_H
#define WEIR_TESTS_BASE_ALLOC_FAIL_H

#include <stdbool.h>
#include <stddef.h>

void *__real_aligned_alloc(size_t align, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
void *__wrap_realloc(void *old, size_t size);

static unsigned allocations_to_failure; /* 0: none fails */

/* The allocation number `number` from here on fails, as do those after it; 0: none does. */
static inline void fail_allocation(unsigned number)
{
	allocations_to_failure = number;
}

static inline bool allocation_fails(void)
{
	if (allocations_to_failure > 1)
		allocations_to_failure--;
	else if (allocations_to_failure == 1)
		return true;
	return false;
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
	return allocation_fails() ? NULL : __real_aligned_alloc(align, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return allocation_fails() ? NULL : __real_realloc(old, size);
}

#endif

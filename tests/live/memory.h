/* SPDX-License-Identifier: MIT
 *
 * memory.h - what the program has allocated, and allocations and system calls that fail on purpose.
 *
 * The linker wraps the functions (meson.build). Any thread, but the failures, which are the calling thread's.
 */
#ifndef WEIR_TESTS_LIVE_MEMORY_H
#define WEIR_TESTS_LIVE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* In use now. */
size_t memory_bytes(void);
size_t memory_blocks(void);
/* From now on, the `nth` allocation or system call of this thread fails, 0 = the first; later ones do not. */
void memory_fail(unsigned nth);
/* No longer. True if one has failed. */
bool memory_fail_no_more(void);

#endif

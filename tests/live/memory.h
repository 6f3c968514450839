/* SPDX-License-Identifier: MIT
 *
 * memory.h - what the program has allocated, and allocations and system calls that fail on purpose.
 *
 * The linker wraps the functions (meson.build). Left out are write(2) to an eventfd, which fails only when
 * its reader is awake anyway, and what cannot fail. Any thread, but the failures, which are the calling
 * thread's.
 */
#ifndef WEIR_TESTS_LIVE_MEMORY_H
#define WEIR_TESTS_LIVE_MEMORY_H

#include <stddef.h>

/* In use now. */
size_t memory_bytes(void);
size_t memory_blocks(void);
/* What the calling thread has taken and not given back; memory that another thread has taken counts, too. */
struct memory_own {
	long bytes, blocks, fds;
};

struct memory_own memory_own(void);
/* From now on, the `nth` allocation or system call of this thread fails, 0 = the first; later ones do not. */
void memory_fail(unsigned nth);
/* From the `nth` on, every one of them fails. */
void memory_fail_from(unsigned nth);
/* From now on, every one of them fails. */
void memory_fail_all(void);
/* No longer. The first function that has failed; NULL = none. */
const char *memory_fail_no_more(void);
/* The next `count` accepts of any thread fail. */
void memory_fail_accepts(unsigned count);

#endif

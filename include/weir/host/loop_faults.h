/* SPDX-License-Identifier: MIT
 *
 * loop_faults.h - libev's allocator and its handler of fatal errors.
 *
 * libev aborts the process if it gets no memory. Here it allocates from malloc(3), and from a reserve if that
 * fails. Only if the reserve is used up too does the process end, after reporting why. Process-wide state,
 * for the main thread only.
 */
#ifndef WEIR_HOST_LOOP_FAULTS_H
#define WEIR_HOST_LOOP_FAULTS_H

#include <stddef.h>

/* Enough for one watched descriptor and its timer, if it has one: an entry in each of libev's tables, which
 * double when they are full and are copied then. */
#define LOOP_BYTES_PER_FD 512u

/* Installs both in libev; call before creating the first loop. 0 or -ENOMEM. */
int loop_faults_init(void);
/* And for each number up to the highest that is watched, as the table of descriptors has an entry for it. */
#define LOOP_BYTES_PER_NUMBER 64u

/* Sizes the reserve for this many watched descriptors with numbers below `numbers`, and faults in the stack
 * of this thread. Call before anything runs short, and before a change that adds watchers is committed. The
 * reserve never shrinks. 0, or -ENOMEM with the reserve as before: also if it is in use and too small. */
int loop_faults_reserve(size_t fds, size_t numbers);
/* Call after the last loop is gone. */
void loop_faults_free(void);

/* The allocator as ev_set_allocator() wants it, public for its test. Allocates from malloc(3) first. */
void *loop_faults_alloc(void *ptr, long size);
void loop_faults_set_source(void *(*source)(void *ptr, size_t size));

#endif

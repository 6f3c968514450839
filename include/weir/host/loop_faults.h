/* SPDX-License-Identifier: MIT
 *
 * loop_faults.h - what the control loop's library asks for when it can go no further: memory, and words.
 *
 * libev aborts the process when it gets no memory. It gets its own from malloc(3), and from a reserve when
 * that has none; only when the reserve is used up the process ends, and says so. State of the process, of
 * the main thread alone.
 */
#ifndef WEIR_HOST_LOOP_FAULTS_H
#define WEIR_HOST_LOOP_FAULTS_H

#include <stddef.h>

/* Enough for each descriptor that the loop watches, with the one timer that it may have: an entry in each
 * of the tables, which double, and are copied when they do. */
#define LOOP_BYTES_PER_FD 512u

/* Takes over from libev; call before the first loop is made. 0 or -ENOMEM. */
int loop_faults_init(void);
/* Makes the reserve large enough for so many descriptors, and makes sure of the stack of this thread. Call
 * before anything is in short supply. 0 or -ENOMEM. */
int loop_faults_reserve(size_t fds);
/* After the last loop is gone. */
void loop_faults_free(void);

/* The allocator, as ev_set_allocator() wants it, and for its test: memory comes from `source` first. */
void *loop_faults_alloc(void *ptr, long size);
void loop_faults_set_source(void *(*source)(void *ptr, size_t size));

#endif

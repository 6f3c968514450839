/* SPDX-License-Identifier: MIT
 *
 * uring.h - the io_uring driver, where the build and the kernel support it.
 */
#ifndef WEIR_IO_URING_H
#define WEIR_IO_URING_H

#include <stdbool.h>
#include <stddef.h>

#include "weir/io/io.h"

extern const struct io_driver io_uring_driver; /* only in a build with liburing */

/* Room for the longest reason. */
#define URING_WHY_MAX 160

/* Enough locked memory for one worker, where rings count as locked memory: one ring takes about 104 KiB
 * (measured on Linux 6.18 with 4 KiB pages), and the kernel holds the memory of an ended process for a moment
 * longer. */
#define URING_LOCKED_KIB 250u

/* Was the driver compiled in (meson feature io_uring)? */
bool uring_is_built(void);

/* Returns the driver if a ring that it can use can be created and used right now; otherwise NULL, and `why`
 * is the reason in words for a log line: "kernel.io_uring_disabled is 2", ... `room` bytes, cut if longer.
 * Creates a small ring and closes it again; many large ones may still be refused, which shows when the
 * workers create theirs at start. Call after privileges are dropped: the answer is for this user. Any
 * thread. */
const struct io_driver *uring_driver(char *why, size_t room);

/* For a preflight that no start follows: can `workers` rings (at least 1), each of the size that a worker
 * uses, exist at once? Creates them in addition to the small one, and closes them all. 0 and "", or -errno
 * and the reason. Not for a start: the kernel holds closed rings for a moment, and those of the workers would
 * be refused. Any thread. */
int uring_rehearse(unsigned workers, char *why, size_t room);

/* The reason in the same words for an -errno `err` from creating a ring. Any thread. */
void uring_explain(int err, char *why, size_t room);

#endif

/* SPDX-License-Identifier: MIT
 *
 * uring.h - the io_uring driver, where the build and the kernel have it.
 */
#ifndef WEIR_IO_URING_H
#define WEIR_IO_URING_H

#include <stdbool.h>
#include <stddef.h>

#include "weir/io/io.h"

extern const struct io_driver io_uring_driver; /* only in a build with liburing */

/* Room for the longest reason. */
#define URING_WHY_MAX 160

/* Locked memory that is enough for a worker, where rings count as such: one ring takes some 104 KiB (measured
 * on Linux 6.18 with pages of 4 KiB), and the kernel holds that of an ended process for a moment longer. */
#define URING_LOCKED_KIB 250u

/* Was the driver compiled in (meson feature io_uring)? */
bool uring_is_built(void);

/* The driver, when a ring as it needs one can be made and used here and now; else NULL, and `why` is the
 * reason in words for a log line: "kernel.io_uring_disabled is 2", ... `room` bytes, cut where it is longer.
 * Makes a small ring and closes it again; many large ones may still be refused, which a start sees when it
 * makes them. Ask after privileges are dropped: the answer is for this user. Any thread. */
const struct io_driver *uring_driver(char *why, size_t room);

/* For who only asks: can `workers` rings (at least 1), each of the size that a worker has, be there at once?
 * Makes them beside the small one, and closes them all. 0 and "", or -errno and the reason. Not for a start:
 * the kernel holds closed rings for a moment, and the workers' would be refused. Any thread. */
int uring_rehearse(unsigned workers, char *why, size_t room);

/* The same words for the -errno `err` with which a ring could not be made. Any thread. */
void uring_explain(int err, char *why, size_t room);

#endif

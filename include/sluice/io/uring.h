/* SPDX-License-Identifier: MIT
 *
 * uring.h - the io_uring driver, where the build and the kernel have it.
 *
 * Floor 1.
 */
#ifndef SLUICE_IO_URING_H
#define SLUICE_IO_URING_H

#include <stdbool.h>
#include <stddef.h>

#include "sluice/io/io.h"

extern const struct io_driver io_uring_driver; /* only in a build with liburing */

/* Room for the longest reason. */
#define URING_WHY_MAX 160

/* Was the driver compiled in (meson feature io_uring)? */
bool uring_is_built(void);

/* The driver, when a ring as it needs one can be made and used here and now; else NULL, and `why` is the
 * reason in words for a log line: "kernel 5.15.0 lacks what it needs: 6.1 or later has it",
 * "kernel.io_uring_disabled is 2", ... `room` bytes, cut where it is longer. Makes a small ring and closes it
 * again; many large ones may still be refused. Ask after privileges are dropped: the answer is for this user.
 * Any thread. */
const struct io_driver *uring_driver(char *why, size_t room);

/* The same words for the -errno `err` with which a ring could not be made. Any thread. */
void uring_explain(int err, char *why, size_t room);

#endif

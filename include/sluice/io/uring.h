/* SPDX-License-Identifier: MIT
 *
 * uring.h - the io_uring driver, where the build and the kernel have it.
 *
 * Floor 1.
 */
#ifndef SLUICE_IO_URING_H
#define SLUICE_IO_URING_H

#include <stddef.h>

#include "sluice/io/io.h"

extern const struct io_driver io_uring_driver; /* only in a build with liburing */

/* The driver, when a ring as it needs one can be made here and now; else NULL, and `why` is the reason in
 * words for a log line: "the kernel is too old (5.15; 6.1 or later)", "kernel.io_uring_disabled is 2", ...
 * `room` bytes, cut where it is longer. Makes a ring and closes it again. Any thread. */
const struct io_driver *uring_driver(char *why, size_t room);

#endif

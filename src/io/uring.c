/* SPDX-License-Identifier: MIT
 *
 * uring.c - the io_uring driver. One thread a loop. Floor 1.
 */
#include "sluice/io/io.h"

extern const struct io_driver io_uring_driver;
const struct io_driver io_uring_driver = {.name = "io_uring"};

/* SPDX-License-Identifier: MIT
 *
 * failures.h - changes in which each allocation and each system call fails in turn.
 *
 * Main thread.
 */
#ifndef WEIR_TESTS_LIVE_FAILURES_H
#define WEIR_TESTS_LIVE_FAILURES_H

#include <stdbool.h>

/* Each kind of change, while one call after the other fails, until it is made without a failure; after
 * changes_begin(). `folder` is that of Unix sockets. Prints and aborts when a change that was refused has
 * left a trace. */
void failures_round(const char *folder);
/* What failed, by kind; false if a kind was made fewer than `least` times. */
bool failures_print(unsigned least);

#endif

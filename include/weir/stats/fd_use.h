/* SPDX-License-Identifier: MIT
 *
 * fd_use.h - how many file descriptors this process has open, and how many it may have.
 *
 * Costs one system call each, however many are open. Any thread.
 */
#ifndef WEIR_STATS_FD_USE_H
#define WEIR_STATS_FD_USE_H

#include <stdint.h>

struct engine;

/* Before Linux 6.2 the kernel does not say: then an estimate, two per session and per pipe. */
uint64_t fd_use_open(const struct engine *e);
/* The soft RLIMIT_NOFILE. */
uint64_t fd_use_limit(void);

#endif

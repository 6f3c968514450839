/* SPDX-License-Identifier: MIT
 *
 * low_fds.h - low descriptor numbers for control, however many sessions are open.
 *
 * libev has a table with an entry for every number up to the highest that it has watched. One health check
 * started while a million descriptors are open would grow the table to 16 MB, and abort the process if that
 * memory is not available. So the numbers that control needs are reserved from the start by copies of
 * /dev/null, and a new descriptor takes the number of one of them. Process-wide state; main thread only.
 */
#ifndef WEIR_SYS_LOW_FDS_H
#define WEIR_SYS_LOW_FDS_H

/* Reserves `count` numbers. Returns the first number above all of them, or -errno with none reserved. Before
 * this call, and after low_fds_free(), the functions below leave numbers unchanged. */
int low_fds_hold(unsigned count);
void low_fds_free(void);
/* Moves `fd` to a low number and returns that, or -errno: -EMFILE when all are in use. Takes ownership of
 * `fd`, which must not be watched yet. A negative `fd`, an -errno, is returned as it is. */
int low_fds_take(int fd);
/* Returns a descriptor that is only a placeholder for another, or -errno. The caller closes it. */
int low_fds_open_null(void);
/* Closes a descriptor from low_fds_take() and reserves its number again. */
void low_fds_close(int fd);

#endif

/* SPDX-License-Identifier: MIT
 *
 * low_fds.h - low descriptor numbers for control, however many sessions are open.
 *
 * libev has a table with an entry for every number up to the highest that it has watched. One health check
 * started while a million descriptors are open would grow the table to 16 MB, and abort the process if that
 * memory is not available. So the numbers that control needs are reserved from the start by copies of
 * /dev/null, and a new descriptor takes the number of one of them. Process-wide state; main thread only.
 *
 * Whoever may need a number claims it first, at startup or before a change is committed. Numbers beyond those
 * reserved at startup are as low as they are then, and libev's reserve grows with them; a descriptor gets the
 * lowest number that is free.
 */
#ifndef WEIR_SYS_LOW_FDS_H
#define WEIR_SYS_LOW_FDS_H

/* Reserves `count` numbers, or more if more are claimed. Returns the first number above all of them, or
 * -errno with none reserved. Before this call, and after low_fds_free(), the functions below leave numbers
 * unchanged. */
int low_fds_hold(unsigned count);
void low_fds_free(void);
/* Called when claims need more numbers: makes the loop ready to watch `count` descriptors with numbers below
 * `end`. 0, or -errno, with which the claim fails. NULL = nothing to do. */
void low_fds_on_growth(int (*ready)(unsigned count, int end));
/* `count` more descriptors may be open at once from now on. 0, or with nothing changed -errno: -ENOMEM;
 * -EMFILE, the limit of open files is reached; -ENFILE, that of the machine. */
int low_fds_claim(unsigned count);
/* For a message about such an error: what the operator can do, as "raise ..."; static. */
const char *low_fds_advice(int err);
/* The opposite. What is reserved beyond the count of low_fds_hold() is given back: at once, or when the
 * descriptor that has the number is closed. The rest stays reserved for later claims. */
void low_fds_unclaim(unsigned count);
/* Moves `fd` to a reserved number, so that the count of open descriptors does not depend on which numbers
 * were free; if all are in use, a low number is kept. Returns the number, or -errno: -EMFILE when all are in
 * use. Takes ownership of `fd`, which must not be watched yet. A negative `fd`, an -errno, is returned as it
 * is. */
int low_fds_take(int fd);
/* Returns a descriptor that is only a placeholder for another, or -errno. The caller closes it. */
int low_fds_open_null(void);
/* Closes a descriptor from low_fds_take() and reserves its number again. */
void low_fds_close(int fd);

#endif

/* SPDX-License-Identifier: MIT
 *
 * low_fds.h - low numbers for the descriptors of control, however many sessions there are.
 *
 * libev has a table with a place for each number up to the highest that it has watched: one check, made
 * while a million descriptors are open, would make it 16 MB large, and abort the process where that is not
 * to be had. So the numbers that control needs are held from the start by copies of /dev/null, and a new
 * descriptor takes the number of one of them. State of the process, of the main thread alone.
 */
#ifndef WEIR_SYS_LOW_FDS_H
#define WEIR_SYS_LOW_FDS_H

/* Holds `count` numbers. The first number above all of them, or -errno, with none held. Until then, and
 * after low_fds_free(), the functions below leave numbers as they are. */
int low_fds_hold(unsigned count);
void low_fds_free(void);
/* `fd` under a low number (takes it; nobody may watch it yet), or -errno: -EMFILE when all are in use. What
 * is an -errno already stays one. */
int low_fds_take(int fd);
/* A descriptor that stands for nothing, to be held in another's place; or -errno. The caller closes it. */
int low_fds_open_null(void);
/* Closes what low_fds_take() has given, and holds its number again. */
void low_fds_close(int fd);

#endif

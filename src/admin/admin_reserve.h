/* SPDX-License-Identifier: MIT
 *
 * admin_reserve.h - descriptors in reserve, so that admin can accept when the process is out of them.
 *
 * One is given up for a client, and taken back when a client has gone. Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_RESERVE_H
#define WEIR_ADMIN_ADMIN_RESERVE_H

#define ADMIN_RESERVE 4

struct admin_reserve {
	/* Owns; -1 = given up. One would be enough if no worker could take the number between its close and
	 * the accept; losing several in a row that way is next to impossible. */
	int fds[ADMIN_RESERVE];
};

/* Empty until admin_reserve_refill(). */
void admin_reserve_init(struct admin_reserve *r);
/* A client has gone, or there may be descriptors again. */
void admin_reserve_refill(struct admin_reserve *r);
void admin_reserve_free(struct admin_reserve *r);
/* Accepts on the listening socket `fd`: a nonblocking connection or -errno; -EAGAIN if no client is
 * waiting. */
int admin_reserve_accept(struct admin_reserve *r, int fd);

#endif

/* SPDX-License-Identifier: MIT
 *
 * stale_entry.h - a submission entry as liburing hands it out: what an earlier use left is still in it.
 *
 * io_uring_prep_*() used to set every field. Since liburing 2.6 or so io_uring_get_sqe() clears the common
 * ones instead, and io_uring_prep_*() sets only its own. A ring of the tests stands in for
 * io_uring_get_sqe(), so it fills the entry with garbage and lets the installed liburing hand it out: the
 * driver may rely on what liburing clears, in whichever call, and on nothing else. Tests only.
 */
#ifndef SIM_STALE_ENTRY_H
#define SIM_STALE_ENTRY_H

#include <liburing.h>
#include <string.h>

static inline struct io_uring_sqe *stale_entry(struct io_uring_sqe *sqe)
{
	unsigned head = 0, mask = 0, entries = 1;
	struct io_uring one = {.sq = {.khead = &head,
				      .kring_mask = &mask,
				      .kring_entries = &entries,
				      .ring_mask = mask,
				      .ring_entries = entries,
				      .sqes = sqe}};

	memset(sqe, 0xa5, sizeof(*sqe));
	return io_uring_get_sqe(&one);
}

#endif

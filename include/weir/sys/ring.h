/* SPDX-License-Identifier: MIT
 *
 * ring.h - an io_uring and its provided buffers, and nothing of what is done with them.
 *
 * The seam below the io_uring driver: production links src/sys/ring.c, the simulator and the fuzzer link
 * rings of their own in its place, whose completions they make up. Entries are the kernel's own structures
 * (io_uring_enter(2)), filled in by liburing's inline helpers. The thread that switches a ring on is the only
 * one that may use it from then on (IORING_SETUP_SINGLE_ISSUER).
 */
#ifndef WEIR_SYS_RING_H
#define WEIR_SYS_RING_H

#include <stdbool.h>
#include <stdint.h>

#include <liburing.h>

/* The one group of provided buffers. */
#define RING_BUF_GROUP 0

struct ring;

/* A completion, without the kernel's empty tail. */
struct ring_done {
	uint64_t user_data;
	int32_t res;
	uint32_t flags;
};

/* Sizes, each a power of two. */
struct ring_shape {
	uint32_t submissions;
	/* More than that at once are kept by the kernel while it has memory for them. Without it one is lost,
	 * and ring_enter() returns -EBADR: nobody can rely on such a ring any more. */
	uint32_t completions;
	uint32_t bufs;        /* how many buffers the kernel may be lent at once, at most 32768 */
};

/* Makes a ring that is still switched off: IORING_SETUP_SINGLE_ISSUER, DEFER_TASKRUN, R_DISABLED; only what
 * the driver uses may be asked of it (IORING_REGISTER_RESTRICTIONS). Entries may be filled in, they are
 * submitted once it is on. 0 or -errno of io_uring_setup(2), io_uring_register(2) or mmap(2). Any thread. */
int ring_open(struct ring **out, const struct ring_shape *shape);
/* Switches it on, for the calling thread. 0 or -errno. */
int ring_enable(struct ring *r);
/* Ends it; whatever is still pending is cancelled by the kernel, and descriptors whose close it has not taken
 * are closed. Any thread, when its own uses it no more. */
void ring_close(struct ring *r);

/* An entry to fill in by one of the io_uring_prep_ helpers; when there is no room the others are submitted
 * first. Valid until the next call. */
struct io_uring_sqe *ring_sqe(struct ring *r);
/* Makes room for the next `count` entries (at most ring_shape.submissions), which are then submitted
 * together: the kernel ends a chain (IOSQE_IO_LINK) with the last entry of a submission. */
void ring_reserve(struct ring *r, uint32_t count);
/* For ring_enter(): no wait either, but all that is ready, however much; dearer than 0. */
#define RING_ALL INT64_MIN

/* Submits everything, runs some of what the kernel put off, and waits until at least one completion is there,
 * at most `timeout_ns` (< 0: for ever, 0: not at all; or RING_ALL). 0, also when the time is up or a signal
 * came, or -errno; -EBADR when completions were dropped, each time from then on. */
int ring_enter(struct ring *r, int64_t timeout_ns);
/* Takes the oldest completions, at most `max`; fewer means that there are no more for now. */
uint32_t ring_take(struct ring *r, struct ring_done *out, uint32_t max);
/* Were there more than the ring had room for? The kernel brings the rest at the next ring_enter(). */
bool ring_is_behind(const struct ring *r);

/* Lends the kernel `len` bytes at `data` as buffer `id` (below shape.bufs, lent once at a time) for reads
 * with IOSQE_BUFFER_SELECT of RING_BUF_GROUP. It sees them from the next ring_enter() on, and owns the memory
 * until a completion with IORING_CQE_F_BUFFER names the id, or the ring is closed. */
void ring_lend(struct ring *r, uint16_t id, void *data, uint32_t len);

#endif

/* SPDX-License-Identifier: MIT
 *
 * ring.h - an io_uring and its provided buffers, without any policy.
 *
 * The seam below the io_uring driver: production links src/sys/ring.c, the simulator and the fuzzer link
 * their own rings instead and invent the completions. Entries are the kernel's own structures
 * (io_uring_enter(2)), filled in by liburing's inline helpers. From then on only the thread that enables a
 * ring may use it (IORING_SETUP_SINGLE_ISSUER).
 */
#ifndef WEIR_SYS_RING_H
#define WEIR_SYS_RING_H

#include <stdbool.h>
#include <stdint.h>

#include <liburing.h>

/* The only group of provided buffers. */
#define RING_BUF_GROUP 0

struct ring;

/* A completion, without the unused tail of the kernel's structure. */
struct ring_done {
	uint64_t user_data;
	int32_t res;
	uint32_t flags;
};

/* Sizes, each a power of two. */
struct ring_shape {
	uint32_t submissions;
	/* The kernel keeps any further ones while it has memory for them. When memory runs out a completion
	 * is lost and ring_enter() returns -EBADR: such a ring is no longer reliable. */
	uint32_t completions;
	uint32_t bufs;        /* buffers that may be lent to the kernel at once, at most 32768 */
};

/* Creates a ring that is still disabled: IORING_SETUP_SINGLE_ISSUER, DEFER_TASKRUN, R_DISABLED, and
 * restricted to the operations that the driver uses (IORING_REGISTER_RESTRICTIONS). Entries may be filled in
 * already; they are submitted once the ring is enabled. 0 or -errno of io_uring_setup(2),
 * io_uring_register(2) or mmap(2). Any thread. */
int ring_open(struct ring **out, const struct ring_shape *shape);
/* Enables it for the calling thread. 0 or -errno. */
int ring_enable(struct ring *r);
/* Frees the ring. The kernel cancels whatever is still pending; descriptors whose close it has not accepted
 * yet are closed here. Any thread, once the ring's own thread no longer uses it. */
void ring_close(struct ring *r);

/* Returns an entry to fill in with one of the io_uring_prep_ helpers; if there is no room, the entries before
 * it are submitted first. Valid until the next call. */
struct io_uring_sqe *ring_sqe(struct ring *r);
/* Makes room for the next `count` entries (at most ring_shape.submissions), which are then submitted
 * together: the kernel ends a chain (IOSQE_IO_LINK) with the last entry of a submission. */
void ring_reserve(struct ring *r, uint32_t count);
/* For ring_enter(): no wait, but process everything that is ready, however much. Costs more than 0. */
#define RING_ALL INT64_MIN

/* Submits everything, runs some of the kernel's deferred work, and waits for at least one completion, at most
 * `timeout_ns` (< 0: for ever, 0: not at all; or RING_ALL). Returns 0, also after a timeout or a signal, or
 * -errno; -EBADR once completions have been dropped, and on every later call. */
int ring_enter(struct ring *r, int64_t timeout_ns);
/* Takes the oldest completions, at most `max`; fewer means that no more are ready. */
uint32_t ring_take(struct ring *r, struct ring_done *out, uint32_t max);
/* Were there more than the ring had room for? The kernel delivers the rest at the next ring_enter(). */
bool ring_is_behind(const struct ring *r);

/* Lends the kernel `len` bytes at `data` as buffer `id` (below shape.bufs, not lent already) for reads with
 * IOSQE_BUFFER_SELECT of RING_BUF_GROUP. The kernel sees the buffer from the next ring_enter() on, and owns
 * the memory until a completion with IORING_CQE_F_BUFFER names the id, or the ring is closed. */
void ring_lend(struct ring *r, uint16_t id, void *data, uint32_t len);

#endif

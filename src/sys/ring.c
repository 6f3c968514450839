/* SPDX-License-Identifier: MIT
 *
 * ring.c - an io_uring and its provided buffers, by liburing or, where Debian 12's liburing (2.3) lacks a
 * helper, by the kernel's structures.
 *
 * Decides nothing: the driver (uring.c) chooses the operations and interprets completions. The simulator
 * replaces this file. One thread per ring.
 */
#include "weir/sys/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/sys/sys.h"

/* Linux 6.15; unknown to liburing 2.3. Without them a waiting worker is accounted as waiting for a disk. */
#define RING_FEAT_NO_IOWAIT (1U << 17)
#define RING_ENTER_NO_IOWAIT (1U << 7)

/* No completion is lost, a wait can have a timeout, and a success may post no completion. All of these are
 * older than DEFER_TASKRUN, but a kernel that only emulates Linux may differ. */
#define RING_NEEDS (IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG | IORING_FEAT_CQE_SKIP)

/* How long to wait when the kernel is out of a resource. */
#define RING_SHORT_NS NS_PER_MS

struct ring {
	struct io_uring uring;
	struct io_uring_buf_ring *bufs; /* owns: a mapping */
	uint32_t buf_mask;
	uint16_t buf_tail; /* publish_entries() writes the kernel's copy */
	bool on;
	unsigned wait_flags;
};

static size_t bufs_bytes(const struct ring *r)
{
	return ((size_t)r->buf_mask + 1) * sizeof(struct io_uring_buf);
}

static int register_bufs(struct ring *r, uint32_t count)
{
	struct io_uring_buf_reg reg = {.ring_entries = count, .bgid = RING_BUF_GROUP};
	void *map;
	int err;

	check((count & (count - 1)) == 0);
	r->buf_mask = count - 1;
	map = mmap(NULL, bufs_bytes(r), PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
	if (map == MAP_FAILED)
		return -errno;
	reg.ring_addr = (uintptr_t)map;
	err = io_uring_register_buf_ring(&r->uring, &reg, 0);
	if (err) {
		(void)munmap(map, bufs_bytes(r)); /* it is a mapping of ours */
		return err;
	}
	r->bufs = map;
	return 0;
}

/* A vulnerability in the engine must not open up the machine: a ring can do much that seccomp does not see,
 * so it is restricted to the operations that the driver uses. -EINVAL where the kernel does not support one
 * of these. */
static int restrict_to_driver(struct ring *r)
{
	static const uint8_t ops[] = {IORING_OP_POLL_ADD, IORING_OP_ASYNC_CANCEL, IORING_OP_CONNECT,
				      IORING_OP_RECV,     IORING_OP_SEND,         IORING_OP_CLOSE,
				      IORING_OP_TIMEOUT};
	struct io_uring_restriction list[sizeof(ops) + 3];
	unsigned n = 0;

	memset(list, 0, sizeof(list));
	for (size_t i = 0; i < sizeof(ops); i++) {
		list[n].opcode = IORING_RESTRICTION_SQE_OP;
		list[n++].sqe_op = ops[i];
	}
	list[n].opcode = IORING_RESTRICTION_SQE_FLAGS_ALLOWED;
	list[n++].sqe_flags = IOSQE_BUFFER_SELECT | IOSQE_CQE_SKIP_SUCCESS | IOSQE_IO_LINK;
	list[n].opcode = IORING_RESTRICTION_REGISTER_OP;
	list[n++].register_op = IORING_REGISTER_ENABLE_RINGS;
	return io_uring_register((unsigned)r->uring.ring_fd, IORING_REGISTER_RESTRICTIONS, list, n);
}

int ring_open(struct ring **out, const struct ring_shape *shape)
{
	struct io_uring_params p = {
		.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_R_DISABLED |
			 IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CQSIZE,
		.cq_entries = shape->completions,
	};
	struct ring *r = calloc(1, sizeof(*r));
	int err;

	if (r == NULL)
		return -ENOMEM;
	err = io_uring_queue_init_params(shape->submissions, &r->uring, &p);
	if (err) {
		free(r);
		return err;
	}
	err = (r->uring.features & RING_NEEDS) == RING_NEEDS ? register_bufs(r, shape->bufs) : -EINVAL;
	if (!err)
		err = restrict_to_driver(r);
	if (err) {
		ring_close(r);
		return err;
	}
	r->wait_flags = IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG;
	if (r->uring.features & RING_FEAT_NO_IOWAIT)
		r->wait_flags |= RING_ENTER_NO_IOWAIT;
	*out = r;
	return 0;
}

int ring_enable(struct ring *r)
{
	const int err = io_uring_register((unsigned)r->uring.ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0);

	r->on = err == 0;
	return err;
}

/* ---- submitting ---- */

/* Publishes all filled-in entries to the kernel and returns how many. With liburing 2.6 or later on Linux 6.6
 * or later (IORING_SETUP_NO_SQARRAY) there is no index array: the position is the index. */
static unsigned publish_entries(struct ring *r)
{
	struct io_uring_sq *sq = &r->uring.sq;
	const unsigned mask = *sq->kring_mask;
	unsigned tail = *sq->ktail;

	if (r->bufs != NULL)
		io_uring_smp_store_release(&r->bufs->tail, r->buf_tail);
	while (sq->sqe_head != sq->sqe_tail) {
		if (sq->array != NULL)
			sq->array[tail & mask] = sq->sqe_head & mask;
		tail++;
		sq->sqe_head++;
	}
	io_uring_smp_store_release(sq->ktail, tail);
	return tail - *sq->khead;
}

/* Closes the descriptors of close entries that the kernel has not accepted: out of memory, it accepts
 * none. */
static void close_untaken(struct ring *r)
{
	const struct io_uring_sq *sq = &r->uring.sq;
	const unsigned mask = *sq->kring_mask;

	for (unsigned left = publish_entries(r); left > 0; left--) {
		const unsigned at = *sq->ktail - left;
		const struct io_uring_sqe *e;

		e = &sq->sqes[sq->array != NULL ? sq->array[at & mask] : at & mask];
		if (e->opcode == IORING_OP_CLOSE)
			sys_close(e->fd);
	}
}

/* The kernel runs only as much deferred work as it needs for `least` completions, or about twenty items. To
 * run all of it, we request more completions than there can be, with a timeout of zero; but that makes the
 * thread sleep and wake up. */
static int enter(struct ring *r, unsigned count, unsigned least, int64_t timeout_ns)
{
	struct __kernel_timespec ts = {timeout_ns / NS_PER_SEC, timeout_ns % NS_PER_SEC};
	struct io_uring_getevents_arg arg = {.ts = timeout_ns >= 0 ? (uintptr_t)&ts : 0};

	return io_uring_enter2((unsigned)r->uring.ring_fd, count, least, r->wait_flags,
			       (sigset_t *)(void *)&arg, sizeof(arg));
}

/* The kernel ends what is pending some time after the close. Until then, an exclusive poll of a listening
 * socket takes wake-ups meant for other rings, and a client would wait for the next one. */
static void cancel_pending(struct ring *r)
{
	struct io_uring_sqe *e = r->on ? io_uring_get_sqe(&r->uring) : NULL;

	if (e == NULL)
		return;
	io_uring_prep_rw(IORING_OP_ASYNC_CANCEL, e, -1, NULL, 0, 0);
	e->cancel_flags = IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL;
	/* Whatever fails now ends with the ring. */
	(void)enter(r, publish_entries(r), *r->uring.cq.kring_entries, 0);
}

void ring_close(struct ring *r)
{
	cancel_pending(r);
	close_untaken(r);
	io_uring_queue_exit(&r->uring);
	if (r->bufs != NULL)
		(void)munmap(r->bufs, bufs_bytes(r)); /* it is a mapping of ours */
	free(r);
}

void ring_reserve(struct ring *r, uint32_t count)
{
	while (unlikely(io_uring_sq_space_left(&r->uring) < count)) {
		check(r->on);
		check(count <= *r->uring.sq.kring_entries); /* or it would wait for ever */
		/* -EBUSY: completions are waiting in the kernel; asking for them flushes them. */
		(void)enter(r, publish_entries(r), 0, 0);
	}
}

struct io_uring_sqe *ring_sqe(struct ring *r)
{
	ring_reserve(r, 1);
	return io_uring_get_sqe(&r->uring);
}

/* The kernel counts the completions it had to drop. It also returns -EBADR, but only once, and not from a
 * call that submitted anything (io_uring_enter(2)), which under load is every call. */
static bool has_dropped(const struct ring *r)
{
	return unlikely(IO_URING_READ_ONCE(*r->uring.cq.koverflow) != 0);
}

int ring_enter(struct ring *r, int64_t timeout_ns)
{
	const unsigned least = timeout_ns == RING_ALL ? *r->uring.cq.kring_entries : timeout_ns != 0;
	const int n = enter(r, publish_entries(r), least, timeout_ns == RING_ALL ? 0 : timeout_ns);

	if (has_dropped(r))
		return -EBADR;
	if (n >= 0 || n == -ETIME || n == -EINTR)
		return 0;
	/* Out of memory, or of room for completions: nothing was submitted or delivered. */
	if (n == -EAGAIN || n == -ENOMEM || n == -EBUSY)
		(void)enter(r, 0, 1, RING_SHORT_NS); /* the caller gets the first error */
	return n;
}

/* ---- completions ---- */

uint32_t ring_take(struct ring *r, struct ring_done *out, uint32_t max)
{
	const struct io_uring_cq *cq = &r->uring.cq;
	const unsigned tail = io_uring_smp_load_acquire(cq->ktail);
	const unsigned mask = *cq->kring_mask;
	unsigned head = *cq->khead;
	uint32_t n = 0;

	while (head != tail && n < max) {
		const struct io_uring_cqe *cqe = &cq->cqes[head++ & mask];

		out[n++] = (struct ring_done){cqe->user_data, cqe->res, cqe->flags};
	}
	io_uring_smp_store_release(cq->khead, head);
	return n;
}

bool ring_is_behind(const struct ring *r)
{
	return (IO_URING_READ_ONCE(*r->uring.sq.kflags) & IORING_SQ_CQ_OVERFLOW) != 0;
}

void ring_lend(struct ring *r, uint16_t id, void *data, uint32_t len)
{
	struct io_uring_buf *buf = &r->bufs->bufs[r->buf_tail++ & r->buf_mask];

	check(id <= r->buf_mask);
	buf->addr = (uintptr_t)data;
	buf->len = len;
	buf->bid = id;
}

/* SPDX-License-Identifier: MIT
 *
 * uring_bufs.c - reads through the ring, and the buffers that it reads into.
 *
 * The buffers come from the pool. A buffer that the engine keeps belongs to the engine from then on, and
 * another one replaces it. If the pool has none, the ring continues with fewer; with none at all, reads are
 * copied through the scratch buffer. One thread per loop.
 */
#include <assert.h>
#include <string.h>

#include "weir/base/check.h"
#include "uring_state.h"

static_assert((URING_BUFS & (URING_BUFS - 1)) == 0 && URING_BUFS <= 32768, "the kernel requires it");
static_assert(URING_BUF_BYTES <= BUF_MAX, "the pool has buffers of this size");
static_assert(URING_COPY_BYTES < URING_BUF_BYTES, "copying to a smaller buffer saves memory");

/* ---- lending ---- */

void uring_bufs_init(struct uring *u)
{
	for (unsigned i = 0; i < URING_BUFS; i++)
		u->free_ids[i] = (uint16_t)(URING_BUFS - 1 - i);
	u->missing = URING_BUFS;
}

static void lend(struct uring *u, uint16_t id, struct buf *b)
{
	check(u->bufs[id] == NULL); /* otherwise the kernel would fill a buffer that we have lost */
	check(b->cap >= URING_BUF_BYTES);
	u->bufs[id] = b;
	ring_lend(u->ring, id, b->data, URING_BUF_BYTES);
}

/* A buffer in the ring does not count as in use: an idle worker has none in use. */
static void count_in_use(struct uring *u, const struct buf *b, int change)
{
	struct buf_cache *c = &u->loop->bufs;

	check(change > 0 || c->in_use > 0);
	c->in_use += (uint32_t)change;
	c->in_use_bytes += (uint64_t)((int64_t)change * (int64_t)b->cap);
}

void uring_bufs_fill(struct uring *u)
{
	check(u->missing <= URING_BUFS);
	while (u->missing > 0) {
		struct buf *b = buf_get(&u->loop->bufs, URING_BUF_BYTES);

		if (b == NULL)
			return; /* tried again in the next turn */
		count_in_use(u, b, -1);
		lend(u, u->free_ids[--u->missing], b);
	}
}

void uring_bufs_free(struct uring *u)
{
	for (unsigned i = 0; i < URING_BUFS; i++) {
		if (u->bufs[i] == NULL)
			continue;
		count_in_use(u, u->bufs[i], 1);
		buf_put(&u->loop->bufs, u->bufs[i]);
		u->bufs[i] = NULL;
	}
	uring_bufs_init(u);
}

/* Takes back the buffer of a completion; NULL when it names none that was lent. */
static struct buf *take_back(struct uring *u, const struct ring_done *c)
{
	const uint32_t id = c->flags >> IORING_CQE_BUFFER_SHIFT;
	struct buf *b;

	if (!(c->flags & IORING_CQE_F_BUFFER) || id >= URING_BUFS)
		return NULL;
	b = u->bufs[id];
	u->bufs[id] = NULL;
	return b;
}

void uring_buf_back(struct uring *u, const struct ring_done *c)
{
	struct buf *b = take_back(u, c);

	if (b != NULL)
		lend(u, (uint16_t)(c->flags >> IORING_CQE_BUFFER_SHIFT), b);
}

/* ---- reading ---- */

int uring_attach(struct io_loop *loop, struct io_sock *sock)
{
	(void)loop;
	/* Most clients speak first, and have done so by the first read. */
	sock->bits |= IO_UNASKED | IO_READABLE;
	return 0;
}

/* A poll for bytes, linked to the read, which never waits in the ring. The kernel's own poll for the read
 * would also report an urgent mark (EPOLLPRI); with a mark and nothing to read the kernel would retry the
 * read over and over, then hand it to a kernel thread together with its buffer. A poll that succeeds posts no
 * completion, and one that fails suppresses that of the read: one completion either way (io_uring_enter(2),
 * IOSQE_CQE_SKIP_SUCCESS). The kernel looks up the read's descriptor only when the read runs, so it must not
 * be closed before. */
static void ask_read(struct uring *u, struct io_op *op)
{
	const uint32_t most = op->max < URING_BUF_BYTES ? op->max : URING_BUF_BYTES;
	struct io_uring_sqe *sqe;

	check(op->max > 0); /* a read of length 0 returns 0, like the end of file */
	op->want = URING_BY_RING;
	ring_reserve(u->ring, 2);
	sqe = ring_sqe(u->ring);
	io_uring_prep_poll_add(sqe, op->sock->fd, EPOLLIN);
	sqe->flags |= IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
	uring_sent(u, op, sqe);
	sqe = ring_sqe(u->ring);
	io_uring_prep_recv(sqe, op->sock->fd, NULL, most, MSG_DONTWAIT);
	sqe->flags |= IOSQE_BUFFER_SELECT;
	sqe->buf_group = RING_BUF_GROUP;
	sqe->user_data = uring_op_data(op);
}

/* The first bytes from a server are often its last ones. A poll also reports an end that comes with them,
 * which saves a packet and a read; a read through the ring would not. */
static void ask_first(struct uring *u, struct io_op *op)
{
	struct io_uring_sqe *sqe = ring_sqe(u->ring);

	op->sock->bits &= (uint16_t)~IO_UNASKED;
	op->want = URING_BY_POLL;
	io_uring_prep_poll_add(sqe, op->sock->fd, EPOLLIN | EPOLLRDHUP | EPOLLPRI);
	uring_sent(u, op, sqe);
}

/* The write may already have taken the error of a reset, and a read then returns 0 as if the stream had
 * ended. A read through the ring completes after the write. */
static bool has_write_in_ring(const struct io_sock *sock)
{
	return sock->wr != NULL && sock->wr->kind == IO_WRITE && (sock->wr->result & URING_SENT) &&
	       sock->wr->want == URING_BY_RING;
}

/* Reads at once. While a write is in the ring, a result of 0 is read again through the ring, and no bytes are
 * known to be the last. */
static int try_read(struct uring *u, struct io_op *op)
{
	const int r = parked_try(&u->parked, op);

	if (!has_write_in_ring(op->sock))
		return r;
	op->sock->bits &= (uint16_t)~IO_ENDED;
	return r == 0 ? IO_PENDING : r;
}

int uring_start_read(struct uring *u, struct io_op *op)
{
	struct io_sock *sock = op->sock;
	const bool first = (sock->bits & (IO_UNASKED | IO_READABLE | IO_POLLED)) == IO_UNASKED;
	int r = IO_PENDING;

	if (!first && (sock->bits & (IO_UNASKED | IO_POLLED | IO_ENDED))) {
		sock->bits &= (uint16_t)~IO_UNASKED;
		r = try_read(u, op);
	}
	if (r != IO_PENDING)
		return r;
	(void)parked_wait(u->loop, op); /* it is parked, or waits in the ring */
	if (first)
		ask_first(u, op);
	else if (!(sock->bits & IO_POLLED) || has_write_in_ring(sock))
		ask_read(u, op);
	return IO_PENDING;
}

/* The ring has run out of buffers, which says nothing about the socket. */
static void read_without(struct uring *u, struct io_op *op)
{
	int r;

	op->sock->bits |= IO_READABLE;
	r = try_read(u, op);
	if (r == IO_PENDING)
		ask_read(u, op); /* there was nothing to be read */
	else
		uring_deliver(u, op, r);
}

static void deliver_bytes(struct uring *u, struct io_op *op, struct buf *b, const struct ring_done *c)
{
	const uint16_t id = (uint16_t)(c->flags >> IORING_CQE_BUFFER_SHIFT);

	check(u->lent == NULL);
	op->data = b->data;
	op->len = (uint32_t)c->res;
	u->lent = b;
	u->lent_is_written = false;
	uring_deliver(u, op, c->res);
	if (u->lent != NULL) {
		lend(u, id, b);
		u->lent = NULL;
		return;
	}
	check(u->missing < URING_BUFS);
	u->free_ids[u->missing++] = id;
}

/* Is there more to read? A poll before the next read checks for itself. But a watched socket reports each
 * event only once: one that came after this read must not be lost. */
static void note_more(struct io_sock *sock, const struct ring_done *c)
{
	if ((c->flags & IORING_CQE_F_SOCK_NONEMPTY) || (sock->bits & IO_POLLED))
		sock->bits |= IO_READABLE;
	else
		sock->bits &= (uint16_t)~IO_READABLE;
}

static void on_first(struct uring *u, struct io_op *op, int res)
{
	int r;

	if (res < 0) {
		uring_deliver(u, op, res);
		return;
	}
	/* Only a poll that reports the end has also checked for a mark (uring_watch.c). */
	parked_note(op->sock, (uint32_t)(res & (int)EPOLLRDHUP ? res : res & ~(int)EPOLLPRI));
	r = try_read(u, op);
	if (r == IO_PENDING && (op->result & URING_CANCELLED))
		r = -ECANCELED; /* the cancel came too late for the poll, and is not repeated */
	if (r == IO_PENDING)
		ask_read(u, op);
	else
		uring_deliver(u, op, r);
}

/* No bytes: the end, an error, or a cancel that shows as another result. */
static void on_end(struct uring *u, struct io_op *op, int res)
{
	if (res == -ENOBUFS || res == -EAGAIN || res == -EINTR)
		res = -ECANCELED;
	if (res == 0)
		op->sock->bits |= IO_ENDED;
	else if (res != -ECANCELED)
		op->sock->bits |= IO_ERR;
	uring_deliver(u, op, res);
}

void uring_on_read(struct uring *u, struct io_op *op, const struct ring_done *c)
{
	struct io_sock *sock = op->sock;
	struct buf *b;

	if (op->want == URING_BY_POLL) {
		on_first(u, op, c->res);
		return;
	}
	if (c->res <= 0)
		uring_buf_back(u, c);
	if (c->res == -ENOBUFS && !(op->result & URING_CANCELLED)) {
		read_without(u, op);
		return;
	}
	if ((c->res == -EAGAIN || c->res == -EINTR) && !(op->result & URING_CANCELLED)) {
		ask_read(u, op);
		return;
	}
	if (c->res > 0) {
		const uint32_t most = op->max < URING_BUF_BYTES ? op->max : URING_BUF_BYTES;

		b = take_back(u, c);
		if (b != NULL && (uint32_t)c->res <= most) {
			note_more(sock, c);
			/* Perhaps more than small messages: the rest is read at once, as with epoll. */
			if ((uint32_t)c->res == URING_BUF_BYTES && (c->flags & IORING_CQE_F_SOCK_NONEMPTY))
				uring_watch_bulk(u, sock);
			deliver_bytes(u, op, b, c);
			return;
		}
		if (b != NULL)
			lend(u, (uint16_t)(c->flags >> IORING_CQE_BUFFER_SHIFT), b);
		sock->bits |= IO_ERR;
		uring_deliver(u, op, -EIO); /* no kernel returns this */
		return;
	}
	on_end(u, op, c->res);
}

/* ---- keeping ---- */

struct buf *uring_keep(struct io_loop *loop, struct io_op *op, uint32_t from)
{
	struct uring *u = loop->driver_state;
	struct buf *b = u->lent;

	if (b == NULL || op->data != b->data)
		return parked_keep(loop, op, from);
	/* A pending write still reads the bytes in place. */
	if (!u->lent_is_written && op->len - from <= URING_COPY_BYTES) {
		struct buf *copy = parked_keep(loop, op, from);

		if (copy != NULL)
			return copy;
	}
	u->lent = NULL;
	count_in_use(u, b, 1);
	b->off = from;
	b->len = op->len - from;
	return b;
}

/* SPDX-License-Identifier: MIT
 *
 * uring_bufs.c - reads through the ring, and the buffers that it reads into.
 *
 * They are the pool's. One that the engine keeps is its own from then on, and another takes its place;
 * when the pool has none the ring goes on with fewer, and with none at all reads are copied through the scratch
 * buffer. One thread a loop. Floor 1.
 */
#include <string.h>

#include "sluice/base/check.h"
#include "sluice/io/attempt.h"
#include "sluice/io/uring_state.h"

/* ---- lending ---- */

void uring_bufs_init(struct uring *u)
{
	for (unsigned i = 0; i < URING_BUFS; i++)
		u->free_ids[i] = (uint16_t)(URING_BUFS - 1 - i);
	u->missing = URING_BUFS;
}

static void lend(struct uring *u, uint16_t id, struct buf *b)
{
	u->bufs[id] = b;
	ring_lend(u->ring, id, b->data, URING_BUF_BYTES);
}

/* In the ring it is not in use: a worker at rest has none. */
static void count_in_use(struct uring *u, const struct buf *b, int change)
{
	struct buf_cache *c = &u->loop->bufs;

	c->in_use += (uint32_t)change;
	c->in_use_bytes += (uint64_t)((int64_t)change * (int64_t)b->cap);
}

void uring_bufs_fill(struct uring *u)
{
	while (u->missing > 0) {
		struct buf *b = buf_get(&u->loop->bufs, URING_BUF_BYTES);

		if (b == NULL)
			return; /* again in the next turn */
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

/* The buffer of a completion, which is ours again; NULL when it names none that was lent. */
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

static void deliver(struct uring *u, struct io_op *op, int result)
{
	parked_leave(u->loop, op);
	op->done(op, result);
}

/* The ring has run out of buffers, which says nothing of the socket. */
static void read_without(struct uring *u, struct io_op *op)
{
	int r;

	op->sock->bits |= IO_READABLE;
	r = io_try_read(op, u->parked.scratch, sizeof(u->parked.scratch));
	if (r == IO_PENDING)
		uring_ask_read(u, op); /* behind a poll: there was nothing to be read */
	else
		deliver(u, op, r);
}

static void deliver_bytes(struct uring *u, struct io_op *op, struct buf *b, const struct ring_done *c)
{
	const uint16_t id = (uint16_t)(c->flags >> IORING_CQE_BUFFER_SHIFT);

	op->data = b->data;
	op->len = (uint32_t)c->res;
	u->lent = b;
	u->lent_is_written = false;
	deliver(u, op, c->res);
	if (u->lent != NULL) {
		lend(u, id, b);
		u->lent = NULL;
		return;
	}
	u->free_ids[u->missing++] = id;
}

/* Is there more to be read? The kernel's flag speaks of bytes; of an end that the socket's poll has told of
 * nobody tells a second time. */
static void note_more(struct io_sock *sock, const struct ring_done *c)
{
	if ((c->flags & IORING_CQE_F_SOCK_NONEMPTY) || (sock->bits & (IO_RDHUP | IO_HUP | IO_ERR | IO_PRI)))
		sock->bits |= IO_READABLE;
	else
		sock->bits &= (uint16_t)~IO_READABLE;
}

void uring_on_read(struct uring *u, struct io_op *op, const struct ring_done *c)
{
	struct io_sock *sock = op->sock;
	struct buf *b;

	if (c->res <= 0)
		uring_buf_back(u, c);
	if (c->res == -ENOBUFS && !(op->result & URING_CANCELLED)) {
		read_without(u, op);
		return;
	}
	if ((c->res == -EAGAIN || c->res == -EINTR) && !(op->result & URING_CANCELLED)) {
		uring_ask_read(u, op);
		return;
	}
	if (c->res > 0) {
		const uint32_t most = op->max < URING_BUF_BYTES ? op->max : URING_BUF_BYTES;

		b = take_back(u, c);
		if (b != NULL && (uint32_t)c->res <= most) {
			note_more(sock, c);
			deliver_bytes(u, op, b, c);
			return;
		}
		if (b != NULL)
			lend(u, (uint16_t)(c->flags >> IORING_CQE_BUFFER_SHIFT), b);
		sock->bits |= IO_ERR;
		deliver(u, op, -EIO); /* no kernel says this */
		return;
	}
	if (c->res == 0)
		sock->bits |= IO_ENDED;
	else if (c->res != -ECANCELED && c->res != -ENOBUFS)
		sock->bits |= IO_ERR;
	deliver(u, op, c->res == -ENOBUFS || c->res == -EAGAIN || c->res == -EINTR ? -ECANCELED : c->res);
}

/* ---- keeping ---- */

struct buf *uring_keep(struct io_loop *loop, struct io_op *op, uint32_t from)
{
	struct uring *u = loop->driver_state;
	struct buf *b = u->lent;

	if (b == NULL || op->data != b->data)
		return parked_keep(loop, op, from);
	/* A write that is pending reads from where the bytes are. */
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

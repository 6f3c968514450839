/* SPDX-License-Identifier: MIT
 *
 * fake_driver.c - a driver that behaves like a ring: late results, buffers of its own, slow cancel.
 *
 * Owns the list of pending ops. An op is performed at some turn and delivered at the same or a later
 * one; between the two a cancel comes too late. What may be answered inline is, by coin toss. It
 * tells the engine nothing that the contract of io.h does not promise. One thread. Tests only.
 */
#include "fake_driver.h"

#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/sys/sys.h"
#include "cover.h"
#include "fake_ops.h"
#include "model.h"

#define FAKE_SLOTS 64

/* One pending op. */
struct slot {
	struct io_op *op;
	struct buf *buf; /* owns: what a late read filled, until it is delivered */
	bool spare;      /* or it is in the spare memory */
	int result;
	bool performed;
	bool cancelled;
	bool void_memory; /* its bytes were lent and could not be kept: it can only be cancelled */
};

struct fake {
	struct io_loop *loop;
	struct slot slots[FAKE_SLOTS];
	int count;
	struct buf *lent; /* owns: what the callback that runs now may keep */
	struct addr peer;
	uint8_t scratch[IO_SCRATCH_BYTES];
	/* When the pool has no buffer, one late read at a time goes here. */
	bool spare_used;
	uint8_t spare[2048];
};

static bool coin(uint32_t percent)
{
	return model.faults ? prng_chance(&model.rng, percent) : true;
}

static struct io_op **op_place(struct io_op *op)
{
	const bool reads = op->kind == IO_ACCEPT || op->kind == IO_READ ||
			   (op->kind == IO_READY && op->want != IO_WANT_OUT);

	return reads ? &op->sock->rd : &op->sock->wr;
}

static struct slot *op_wait(struct fake *f, struct io_op *op)
{
	struct slot *slot = &f->slots[f->count++];

	check(f->count <= FAKE_SLOTS);
	check(*op_place(op) == NULL);
	*op_place(op) = op;
	op->state = IO_STATE_WAITING;
	f->loop->pending++;
	*slot = (struct slot){.op = op};
	return slot;
}

/* ---- reads and their buffers ---- */

static int read_spare(struct fake *f, struct slot *slot)
{
	int r;

	if (f->spare_used)
		return IO_PENDING;
	r = fake_read(slot->op, f->spare, sizeof(f->spare));
	slot->spare = r > 0;
	f->spare_used = slot->spare;
	return r;
}

/* A late read goes into a buffer of our own, whose size is ours to choose. */
static int read_late(struct fake *f, struct slot *slot)
{
	const uint32_t room = prng_chance(&model.rng, 50) ? 65536 : prng_range(&model.rng, 1, 5000);
	struct buf *b = buf_get(&f->loop->bufs, slot->op->max < room ? slot->op->max : room);
	int r;

	if (b == NULL)
		return read_spare(f, slot);
	r = fake_read(slot->op, b->data, slot->op->max < room ? slot->op->max : room);
	if (r > 0) {
		b->len = (uint32_t)r;
		slot->buf = b;
	} else {
		buf_put(&f->loop->bufs, b);
	}
	return r;
}

/* The memory of a pending write of lent bytes must not move by keeping them: it is the driver that
 * remembers where they are now. `to` NULL: they are nowhere. */
static void move_write(struct fake *f, const uint8_t *from, uint32_t len, const uint8_t *to)
{
	for (int i = 0; i < f->count; i++) {
		struct io_op *w = f->slots[i].op;

		if (w->kind != IO_WRITE || f->slots[i].void_memory || w->data < from || w->data >= from + len)
			continue;
		if (to != NULL)
			w->data = to + (w->data - from);
		f->slots[i].void_memory = to == NULL;
	}
}

static struct buf *fake_keep(struct io_loop *loop, struct io_op *op, uint32_t from)
{
	struct fake *f = loop->driver_state;
	const uint32_t len = op->len - from;
	struct buf *b;

	b = f->lent;
	if (b != NULL && op->data == b->data) {
		f->lent = NULL;
		cover(COVER_KEPT_HANDED_OVER);
		b->off = from;
		b->len = len;
		return b;
	}
	check(op->data == f->scratch || op->data == f->spare);
	b = buf_get(&loop->bufs, op->len);
	if (b == NULL) {
		move_write(f, op->data, op->len, NULL);
		return NULL;
	}
	memcpy(b->data + from, op->data + from, len);
	move_write(f, op->data, op->len, b->data);
	b->off = from;
	b->len = len;
	return b;
}

/* ---- start ---- */

static int start_now(struct fake *f, struct io_op *op)
{
	switch (op->kind) {
	case IO_SPLICE_IN:
		return fake_splice_in(op);
	case IO_SPLICE_OUT:
		return fake_splice_out(op);
	case IO_CONNECT:
		return fake_connect(op);
	case IO_ACCEPT:
		return IO_PENDING;
	case IO_READ:
		memset(f->scratch, 0xdd, 64); /* what was lent before is no more */
		return coin(50) ? fake_read(op, f->scratch, sizeof(f->scratch)) : IO_PENDING;
	default:
		return coin(50) ? fake_perform(op) : IO_PENDING;
	}
}

static int fake_start(struct io_loop *loop, struct io_op *op)
{
	struct fake *f = loop->driver_state;
	const bool splice = op->kind == IO_SPLICE_IN || op->kind == IO_SPLICE_OUT;
	int r;

	if (!splice)
		check(*op_place(op) == NULL);
	r = start_now(f, op);
	if (r != IO_PENDING) {
		cover(COVER_INLINE_RESULT);
		return r;
	}
	if (op->kind == IO_WRITE && (op->flags & IO_LENT) && prng_chance(&model.rng, 50))
		return -EAGAIN; /* lent bytes: keep them and start again */
	check(!splice);
	(void)op_wait(f, op); /* its slot is filled in */
	return IO_PENDING;
}

static void fake_cancel(struct io_loop *loop, struct io_op *op)
{
	struct fake *f = loop->driver_state;

	for (int i = 0; i < f->count; i++) {
		if (f->slots[i].op == op) {
			f->slots[i].cancelled = true;
			return;
		}
	}
	check_failed(__FILE__, __LINE__, "a cancelled op is not pending");
}

/* ---- completion ---- */

/* A read's memory is lent while its callback runs; whoever looks again later shall see it. */
static void deliver_read(struct fake *f, const struct slot *slot)
{
	struct io_op *op = slot->op;

	if (slot->buf != NULL) {
		op->data = slot->buf->data;
		op->len = slot->buf->len;
		f->lent = slot->buf;
	}
	op->state = IO_STATE_IDLE;
	f->loop->pending--;
	op->done(op, slot->result);
	if (f->lent != NULL) {
		memset(f->lent->data, 0xdd, f->lent->len);
		buf_put(&f->loop->bufs, f->lent);
		f->lent = NULL;
	}
	if (slot->spare) {
		memset(f->spare, 0xdd, sizeof(f->spare));
		f->spare_used = false;
	}
}

static void deliver(struct fake *f, int at, int result)
{
	struct slot slot = f->slots[at];

	f->slots[at] = f->slots[--f->count];
	if (slot.cancelled)
		cover(result == -ECANCELED ? COVER_CANCEL_WON : COVER_CANCEL_LOST);
	cover(COVER_LATE_RESULT);
	*op_place(slot.op) = NULL;
	if (slot.buf != NULL || slot.spare)
		deliver_read(f, &slot);
	else
		io_complete(f->loop, slot.op, result);
}

static bool cannot_be_cancelled(const struct io_op *op)
{
	return op->kind == IO_CLOSE || (op->kind == IO_RESET && !(op->flags & IO_FLUSH));
}

/* Gives one pending op its chance; true when it came to an end. */
static bool visit(struct fake *f, int at)
{
	struct slot *slot = &f->slots[at];
	int r;

	if (!slot->performed) {
		if (slot->cancelled && !cannot_be_cancelled(slot->op) && coin(50)) {
			deliver(f, at, -ECANCELED);
			return true;
		}
		if (!coin(70) || slot->op->kind == IO_ACCEPT || slot->void_memory)
			return false;
		r = slot->op->kind == IO_READ ? read_late(f, slot) : fake_perform(slot->op);
		if (r == IO_PENDING)
			return false;
		slot->performed = true;
		slot->result = r;
	}
	if (!coin(60))
		return false;
	deliver(f, at, slot->result);
	return true;
}

/* ---- accept ---- */

static int accept_some(struct fake *f, struct io_op *op)
{
	const uint8_t state = op->state;
	int fd;

	for (int i = 0; i < IO_ACCEPT_BATCH && op->state == state; i++) {
		if (!op->admit(op))
			break;
		f->peer.len = sizeof(f->peer.un);
		fd = sys_accept(op->sock->fd, &f->peer.sa, &f->peer.len);
		if (fd == -ECONNABORTED)
			continue;
		if (fd == -EAGAIN)
			break;
		if (fd < 0) {
			op->done(op, IO_BATCH_END);
			return fd;
		}
		f->loop->peer = &f->peer;
		op->done(op, fd);
		f->loop->peer = NULL;
	}
	op->done(op, IO_BATCH_END);
	return 0;
}

static bool visit_accept(struct fake *f, struct io_op *op)
{
	int err;

	if (model.files[op->sock->fd].listener->count == 0 || !coin(70))
		return false;
	err = accept_some(f, op);
	if (op->state != IO_STATE_WAITING || err == 0)
		return true;
	for (int i = 0; i < f->count; i++) {
		if (f->slots[i].op == op) {
			deliver(f, i, err);
			break;
		}
	}
	return true;
}

static int fake_last(struct io_loop *loop, struct io_op *op)
{
	const int err = accept_some(loop->driver_state, op);

	return err < 0 ? err : 0;
}

/* ---- wait ---- */

static bool visit_all(struct fake *f)
{
	struct io_op *ops[FAKE_SLOTS];
	const int count = f->count;
	bool moved = false;

	for (int i = 0; i < count; i++)
		ops[i] = f->slots[i].op;
	for (int left = count; left > 0; left--) {
		const int pick = (int)prng_below(&model.rng, (uint32_t)left);
		struct io_op *op = ops[pick];

		ops[pick] = ops[left - 1];
		for (int i = 0; i < f->count; i++) {
			if (f->slots[i].op != op)
				continue;
			if (op->kind == IO_ACCEPT && !f->slots[i].cancelled)
				moved |= visit_accept(f, op);
			else
				moved |= visit(f, i);
			break;
		}
	}
	return moved;
}

static void fake_wait(struct io_loop *loop, int64_t deadline_ns)
{
	struct fake *f = loop->driver_state;
	uint64_t n;
	bool moved;

	model_enter();
	moved = visit_all(f);
	if (sys_read(loop->wake_fd, &n, sizeof(n)) > 0 && loop->woken != NULL) {
		loop->woken(loop);
		moved = true;
	}
	model.idle = false;
	if (!moved && deadline_ns == CLOCK_NEVER)
		model_wait(-1);
	else if (!moved)
		model_wait(deadline_ns > sys_now_ns() ? deadline_ns - sys_now_ns() : 0);
	loop->now_ns = sys_now_ns();
}

static int fake_attach(struct io_loop *loop, struct io_sock *sock)
{
	(void)loop; /* a ring needs to know of no socket in advance */
	(void)sock;
	return 0;
}

static int fake_open(struct io_loop *loop)
{
	struct fake *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return -ENOMEM;
	f->loop = loop;
	loop->driver_state = f;
	return 0;
}

static void fake_close(struct io_loop *loop)
{
	struct fake *f = loop->driver_state;

	check(f->count == 0);
	check(f->lent == NULL);
	free(f);
	loop->driver_state = NULL;
}

const struct io_driver fake_driver = {
	.name = "fake",
	.open = fake_open,
	.close = fake_close,
	.attach = fake_attach,
	.start = fake_start,
	.cancel = fake_cancel,
	.last = fake_last,
	.wait = fake_wait,
	.keep = fake_keep,
};

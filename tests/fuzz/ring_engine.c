/* SPDX-License-Identifier: MIT
 *
 * ring_engine.c - starts and ends ops, and judges what the driver says of them; see ring_engine.h.
 *
 * Owns the sockets and what was kept of reads. One thread. Tests only.
 */
#include "ring_engine.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/sys/sys.h"
#include "ring_shim.h"

/* No -errno of Linux is below it. */
#define ERRNO_MAX 4095

struct engine engine;

/* ---- calls ---- */

int engine_start(struct probe *p)
{
	int r;

	check(!p->pending);
	p->gen = p->side->sock.gen;
	p->pending = true;
	p->cancelled = false;
	p->sum = p->op.kind == IO_WRITE ? shim_sum(p->op.data, p->op.len) : 0;
	check(!engine.calling);
	engine.calling = true;
	shim_trace("start op %d of %d, want %#x, bits %#x\n", p->op.kind, p->side->sock.fd, p->op.want,
		   p->side->sock.bits);
	r = io_start(engine.loop, &p->op);
	shim_trace("  = %d\n", r);
	engine.calling = false;
	p->pending = r == IO_PENDING;
	check(io_is_pending(&p->op) == p->pending);
	return r;
}

void engine_cancel(struct probe *p)
{
	if (!p->pending || p->cancelled)
		return;
	p->cancelled = true;
	check(!engine.calling);
	engine.calling = true;
	shim_trace("cancel op %d of %d\n", p->op.kind, p->side->sock.fd);
	io_cancel(engine.loop, &p->op);
	engine.calling = false;
	check(io_is_pending(&p->op));
}

void engine_fail(struct side *s)
{
	if (s->state == SIDE_OPEN || s->state == SIDE_CONNECTING)
		s->state = SIDE_FAILED;
}

/* ---- what is kept ---- */

int engine_find_kept(bool used)
{
	const int from = shim_byte() % KEPT;

	for (int i = 0; i < KEPT; i++) {
		const int at = (from + i) % KEPT;

		if ((engine.kept[at].buf != NULL) == used && !engine.kept[at].busy)
			return at;
	}
	return -1;
}

/* The bytes from `from` of what a read lent; -1: the pool has nothing. */
int engine_keep(struct probe *rd, uint32_t from)
{
	const uint8_t *data = rd->op.data + from;
	const uint64_t sum = shim_sum(data, rd->op.len - from);
	const int at = engine_find_kept(false);
	struct buf *b;

	if (at < 0)
		return -1;
	b = io_buf_keep(engine.loop, &rd->op, from);
	shim_trace("keep from %u: %p\n", from, (void *)b);
	if (b == NULL)
		return -1;
	check(b->len == rd->op.len - from);
	check(b->off + b->len <= b->cap);
	check(shim_sum(b->data + b->off, b->len) == sum);
	shim_keep(b->data, b->cap);
	engine.kept[at] = (struct kept){.buf = b, .sum = sum};
	return at;
}

void engine_put(int at)
{
	struct kept *k = &engine.kept[at];

	check(!k->busy);
	check(shim_sum(k->buf->data + k->buf->off, k->buf->len) == k->sum);
	shim_give_back(k->buf->data);
	buf_put(&engine.loop->bufs, k->buf);
	k->buf = NULL;
}

/* ---- judging ---- */

bool engine_is_errno(int r)
{
	return r < 0 && r >= -ERRNO_MAX;
}

void engine_judge_ready(const struct probe *p, int r)
{
	check(engine_is_errno(r) || (r > 0 && (r & ~p->op.want) == 0));
}

void engine_judge_written(struct probe *p, int r)
{
	check(engine_is_errno(r) || (r >= 0 && (uint32_t)r <= p->op.len));
	check(shim_sum(p->op.data, p->op.len) == p->sum);
	if (p->kept >= 0)
		engine.kept[p->kept].busy = false;
	p->kept = -1;
	if (r >= 0)
		p->side->put += (uint32_t)r;
	else if (r != -ECANCELED)
		engine_fail(p->side);
}

void engine_judge_read(struct probe *p, int r)
{
	check(engine_is_errno(r) || (r >= 0 && (uint32_t)r <= p->op.max));
	if (r < 0 && r != -ECANCELED)
		engine_fail(p->side);
	if (r <= 0)
		return;
	check(p->op.len == (uint32_t)r);
	if (shim_is_honest())
		check(shim_is_stream(p->side->key, p->side->got, p->op.data, p->op.len));
	p->side->got += (uint32_t)r;
	(void)shim_sum(p->op.data, p->op.len); /* it can be read */
}

static void judge_ended(struct side *s, int r)
{
	check(s->rd.pending == false);
	if (r == -ECANCELED) {
		check(s->wr.op.flags & IO_FLUSH); /* nothing else waits so long */
		check(s->sock.fd >= 0);
		s->state = SIDE_FAILED;
		return;
	}
	check(r == 0);
	check(s->sock.fd == -1);
	s->state = SIDE_NONE;
}

/* ---- endings ---- */

/* What the kernel has told is what the driver has told. */
static void audit(const struct side *s)
{
	const struct shim_file *f = shim_file(s->sock.fd);

	if (!shim_is_honest())
		return;
	check(s->got == f->got);
	check(s->put == f->put);
	check(s->clients == f->clients);
}

void engine_end(struct side *s, enum io_kind kind, uint8_t flags)
{
	int r;

	if (s->sock.fd < 0 || s->rd.pending || s->wr.pending)
		return;
	audit(s);
	s->wr.op.kind = (uint8_t)kind;
	s->wr.op.flags = flags;
	s->state = SIDE_ENDING;
	r = engine_start(&s->wr);
	check(r == 0 || r == IO_PENDING);
	if (r == 0)
		judge_ended(s, r);
}

/* ---- callbacks ---- */

static struct side *side_without_fd(void)
{
	for (int i = 0; i < SIDES; i++)
		if (engine.sides[i].state == SIDE_NONE)
			return &engine.sides[i];
	return NULL;
}

static void on_accept(struct io_op *op, int r)
{
	struct probe *p = (struct probe *)(void *)op;
	struct side *s = side_without_fd();

	shim_trace("accept of %d: %d\n", p->side->sock.fd, r);
	check(!engine.calling);
	check(!engine.in_done);
	check(p->pending);
	check(p->gen == p->side->sock.gen);
	engine.in_done = true;
	if (r >= 0) {
		check(engine.loop->peer != NULL);
		p->side->clients++;
		if (s != NULL)
			engine_attach(s, r, true);
		else
			sys_close(r);
	} else if (r != IO_BATCH_END) {
		check(engine_is_errno(r));
		check(r != -ECANCELED || p->cancelled || !shim_is_honest());
		check(op->state == IO_STATE_IDLE);
		p->pending = false;
	}
	if (shim_chance(128))
		engine_act();
	engine.in_done = false;
}

static void on_done(struct io_op *op, int r)
{
	struct probe *p = (struct probe *)(void *)op;
	struct side *s = p->side;

	shim_trace("done op %d of %d: %d\n", op->kind, s->sock.fd, r);
	check(!engine.calling);
	check(!engine.in_done);
	check(p->pending);
	check(op->state == IO_STATE_IDLE);
	p->pending = false;
	if (op->kind != IO_RESET && op->kind != IO_CLOSE)
		check(p->gen == s->sock.gen);
	check(r != -ECANCELED || p->cancelled || !shim_is_honest());
	engine.in_done = true;
	switch (op->kind) {
	case IO_READ:
		engine_judge_read(p, r);
		if (r > 0)
			engine_use_lent(p);
		break;
	case IO_WRITE:
		engine_judge_written(p, r);
		break;
	case IO_READY:
		engine_judge_ready(p, r);
		break;
	case IO_CONNECT:
		engine_judge_connected(s, r);
		break;
	case IO_SHUTDOWN:
		check(r == 0 || engine_is_errno(r));
		break;
	default:
		judge_ended(s, r);
	}
	if (shim_chance(160))
		engine_act();
	engine.in_done = false;
}

/* ---- beginnings ---- */

void engine_open(struct side *s, int fd, bool tcp)
{
	check(s->sock.fd < 0);
	io_sock_init(&s->sock, fd, tcp);
	s->key = shim_file(fd)->key;
	s->got = shim_file(fd)->got;
	s->put = shim_file(fd)->put;
	s->clients = 0;
	io_op_init(&s->rd.op, &s->sock, s->listens ? on_accept : on_done);
	io_op_init(&s->wr.op, &s->sock, on_done);
	s->rd.kept = -1;
	s->wr.kept = -1;
}

void engine_attach(struct side *s, int fd, bool tcp)
{
	engine_open(s, fd, tcp);
	s->state = SIDE_OPEN;
	if (io_attach(engine.loop, &s->sock))
		engine_fail(s);
}

void engine_judge_connected(struct side *s, int r)
{
	check(r == 0 || engine_is_errno(r));
	if (s->state == SIDE_CONNECTING)
		s->state = r == 0 ? SIDE_OPEN : SIDE_FAILED;
}

/* SPDX-License-Identifier: MIT
 *
 * uring.c - the io_uring driver: what is submitted to the ring, and what its completions mean.
 *
 * Small messages go through the ring: a read into one of its buffers, a write from there, one system call per
 * turn of the loop. A socket that is spliced, or whose readiness is waited for, works as with epoll from then
 * on (uring_watch.c), because IORING_OP_SPLICE always runs on a kernel thread. Owns the ring and the ops in
 * it. One thread per loop.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/io/uring.h"
#include "weir/sys/sys.h"
#include "attempt.h"
#include "uring_state.h"

const struct ring_shape uring_shape = {URING_SUBMISSIONS, URING_COMPLETIONS, URING_BUFS};
static const uint64_t own_polls[URING_OWN_POLLS] = {URING_WAKE, URING_ALARM, URING_EPOLL};

/* ---- submitting to the ring ---- */

static uint64_t tagged(const struct io_sock *sock, enum uring_tag tag, uint16_t number)
{
	const uintptr_t p = (uintptr_t)sock;

	check((p >> URING_NUMBER_SHIFT) == 0);
	check((p & URING_TAG_MASK) == 0);
	return (uint64_t)p | tag | (uint64_t)number << URING_NUMBER_SHIFT;
}

uint64_t uring_op_data(struct io_op *op)
{
	const enum uring_tag tag = parked_place(op) == &op->sock->rd ? URING_RD : URING_WR;

	return tagged(op->sock, tag, (uint16_t)op->result);
}

void uring_sent(struct uring *u, struct io_op *op, struct io_uring_sqe *sqe)
{
	check(op->state == IO_STATE_WAITING);
	op->result = URING_SENT | ++u->number;
	sqe->user_data = uring_op_data(op);
}

static void ask_cancel(struct uring *u, struct io_op *op)
{
	struct io_uring_sqe *sqe = ring_sqe(u->ring);

	io_uring_prep_cancel64(sqe, uring_op_data(op), 0);
	sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
	sqe->user_data = URING_NOTHING;
	op->result |= URING_CANCELLED;
}

void uring_deliver(struct uring *u, struct io_op *op, int result)
{
	check(result != IO_PENDING);
	parked_leave(u->loop, op);
	op->done(op, result);
}

/* ---- starting ---- */

static bool is_in_lent(const struct uring *u, const struct io_op *op)
{
	return u->lent != NULL && op->data >= u->lent->data && op->data < u->lent->data + u->lent->cap;
}

/* A write never waits in the ring: after a FIN of the peer, which every poll of the ring reports, the kernel
 * would retry for ever, ignore a cancel, and finally retry on a kernel thread. */
static void ask_write(struct uring *u, struct io_op *op)
{
	struct io_uring_sqe *sqe = ring_sqe(u->ring);

	check(op->len > 0);
	check(op->len <= INT_MAX); /* a negative difference would be larger */
	io_uring_prep_send(sqe, op->sock->fd, op->data, op->len,
			   MSG_DONTWAIT | MSG_NOSIGNAL | (op->flags & IO_LAST ? MSG_MORE : 0));
	op->want = URING_BY_RING;
	uring_sent(u, op, sqe);
}

/* Bytes in the scratch buffer cannot wait for the next turn. */
static int start_write(struct uring *u, struct io_op *op)
{
	const bool lent = is_in_lent(u, op);

	if ((op->sock->bits & IO_POLLED) || ((op->flags & IO_LENT) && !lent)) {
		const int r = parked_try(&u->parked, op);

		return r == IO_PENDING ? parked_wait(u->loop, op) : r;
	}
	u->lent_is_written |= lent;
	(void)parked_wait(u->loop, op); /* it waits in the ring */
	ask_write(u, op);
	return IO_PENDING;
}

static int connect_by_ring(struct uring *u, struct io_op *op)
{
	struct io_uring_sqe *sqe;

	/* A Unix socket's full backlog gives no event; the ring would wait for one, on a thread. */
	if (!(op->sock->bits & IO_TCP))
		return sys_connect(op->sock->fd, &op->addr->sa, op->addr->len);
	(void)parked_wait(u->loop, op); /* it waits in the ring */
	sqe = ring_sqe(u->ring);
	io_uring_prep_connect(sqe, op->sock->fd, &op->addr->sa, op->addr->len);
	uring_sent(u, op, sqe);
	return IO_PENDING;
}

/* ---- closing ---- */

static int start_reset(struct uring *u, struct io_op *op)
{
	check(op->sock->rd == NULL); /* no read is pending while it waits */
	if (!parked_may_flush(op)) {
		uring_close_sock(u->loop, op);
		return 0;
	}
	(void)parked_wait(u->loop, op); /* it is parked */
	uring_watch_flush(u, op);
	return IO_PENDING;
}

static int uring_start(struct io_loop *loop, struct io_op *op)
{
	struct uring *u = loop->driver_state;

	if (op->kind != IO_CLOSE && op->kind != IO_RESET && op->kind != IO_SPLICE_IN &&
	    op->kind != IO_SPLICE_OUT)
		check(*parked_place(op) == NULL);
	switch (op->kind) {
	case IO_ACCEPT:
		return uring_start_accept(u, op);
	case IO_CONNECT:
		return connect_by_ring(u, op);
	case IO_READ:
		return uring_start_read(u, op);
	case IO_WRITE:
		return start_write(u, op);
	case IO_SPLICE_IN:
		uring_watch_bulk(u, op->sock);
		return parked_try(&u->parked, op);
	case IO_READY:
		return uring_start_ready(u, op);
	case IO_SHUTDOWN:
		/* IORING_OP_SHUTDOWN always runs on a kernel thread. */
		return sys_shutdown(op->sock->fd, SHUT_WR);
	case IO_RESET:
		return start_reset(u, op);
	case IO_CLOSE:
		uring_close_sock(loop, op);
		return 0;
	default:
		return parked_try(&u->parked, op);
	}
}

static void uring_cancel(struct io_loop *loop, struct io_op *op)
{
	struct uring *u = loop->driver_state;

	check(op->sock->fd >= 0);
	if (op->result & URING_SENT) {
		if (!(op->result & URING_CANCELLED))
			ask_cancel(u, op);
		return;
	}
	if (op->kind == IO_ACCEPT)
		uring_forget_accept(u, op);
	uring_watch_leave(u, op);
	parked_cancel(&u->parked, op);
}

/* ---- completions ---- */

/* The send buffer is full: the socket's poll reports when there is room. */
static void park_write(struct uring *u, struct io_op *op)
{
	int r;

	op->flags &= (uint8_t)~IO_LENT; /* the lent bytes have been kept since */
	if (!(op->sock->bits & IO_POLLED)) {
		op->sock->bits &= (uint16_t)~IO_WRITABLE;
		uring_park(u, op);
		return;
	}
	/* The event for room may have come already, and is reported only once. */
	op->sock->bits |= IO_WRITABLE;
	op->result = IO_PARKED;
	r = parked_try(&u->parked, op);
	if (r != IO_PENDING)
		uring_deliver(u, op, r);
}

static void on_written(struct uring *u, struct io_op *op, int res)
{
	struct io_sock *sock = op->sock;

	if (res == -EAGAIN && !(op->result & URING_CANCELLED)) {
		park_write(u, op);
		return;
	}
	if (res == -EINTR && !(op->result & URING_CANCELLED)) {
		ask_write(u, op);
		return;
	}
	if (res == -EAGAIN || res == -EINTR)
		res = -ECANCELED;
	if (res > (int)op->len)
		res = -EIO;
	if (res >= 0)
		sock->bits |= IO_WRITABLE;
	else if (res != -ENOBUFS && res != -ENOMEM && res != -ECANCELED)
		sock->bits |= IO_ERR;
	uring_deliver(u, op, res);
}

static void on_connected(struct uring *u, struct io_op *op, int res)
{
	if (res > 0)
		res = -EIO;
	if (res < 0 && res != -ECANCELED)
		op->sock->bits |= IO_ERR;
	/* It was established and then reset: what the server sent before the reset belongs to the client. */
	if ((res == -ECONNRESET || res == -EPIPE) && sys_unread(op->sock->fd) > 0)
		res = 0;
	if (res == 0)
		op->sock->bits |= IO_UNASKED;
	uring_deliver(u, op, res);
}

static void on_op(struct uring *u, struct io_sock *sock, struct ring_done *c)
{
	struct io_op *op = (c->user_data & URING_TAG_MASK) == URING_RD ? sock->rd : sock->wr;
	const int32_t number = (int32_t)(c->user_data >> URING_NUMBER_SHIFT);

	if (op == NULL || (op->result & ~URING_CANCELLED) != (URING_SENT | number)) {
		u->loop->stale_events++;
		uring_buf_back(u, c);
		return;
	}
	check(op->sock == sock);
	/* IO_PENDING and its like are below this; no kernel returns less than -4095. */
	if (unlikely(c->res < -URING_ERRNO_MAX))
		c->res = -EIO;
	switch (op->kind) {
	case IO_READ:
		uring_on_read(u, op, c);
		return;
	case IO_WRITE:
		if (op->want == URING_BY_POLL)
			uring_on_ready(u, op, c->res);
		else
			on_written(u, op, c->res);
		return;
	case IO_CONNECT:
		on_connected(u, op, c->res);
		return;
	case IO_ACCEPT:
		uring_on_accept(u, op, c->res);
		return;
	default:
		uring_on_ready(u, op, c->res);
		return;
	}
}

static void watch_own(struct uring *u, uint64_t what)
{
	const int fd = what == URING_WAKE ? u->loop->wake_fd : what == URING_ALARM ? u->alarm.fd : u->epfd;
	struct io_uring_sqe *sqe = ring_sqe(u->ring);

	check(fd >= 0);
	io_uring_prep_poll_multishot(sqe, fd, EPOLLIN);
	sqe->user_data = what;
}

static void on_tick(struct uring *u)
{
	for (int i = 0; i < URING_OWN_POLLS; i++)
		if (u->unheard[i])
			watch_own(u, own_polls[i]);
	memset(u->unheard, 0, sizeof(u->unheard));
	uring_watch_tick(u);
}

/* The kernel is out of a resource: an immediate retry would fail again. */
static void watch_own_later(struct uring *u, uint64_t what)
{
	for (int i = 0; i < URING_OWN_POLLS; i++)
		u->unheard[i] |= what == own_polls[i];
	uring_watch_ask_tick(u);
}

static void on_own(struct uring *u, const struct ring_done *c)
{
	if (c->user_data == URING_TICK) {
		on_tick(u);
		return;
	}
	if (c->res < 0 && !(c->flags & IORING_CQE_F_MORE)) {
		watch_own_later(u, c->user_data);
		return;
	}
	if (!(c->flags & IORING_CQE_F_MORE))
		watch_own(u, c->user_data); /* the kernel may end a multishot at any time */
	if (c->user_data == URING_ALARM)
		alarm_rang(&u->alarm);
	else if (c->user_data == URING_EPOLL)
		uring_watch_events(u);
	else if (u->loop->woken != NULL)
		u->loop->woken(u->loop);
}

static void on_completion(struct uring *u, struct ring_done *c)
{
	struct io_sock *sock = (struct io_sock *)(uintptr_t)(c->user_data & URING_POINTER_MASK);

	switch (c->user_data & URING_TAG_MASK) {
	case URING_RD:
	case URING_WR:
		on_op(u, sock, c);
		return;
	case URING_OWN:
		on_own(u, c);
		return;
	default:
		/* A cancel that came too late, or a failed close; only EBADF would be a bug of ours. */
		check(c->user_data != URING_CLOSED || c->res != -EBADF);
		return;
	}
}

/* ---- waiting ---- */

void uring_switch_on(struct uring *u)
{
	int err;

	check(!u->on);
	err = ring_enable(u->ring);
	check(err == 0); /* it was created for this */
	u->on = true;
	watch_own(u, URING_WAKE);
	watch_own(u, URING_ALARM);
	watch_own(u, URING_EPOLL);
	uring_accept_on(u);
}

/* Callbacks cause new completions, endlessly under load. Those left over end the next wait at once. */
static void take_completions(struct uring *u)
{
	uint32_t count = IO_EVENTS;

	for (int round = 0; round < URING_COMPLETIONS / IO_EVENTS && count == IO_EVENTS; round++) {
		count = ring_take(u->ring, u->done, IO_EVENTS);
		check(count <= IO_EVENTS);
		u->loop->events += count;
		for (uint32_t i = 0; i < count; i++)
			on_completion(u, &u->done[i]);
	}
}

static void uring_wait(struct io_loop *loop, int64_t deadline_ns)
{
	struct uring *u = loop->driver_state;
	int64_t timeout_ns;
	int err;

	check(!loop->is_down);
	if (unlikely(!u->on))
		uring_switch_on(u);
	if (unlikely(u->missing > 0))
		uring_bufs_fill(u);
	if (deadline_ns == IO_ALL_NOW)
		timeout_ns = RING_ALL;
	else if (u->has_more || ring_is_behind(u->ring))
		timeout_ns = 0;
	else
		timeout_ns = alarm_wait_ns(&u->alarm, loop, deadline_ns);
	err = ring_enter(u->ring, timeout_ns);
	if (unlikely(err == -EBADR)) {
		uring_lose(u);
		return;
	}
	/* The kernel may be out of a resource for a while. */
	check(err == 0 || err == -EBUSY || err == -EAGAIN || err == -ENOMEM);
	loop->now_ns = sys_now_ns();
	u->looked = false;
	take_completions(u);
	if (u->has_more && !u->looked)
		uring_watch_events(u);
}

/* ---- opening and closing ---- */

static int open_parts(struct uring *u)
{
	int err = alarm_open(&u->alarm);

	if (err)
		return err;
	u->epfd = sys_epoll_create();
	err = u->epfd < 0 ? u->epfd : ring_open(&u->ring, &uring_shape);
	if (!err)
		return 0;
	if (u->epfd >= 0)
		sys_close(u->epfd);
	alarm_close(&u->alarm);
	return err;
}

static int uring_open(struct io_loop *loop)
{
	struct uring *u = calloc(1, sizeof(*u));
	int err;

	if (u == NULL)
		return -ENOMEM;
	u->loop = loop;
	parked_init(&u->parked, loop, uring_close_sock);
	uring_bufs_init(u);
	err = open_parts(u);
	if (err) {
		free(u);
		return err;
	}
	loop->driver_state = u;
	return 0;
}

static void uring_release(struct io_loop *loop)
{
	struct uring *u = loop->driver_state;

	check(u->lent == NULL);
	if (u->ring == NULL)
		return;
	/* For sockets that were closed in the last turn. */
	if (u->on)
		(void)ring_enter(u->ring, 0); /* whatever fails now ends with the ring */
	ring_close(u->ring);
	u->ring = NULL;
	uring_bufs_free(u);
}

static void uring_close(struct io_loop *loop)
{
	struct uring *u = loop->driver_state;

	uring_release(loop);
	check(u->young == NULL && u->old == NULL);
	check(u->stuck == NULL);
	check(u->unarmed == NULL);
	parked_free(&u->parked);
	sys_close(u->epfd);
	alarm_close(&u->alarm);
	free(u);
	loop->driver_state = NULL;
}

const struct io_driver io_uring_driver = {
	.name = "io_uring",
	.borrows_bytes = (uint64_t)URING_BUFS * (URING_BUF_BYTES + sizeof(struct buf)),
	.open = uring_open,
	.close = uring_close,
	.attach = uring_attach,
	.start = uring_start,
	.cancel = uring_cancel,
	.last = uring_accept_last,
	.release = uring_release,
	.wait = uring_wait,
	.keep = uring_keep,
	.forget = uring_forget,
};

/* SPDX-License-Identifier: MIT
 *
 * uring.c - the io_uring driver: what is asked of the ring, and what its completions mean.
 *
 * Small messages go through the ring: a read into one of its buffers, the write from there, one system call
 * for each turn of the loop. A socket that is spliced, or whose readiness is waited for, is polled by the ring
 * instead, and from then on works as with epoll (parked.c), because IORING_OP_SPLICE always runs on a thread
 * of the kernel. Owns the ring and the ops in it. One thread a loop. Floor 1.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "sluice/base/check.h"
#include "sluice/base/clock.h"
#include "sluice/io/attempt.h"
#include "sluice/io/sys.h"
#include "sluice/io/uring.h"
#include "sluice/io/uring_state.h"

static const struct ring_shape shape = {URING_SUBMISSIONS, URING_COMPLETIONS, URING_BUFS};

/* ---- what is asked of the ring ---- */

static uint64_t tagged(const struct io_sock *sock, enum uring_tag tag, uint16_t number)
{
	const uintptr_t p = (uintptr_t)sock;

	check((p >> URING_NUMBER_SHIFT) == 0);
	check((p & URING_TAG_MASK) == 0);
	return (uint64_t)p | tag | (uint64_t)number << URING_NUMBER_SHIFT;
}

static uint64_t op_data(struct io_op *op)
{
	const enum uring_tag tag = parked_place(op) == &op->sock->rd ? URING_RD : URING_WR;

	return tagged(op->sock, tag, (uint16_t)op->result);
}

void uring_sent(struct uring *u, struct io_op *op, struct io_uring_sqe *sqe)
{
	op->result = URING_SENT | ++u->number;
	sqe->user_data = op_data(op);
}

static void ask_cancel(struct uring *u, uint64_t user_data)
{
	struct io_uring_sqe *sqe = ring_sqe(u->ring);

	io_uring_prep_cancel64(sqe, user_data, 0);
	sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
	sqe->user_data = URING_NOTHING;
}

void uring_cancel_sent(struct uring *u, struct io_op *op)
{
	if (op->result & URING_CANCELLED)
		return;
	ask_cancel(u, op_data(op));
	op->result |= URING_CANCELLED;
}

static void ask_poll(struct uring *u, int fd, uint32_t mask, uint64_t user_data)
{
	struct io_uring_sqe *sqe = ring_sqe(u->ring);

	io_uring_prep_poll_multishot(sqe, fd, mask);
	sqe->user_data = user_data;
}

static void poll_sock(struct uring *u, struct io_sock *sock)
{
	if (sock->bits & IO_POLLED)
		return;
	sock->bits |= IO_POLLED;
	ask_poll(u, sock->fd, PARKED_MASK & ~(uint32_t)EPOLLET, tagged(sock, URING_POLL, sock->gen));
}

/* ---- watches: most end within the turn, so the ring hears of those that last ---- */

static void watch_remove(struct uring *u, struct io_op *op)
{
	if (op->prev != NULL)
		op->prev->next = op->next;
	else if (u->young == op)
		u->young = op->next;
	else
		u->old = op->next;
	if (op->next != NULL)
		op->next->prev = op->prev;
	op->next = NULL;
	op->result = IO_PARKED;
}

/* A timer of the ring's own: one of the loop's would make every wait a timed one. */
static void ask_tick(struct uring *u)
{
	static struct __kernel_timespec ts = {.tv_nsec = URING_WATCH_NS};
	struct io_uring_sqe *sqe = ring_sqe(u->ring);

	io_uring_prep_timeout(sqe, &ts, 0, 0);
	sqe->user_data = URING_TICK;
	u->ticking = true;
}

static void on_tick(struct uring *u)
{
	struct io_op *op;

	u->ticking = false;

	while ((op = u->old) != NULL) {
		watch_remove(u, op);
		poll_sock(u, op->sock);
	}
	u->old = u->young;
	u->young = NULL;
	if (u->old != NULL)
		ask_tick(u);
}

static void watch_later(struct uring *u, struct io_op *op)
{
	if (!u->ticking)
		ask_tick(u);
	op->result = URING_WATCH;
	op->prev = NULL;
	op->next = u->young;
	if (op->next != NULL)
		op->next->prev = op;
	u->young = op;
}

/* ---- starting ---- */

static int uring_attach(struct io_loop *loop, struct io_sock *sock)
{
	(void)loop;
	/* Most clients speak first, and have by the time that they are read. */
	sock->bits |= IO_UNASKED;
	return 0;
}

void uring_ask_read(struct uring *u, struct io_op *op)
{
	struct io_uring_sqe *sqe = ring_sqe(u->ring);

	io_uring_prep_recv(sqe, op->sock->fd, NULL, op->max < URING_BUF_BYTES ? op->max : URING_BUF_BYTES, 0);
	sqe->flags |= IOSQE_BUFFER_SELECT;
	sqe->buf_group = RING_BUF_GROUP;
	if (!(op->sock->bits & IO_READABLE))
		sqe->ioprio |= IORING_RECVSEND_POLL_FIRST;
	uring_sent(u, op, sqe);
}

/* The write may have taken the error of a reset already, and a read then says 0 as if the stream had ended. A
 * read through the ring completes behind the write. */
static bool has_write_in_ring(const struct io_sock *sock)
{
	return sock->wr != NULL && sock->wr->kind == IO_WRITE && (sock->wr->result & URING_SENT);
}

static int start_read(struct uring *u, struct io_op *op)
{
	struct io_sock *sock = op->sock;
	int r;

	if (sock->bits & IO_UNASKED)
		sock->bits = (uint16_t)((sock->bits & ~IO_UNASKED) | IO_READABLE);
	else if (!(sock->bits & (IO_POLLED | IO_ENDED)))
		goto ask;
	r = parked_try(&u->parked, op);
	if (r == 0 && has_write_in_ring(sock)) {
		sock->bits &= (uint16_t)~IO_ENDED;
		goto ask;
	}
	if (r != IO_PENDING)
		return r;
	if (sock->bits & IO_POLLED)
		return parked_wait(u->loop, op);
ask:
	(void)parked_wait(u->loop, op); /* it waits in the ring */
	uring_ask_read(u, op);
	return IO_PENDING;
}

static bool is_in_lent(const struct uring *u, const struct io_op *op)
{
	return u->lent != NULL && op->data >= u->lent->data && op->data < u->lent->data + u->lent->cap;
}

/* It never waits in the ring: behind a FIN of the peer, which every poll there reports, the kernel would try
 * again without end, in vain cancelled, and at last on a thread of its own. */
void uring_ask_write(struct uring *u, struct io_op *op)
{
	struct io_uring_sqe *sqe = ring_sqe(u->ring);

	io_uring_prep_send(sqe, op->sock->fd, op->data, op->len,
			   MSG_DONTWAIT | MSG_NOSIGNAL | (op->flags & IO_LAST ? MSG_MORE : 0));
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
	uring_ask_write(u, op);
	return IO_PENDING;
}

static int start_ready(struct uring *u, struct io_op *op)
{
	const int r = io_try_ready(op);

	if (r != IO_PENDING)
		return r;
	(void)parked_wait(u->loop, op); /* it is parked */
	if (op->want & (IO_WANT_IN | IO_WANT_OUT))
		poll_sock(u, op->sock);
	else if (!(op->sock->bits & IO_POLLED))
		watch_later(u, op);
	return IO_PENDING;
}

static int start_connect(struct uring *u, struct io_op *op)
{
	struct io_uring_sqe *sqe;

	/* A full backlog of a Unix socket is no event; the ring would wait for one, on a thread. */
	if (!(op->sock->bits & IO_TCP))
		return sys_connect(op->sock->fd, &op->addr->sa, op->addr->len);
	(void)parked_wait(u->loop, op); /* it waits in the ring */
	sqe = ring_sqe(u->ring);
	io_uring_prep_connect(sqe, op->sock->fd, &op->addr->sa, op->addr->len);
	uring_sent(u, op, sqe);
	return IO_PENDING;
}

static int start_splice_in(struct uring *u, struct io_op *op)
{
	if (!(op->sock->bits & IO_POLLED)) {
		poll_sock(u, op->sock);
		op->sock->bits |= IO_READABLE; /* nobody knows better */
	}
	return parked_try(&u->parked, op);
}

/* ---- closing ---- */

static void close_now(struct uring *u, struct io_op *op)
{
	struct io_sock *sock = op->sock;
	struct io_uring_sqe *sqe = ring_sqe(u->ring);

	check(sock->rd == NULL);
	check(sock->wr == NULL || sock->wr == op);
	io_uring_prep_close(sqe, sock->fd);
	sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
	sqe->user_data = URING_CLOSED;
	sock->fd = -1;
	sock->gen++;
}

/* A poll that is pending holds the file, so the peer would hear nothing: it ends first. */
static int uring_close_sock(struct io_loop *loop, struct io_op *op)
{
	struct uring *u = loop->driver_state;
	struct io_sock *sock = op->sock;

	if (op->kind == IO_RESET)
		parked_harden(sock);
	if (!(sock->bits & IO_POLLED)) {
		close_now(u, op);
		return 0;
	}
	ask_cancel(u, tagged(sock, URING_POLL, sock->gen));
	if (sock->wr == NULL)
		(void)parked_wait(loop, op); /* until the poll has ended */
	op->result = URING_CLOSING;
	return IO_PENDING;
}

static int start_reset(struct uring *u, struct io_op *op)
{
	struct io_uring_sqe *sqe;

	if (!parked_may_drain(op))
		return uring_close_sock(u->loop, op);
	(void)parked_wait(u->loop, op); /* it waits in the ring */
	sqe = ring_sqe(u->ring);
	io_uring_prep_poll_add(sqe, op->sock->fd, EPOLLOUT);
	uring_sent(u, op, sqe);
	return IO_PENDING;
}

static int uring_start(struct io_loop *loop, struct io_op *op)
{
	struct uring *u = loop->driver_state;

	if (op->kind != IO_CLOSE && op->kind != IO_RESET && op->kind != IO_SPLICE_IN && op->kind != IO_SPLICE_OUT)
		check(*parked_place(op) == NULL);
	switch (op->kind) {
	case IO_ACCEPT:
		return uring_start_accept(u, op);
	case IO_CONNECT:
		return start_connect(u, op);
	case IO_READ:
		return start_read(u, op);
	case IO_WRITE:
		return start_write(u, op);
	case IO_SPLICE_IN:
		return start_splice_in(u, op);
	case IO_READY:
		return start_ready(u, op);
	case IO_SHUTDOWN:
		/* IORING_OP_SHUTDOWN always runs on a thread of the kernel. */
		return sys_shutdown(op->sock->fd, SHUT_WR);
	case IO_RESET:
		return start_reset(u, op);
	case IO_CLOSE:
		return uring_close_sock(loop, op);
	default:
		return parked_try(&u->parked, op);
	}
}

static void uring_cancel(struct io_loop *loop, struct io_op *op)
{
	struct uring *u = loop->driver_state;

	if (op->result == URING_CLOSING)
		return; /* it ends by itself, soon */
	if (op->result & URING_SENT) {
		uring_cancel_sent(u, op);
		op->result &= ~URING_SWITCH;
		return;
	}
	if (op->kind == IO_ACCEPT)
		uring_forget_accept(u, op);
	if (op->result == URING_WATCH)
		watch_remove(u, op);
	parked_cancel(&u->parked, op);
}

/* ---- completions ---- */

static void deliver(struct uring *u, struct io_op *op, int result)
{
	parked_leave(u->loop, op);
	op->done(op, result);
}

/* There is no room: the socket's poll tells when there is. */
static void park_write(struct uring *u, struct io_op *op)
{
	op->sock->bits &= (uint16_t)~IO_WRITABLE;
	op->flags &= (uint8_t)~IO_LENT; /* whoever lent the bytes has kept them since */
	op->result = IO_PARKED;
	poll_sock(u, op->sock);
}

static void on_written(struct uring *u, struct io_op *op, int res)
{
	struct io_sock *sock = op->sock;

	if (res == -EAGAIN && !(op->result & URING_CANCELLED)) {
		park_write(u, op);
		return;
	}
	if (res == -EINTR && !(op->result & URING_CANCELLED)) {
		uring_ask_write(u, op);
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
	deliver(u, op, res);
}

static void on_connected(struct uring *u, struct io_op *op, int res)
{
	if (res > 0)
		res = -EIO;
	if (res < 0 && res != -ECANCELED)
		op->sock->bits |= IO_ERR;
	/* It was established and then reset: what the server said before belongs to the client. */
	if ((res == -ECONNRESET || res == -EPIPE) && sys_unread(op->sock->fd) > 0)
		res = 0;
	deliver(u, op, res);
}

/* Everything may have been acknowledged. */
static void on_drained(struct uring *u, struct io_op *op, int res)
{
	if (op->result & URING_CANCELLED) {
		deliver(u, op, -ECANCELED);
		return;
	}
	if (res > 0 && (res & (int)EPOLLERR))
		op->sock->bits |= IO_ERR;
	op->result = IO_PARKED;
	if (parked_try(&u->parked, op) != IO_PENDING)
		deliver(u, op, 0);
	else if (op->result == IO_PARKED)
		poll_sock(u, op->sock); /* the peer may reset it, which changes nothing of SIOCOUTQ */
}

static void on_op(struct uring *u, struct io_sock *sock, struct ring_done *c)
{
	struct io_op *op = (c->user_data & URING_TAG_MASK) == URING_RD ? sock->rd : sock->wr;
	const int32_t number = (int32_t)(c->user_data >> URING_NUMBER_SHIFT);

	if (op == NULL || (op->result & ~(URING_CANCELLED | URING_SWITCH)) != (URING_SENT | number)) {
		u->loop->stale_events++;
		uring_buf_back(u, c);
		return;
	}
	/* IO_PENDING and its like are down there; no kernel goes below -4095. */
	if (unlikely(c->res < -URING_ERRNO_MAX))
		c->res = -EIO;
	switch (op->kind) {
	case IO_READ:
		uring_on_read(u, op, c);
		return;
	case IO_WRITE:
		on_written(u, op, c->res);
		return;
	case IO_CONNECT:
		on_connected(u, op, c->res);
		return;
	case IO_ACCEPT:
		uring_on_accept(u, op, c);
		return;
	default:
		on_drained(u, op, c->res);
		return;
	}
}

/* Where a single wake-up came the kernel tells the bits that this one named, and does not look: bytes come
 * with EPOLLPRI always, but room comes without, whether a mark waits or not. */
static uint32_t whole_event(const struct io_sock *sock, uint32_t events)
{
	return !(events & EPOLLIN) && (sock->bits & IO_PRI) ? events | EPOLLPRI : events;
}

/* The socket's own poll: an event, or its end. */
static void on_poll(struct uring *u, struct io_sock *sock, const struct ring_done *c)
{
	const uint16_t gen = (uint16_t)(c->user_data >> URING_NUMBER_SHIFT);
	struct io_op *closing = sock->wr != NULL && sock->wr->result == URING_CLOSING ? sock->wr : NULL;

	if (sock->gen != gen || !(sock->bits & IO_POLLED)) {
		u->loop->stale_events++;
		return;
	}
	if (!(c->flags & IORING_CQE_F_MORE)) {
		sock->bits &= (uint16_t)~IO_POLLED;
		if (closing != NULL) {
			close_now(u, closing);
			deliver(u, closing, 0);
			return;
		}
		poll_sock(u, sock); /* the kernel may end a multishot at any time */
	}
	if (closing == NULL && c->res > 0)
		parked_event(&u->parked, sock, whole_event(sock, (uint32_t)c->res));
}

static void watch_own(struct uring *u, uint64_t what)
{
	ask_poll(u, what == URING_WAKE ? u->loop->wake_fd : u->alarm.fd, EPOLLIN, what);
}

static void on_own(struct uring *u, const struct ring_done *c)
{
	if (c->user_data == URING_TICK) {
		on_tick(u);
		return;
	}
	if (!(c->flags & IORING_CQE_F_MORE))
		watch_own(u, c->user_data);
	if (c->user_data == URING_ALARM)
		alarm_rang(&u->alarm);
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
	case URING_POLL:
		on_poll(u, sock, c);
		return;
	case URING_OWN:
		on_own(u, c);
		return;
	default:
		/* A cancel that came too late, or the one failure of a close that is not our own mistake. */
		check(c->user_data != URING_CLOSED || c->res != -EBADF);
		return;
	}
}

/* ---- waiting ---- */

/* The ring belongs to the thread that waits. */
static void switch_on(struct uring *u)
{
	const int err = ring_enable(u->ring);

	check(err == 0); /* it was made for that */
	u->on = true;
	watch_own(u, URING_WAKE);
	watch_own(u, URING_ALARM);
	uring_accept_on(u);
}

static void uring_wait(struct io_loop *loop, int64_t deadline_ns)
{
	struct uring *u = loop->driver_state;
	int64_t timeout_ns;
	uint32_t count;
	int err;

	if (unlikely(!u->on))
		switch_on(u);
	if (unlikely(u->missing > 0))
		uring_bufs_fill(u);
	timeout_ns = ring_is_behind(u->ring) ? 0 : alarm_wait_ns(&u->alarm, loop, deadline_ns);
	err = ring_enter(u->ring, timeout_ns);
	check(err == 0 || err == -EBUSY || err == -EAGAIN || err == -ENOMEM); /* the kernel is short of something */
	loop->now_ns = sys_now_ns();
	do {
		count = ring_take(u->ring, u->done, IO_EVENTS);
		loop->events += count;
		for (uint32_t i = 0; i < count; i++)
			on_completion(u, &u->done[i]);
	} while (count == IO_EVENTS);
	uring_accept_drained(u);
}

/* ---- life ---- */

static int uring_open(struct io_loop *loop)
{
	struct uring *u = calloc(1, sizeof(*u));
	int err;

	if (u == NULL)
		return -ENOMEM;
	u->loop = loop;
	parked_init(&u->parked, loop, uring_close_sock);
	uring_bufs_init(u);
	err = alarm_open(&u->alarm);
	if (!err) {
		err = ring_open(&u->ring, &shape);
		if (err)
			alarm_close(&u->alarm);
	}
	if (err) {
		free(u);
		return err;
	}
	loop->driver_state = u;
	return 0;
}

static void uring_rest(struct io_loop *loop)
{
	struct uring *u = loop->driver_state;

	if (u->ring == NULL)
		return;
	/* Sockets that were closed in the last turn. */
	if (u->on)
		(void)ring_enter(u->ring, 0); /* what fails now ends with the ring */
	ring_close(u->ring);
	u->ring = NULL;
	uring_bufs_free(u);
}

static void uring_close(struct io_loop *loop)
{
	struct uring *u = loop->driver_state;

	uring_rest(loop);
	check(u->young == NULL && u->old == NULL);
	parked_free(&u->parked);
	alarm_close(&u->alarm);
	free(u);
	loop->driver_state = NULL;
}

const struct io_driver io_uring_driver = {
	.name = "io_uring",
	.open = uring_open,
	.close = uring_close,
	.attach = uring_attach,
	.start = uring_start,
	.cancel = uring_cancel,
	.last = uring_accept_last,
	.rest = uring_rest,
	.wait = uring_wait,
	.keep = uring_keep,
};

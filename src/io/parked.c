/* SPDX-License-Identifier: MIT
 *
 * parked.c - ops that wait until their socket is ready: how drivers handle edge-triggered events.
 *
 * Owns the scratch buffer that all reads share, and the wait for the acknowledgements of a reset. Never
 * decides what to do with bytes. One thread per loop.
 */
#include "parked.h"

#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/net/sock.h"
#include "weir/sys/sys.h"
#include "attempt.h"

/* When to check again a send queue that was almost empty at EPOLLOUT. */
#define FLUSH_LOOK_NS (5 * NS_PER_MS)
/* Checks that find nothing new become less and less frequent: a receiver may have stopped reading for
 * good. */
#define FLUSH_LOOK_MAX_NS (200 * NS_PER_MS)

static_assert(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT && EPOLLPRI == POLLPRI && EPOLLRDHUP == POLLRDHUP,
	      "an entry of the ring that polls may use the bits of epoll(7)");

static void look_at_flushing(struct timer *t);

void parked_init(struct parked *p, struct io_loop *loop,
		 void (*close)(struct io_loop *loop, struct io_op *op))
{
	check(close != NULL);
	p->loop = loop;
	p->close = close;
	p->flushing = NULL;
	timer_init(&p->look, look_at_flushing);
}

void parked_free(struct parked *p)
{
	check(p->flushing == NULL);
	timer_cancel(&p->loop->timers, &p->look);
}

struct io_op **parked_place(struct io_op *op)
{
	switch (op->kind) {
	case IO_ACCEPT:
	case IO_READ:
	case IO_SPLICE_IN:
		return &op->sock->rd;
	case IO_READY:
		return op->want == IO_WANT_OUT ? &op->sock->wr : &op->sock->rd;
	default:
		return &op->sock->wr;
	}
}

int parked_wait(struct io_loop *loop, struct io_op *op)
{
	struct io_op **place = parked_place(op);

	check(op->kind != IO_SPLICE_IN && op->kind != IO_SPLICE_OUT);
	check(*place == NULL);
	*place = op;
	op->state = IO_STATE_WAITING;
	op->result = IO_PARKED;
	loop->pending++;
	return IO_PENDING;
}

void parked_leave(struct io_loop *loop, struct io_op *op)
{
	struct io_op **place = parked_place(op);

	check(*place == op);
	check(op->state == IO_STATE_WAITING);
	check(loop->pending > 0);
	*place = NULL;
	op->state = IO_STATE_IDLE;
	loop->pending--;
}

/* ---- deliver, then reset ---- */

/* Anything but waiting for the acknowledgements loses bytes for a slow receiver. SO_SNDBUF=1 makes EPOLLOUT
 * mean "almost all acknowledged", and requesting the event again makes the kernel check again (it sets
 * SOCK_NOSPACE when the socket is not writable). */
bool parked_may_flush(struct io_op *op)
{
	struct io_sock *sock = op->sock;
	const int one = 1;

	check(op->kind == IO_RESET);
	if (!(op->flags & IO_FLUSH) || !(sock->bits & IO_TCP) || (sock->bits & IO_ERR) ||
	    sys_unacked(sock->fd) <= 0)
		return false;
	if (sys_setsockopt(sock->fd, SOL_SOCKET, SO_SNDBUF, &one, sizeof(one)))
		return false;
	sock->bits &= (uint16_t)~IO_WRITABLE;
	return true;
}

void parked_harden(const struct io_sock *sock)
{
	/* This drops the send queue: callers have made sure that nobody waits for its contents. */
	if (sock->bits & IO_TCP)
		sock_harden(sock->fd);
}

static bool is_flushed(const struct io_sock *sock)
{
	return (sock->bits & IO_ERR) || sys_unacked(sock->fd) <= 0;
}

/* After the peer's own reset nothing is acknowledged any more, and if an epoll set was full no event reports
 * the reset. SO_ERROR does not serve here: it also returns network errors about a single packet. */
static bool is_broken(const struct io_sock *sock)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);

	if (sys_getsockopt(sock->fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return false;
	return info.tcpi_state == TCP_CLOSE;
}

void parked_forget(struct parked *p, const struct io_op *op)
{
	struct io_op **at;

	for (at = &p->flushing; *at != NULL; at = &(*at)->next) {
		if (*at == op) {
			*at = op->next;
			return;
		}
	}
}

/* Handles EPOLLOUT or an error for a waiting reset. A third of the wake-ups find up to 2,240 bytes still in
 * flight: these sockets are checked again by timer, because no event reports the last byte. */
static int try_reset(struct parked *p, struct io_op *op)
{
	check(op->flags & IO_FLUSH);
	/* It may be in the list already, from an earlier event. */
	parked_forget(p, op);
	p->look_ns = FLUSH_LOOK_NS;
	if (is_flushed(op->sock) || timer_set(&p->loop->timers, &p->look, p->loop->now_ns + p->look_ns)) {
		p->close(p->loop, op);
		return 0;
	}
	op->next = p->flushing;
	p->flushing = op;
	return IO_PENDING;
}

static void look_at_flushing(struct timer *t)
{
	struct parked *p = container_of(t, struct parked, look);
	struct io_op **at = &p->flushing;

	while (*at != NULL) {
		struct io_op *op = *at;

		check(op->kind == IO_RESET);
		if (!is_flushed(op->sock) && !is_broken(op->sock)) {
			at = &op->next;
			continue;
		}
		*at = op->next;
		op->next = NULL;
		p->close(p->loop, op);
		parked_leave(p->loop, op);
		op->done(op, 0);
		at = &p->flushing; /* done() may have changed the list */
		p->look_ns = FLUSH_LOOK_NS / 2;
	}
	p->look_ns = p->look_ns < FLUSH_LOOK_MAX_NS ? 2 * p->look_ns : FLUSH_LOOK_MAX_NS;
	if (p->flushing != NULL)
		(void)timer_set(&p->loop->timers, t, p->loop->now_ns + p->look_ns); /* it was set before, so
										     * there is room */
}

/* ---- tries ---- */

int parked_try(struct parked *p, struct io_op *op)
{
	switch (op->kind) {
	case IO_READ:
		return io_try_read(op, p->scratch, buf_read_bytes(&p->loop->bufs));
	case IO_WRITE:
		return io_try_write(op);
	case IO_SPLICE_IN:
		return io_try_splice_in(op);
	case IO_SPLICE_OUT:
		return io_try_splice_out(op);
	case IO_READY:
		return io_try_ready(op);
	case IO_CONNECT:
		return io_connect_result(op);
	case IO_RESET:
		return try_reset(p, op);
	default:
		check_failed(__FILE__, __LINE__, "this op never waits");
	}
}

struct buf *parked_keep(struct io_loop *loop, struct io_op *op, uint32_t from)
{
	const uint32_t len = op->len - from;
	struct buf *b = buf_get(&loop->bufs, len);

	if (b != NULL) {
		check(b->cap >= len);
		memcpy(b->data, op->data + from, len);
		b->off = 0;
		b->len = len;
	}
	return b;
}

void parked_cancel(struct parked *p, struct io_op *op)
{
	struct io_op **place = parked_place(op);

	check(*place == op);
	check(op->result == IO_PARKED);
	if (op->kind == IO_RESET)
		parked_forget(p, op);
	*place = NULL;
	io_complete(p->loop, op, -ECANCELED);
}

/* ---- events ---- */

void parked_note(struct io_sock *sock, uint32_t ev)
{
	uint16_t bits = sock->bits;

	if (ev & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI))
		bits |= IO_READABLE;
	if (ev & EPOLLIN)
		bits |= IO_FRESH;
	if (ev & (EPOLLOUT | EPOLLHUP | EPOLLERR))
		bits |= IO_WRITABLE;
	if (ev & EPOLLRDHUP)
		bits |= IO_RDHUP;
	if (ev & EPOLLHUP)
		bits |= IO_HUP;
	if (ev & EPOLLERR)
		bits |= IO_ERR;
	/* Every event reports the mark until it is read, so an event without it proves that there is none. */
	bits = (uint16_t)(ev & EPOLLPRI ? bits | IO_PRI : bits & ~IO_PRI);
	sock->bits = bits;
}

static void run_waiting(struct parked *p, const struct io_sock *sock, struct io_op *op)
{
	int r;

	if (op == NULL || op->result != IO_PARKED)
		return;
	check(op->sock == sock);
	r = parked_try(p, op);
	if (r == IO_PENDING)
		return;
	parked_leave(p->loop, op);
	op->done(op, r);
}

void parked_event(struct parked *p, struct io_sock *sock, uint32_t events)
{
	const uint16_t gen = sock->gen;

	check(sock->fd >= 0); /* once closed, its generation differs from that of its last event */
	parked_note(sock, events);
	run_waiting(p, sock, sock->rd);
	if (sock->gen == gen)
		run_waiting(p, sock, sock->wr);
}

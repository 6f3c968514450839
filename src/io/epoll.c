/* SPDX-License-Identifier: MIT
 *
 * epoll.c - the default driver: edge-triggered epoll, one EPOLL_CTL_ADD per socket.
 *
 * Owns the epoll descriptor; ops that wait for an event are parked (parked.c). Never decides what to do with
 * bytes. One thread per loop.
 */
#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/io/io.h"
#include "weir/sys/sys.h"
#include "accept.h"
#include "alarm.h"
#include "parked.h"

/* User-space pointers end below this bit; the generation of the socket is stored above it. */
#define EPOLL_GEN_SHIFT 48
/* In an event, in place of a socket. */
#define EPOLL_WAKE 0
#define EPOLL_ALARM 1

static_assert(EPOLL_GEN_SHIFT + 8 * sizeof(((struct io_sock *)0)->gen) == 64,
	      "an event carries the whole generation");
static_assert(EPOLL_ALARM < _Alignof(struct io_sock), "no socket has an address that means something else");

struct epoll_driver {
	int epfd;               /* owns */
	struct alarm alarm;     /* ends a wait at a deadline that is far away */
	struct addr peer;       /* of the accept being delivered */
	struct io_loop *loop;
	struct epoll_event events[IO_EVENTS];
	struct parked parked;
};

static uint64_t event_data(const struct io_sock *sock)
{
	const uintptr_t p = (uintptr_t)sock;

	check((p >> EPOLL_GEN_SHIFT) == 0);
	return (uint64_t)p | (uint64_t)sock->gen << EPOLL_GEN_SHIFT;
}

static int add_socket(struct epoll_driver *d, const struct io_sock *sock, uint32_t mask)
{
	return sys_epoll_ctl(d->epfd, EPOLL_CTL_ADD, sock->fd, mask, event_data(sock));
}

static int epoll_attach(struct io_loop *loop, struct io_sock *sock)
{
	return add_socket(loop->driver_state, sock, PARKED_MASK);
}

/* ---- starting ---- */

static int connect_by_epoll(struct io_loop *loop, struct io_op *op)
{
	struct epoll_driver *d = loop->driver_state;
	const int r = sys_connect(op->sock->fd, &op->addr->sa, op->addr->len);
	int err;

	if (r != 0 && r != -EINPROGRESS && r != -EINTR)
		return r;
	/* Before connect(2) epoll would report HUP, so the descriptor is added only now. */
	if (r != 0)
		op->sock->bits &= (uint16_t)~IO_WRITABLE;
	err = add_socket(d, op->sock, PARKED_MASK);
	if (err)
		return err;
	return r == 0 ? 0 : parked_wait(loop, op);
}

static int start_accept(struct io_loop *loop, struct io_op *op)
{
	const int err = add_socket(loop->driver_state, op->sock, EPOLLIN | EPOLLEXCLUSIVE);

	return err ? err : parked_wait(loop, op);
}

static void epoll_close_sock(struct io_loop *loop, struct io_op *op)
{
	struct io_sock *sock = op->sock;

	(void)loop;
	check(sock->rd == NULL);
	check(sock->wr == NULL || sock->wr == op);
	if (op->kind == IO_RESET)
		parked_harden(sock);
	sys_close(sock->fd);
	sock->fd = -1;
	sock->gen++;
}

static int start_reset(struct io_loop *loop, struct io_op *op)
{
	struct epoll_driver *d = loop->driver_state;

	check(op->sock->rd == NULL); /* no read is pending while it waits */
	if (parked_may_flush(op) && sys_epoll_ctl(d->epfd, EPOLL_CTL_MOD, op->sock->fd, EPOLLOUT | EPOLLET,
						  event_data(op->sock)) == 0)
		return parked_wait(loop, op);
	epoll_close_sock(loop, op);
	return 0;
}

static int epoll_start(struct io_loop *loop, struct io_op *op)
{
	struct epoll_driver *d = loop->driver_state;
	int r;

	switch (op->kind) {
	case IO_ACCEPT:
		return start_accept(loop, op);
	case IO_CONNECT:
		return connect_by_epoll(loop, op);
	case IO_SHUTDOWN:
		return sys_shutdown(op->sock->fd, SHUT_WR);
	case IO_RESET:
		return start_reset(loop, op);
	case IO_CLOSE:
		epoll_close_sock(loop, op);
		return 0;
	default:
		check(*parked_place(op) == NULL);
		r = parked_try(&d->parked, op);
		return r == IO_PENDING ? parked_wait(loop, op) : r;
	}
}

static void epoll_cancel(struct io_loop *loop, struct io_op *op)
{
	struct epoll_driver *d = loop->driver_state;

	check(op->sock->fd >= 0);
	if (op->kind == IO_ACCEPT)
		(void)sys_epoll_ctl(d->epfd, EPOLL_CTL_DEL, op->sock->fd, 0, 0); /* it was added */
	parked_cancel(&d->parked, op);
}

/* ---- accept ---- */

static void on_listener(struct io_loop *loop, struct io_op *op)
{
	struct epoll_driver *d = loop->driver_state;
	int err;

	check(op->state == IO_STATE_WAITING);
	err = io_accept_batch(loop, op, &d->peer);
	if (err < 0 && op->state == IO_STATE_WAITING) {
		(void)sys_epoll_ctl(d->epfd, EPOLL_CTL_DEL, op->sock->fd, 0, 0); /* it was added */
		parked_leave(loop, op);
		op->done(op, err);
	}
}

static int epoll_last(struct io_loop *loop, struct io_op *op)
{
	struct epoll_driver *d = loop->driver_state;
	int more;

	do
		more = io_accept_batch(loop, op, &d->peer);
	while (more > 0);
	return more;
}

/* ---- events ---- */

static void on_event(struct io_loop *loop, const struct epoll_event *ev)
{
	struct epoll_driver *d = loop->driver_state;
	struct io_sock *sock =
		(struct io_sock *)(uintptr_t)(ev->data.u64 & ((UINT64_C(1) << EPOLL_GEN_SHIFT) - 1));
	const uint16_t gen = (uint16_t)(ev->data.u64 >> EPOLL_GEN_SHIFT);

	if (sock->gen != gen) {
		loop->stale_events++;
		return;
	}
	if (sock->rd != NULL && sock->rd->kind == IO_ACCEPT) {
		on_listener(loop, sock->rd);
		return;
	}
	parked_event(&d->parked, sock, ev->events);
}

static void epoll_wait_events(struct io_loop *loop, int64_t deadline_ns)
{
	struct epoll_driver *d = loop->driver_state;
	const int64_t timeout_ns = alarm_wait_ns(&d->alarm, loop, deadline_ns);
	int count;
	int i;

	count = sys_epoll_wait(d->epfd, d->events, IO_EVENTS, timeout_ns);
	check(count <= IO_EVENTS);
	loop->now_ns = sys_now_ns();
	loop->events += count > 0 ? (uint64_t)count : 0;
	for (i = 0; i < count; i++) {
		if (d->events[i].data.u64 > EPOLL_ALARM)
			on_event(loop, &d->events[i]);
		else if (d->events[i].data.u64 == EPOLL_ALARM)
			alarm_rang(&d->alarm);
		else if (loop->woken != NULL)
			loop->woken(loop);
	}
}

/* Edge-triggered: each write(2) to the eventfd and each ring of the alarm is one event, and neither has to be
 * read. */
static int watch_own(struct epoll_driver *d)
{
	int err = sys_epoll_ctl(d->epfd, EPOLL_CTL_ADD, d->loop->wake_fd, EPOLLIN | EPOLLET, EPOLL_WAKE);

	if (err)
		return err;
	err = alarm_open(&d->alarm);
	if (err)
		return err;
	err = sys_epoll_ctl(d->epfd, EPOLL_CTL_ADD, d->alarm.fd, EPOLLIN | EPOLLET, EPOLL_ALARM);
	if (err)
		alarm_close(&d->alarm);
	return err;
}

static int epoll_open(struct io_loop *loop)
{
	struct epoll_driver *d = calloc(1, sizeof(*d));
	int err;

	if (d == NULL)
		return -ENOMEM;
	d->loop = loop;
	parked_init(&d->parked, loop, epoll_close_sock);
	d->epfd = sys_epoll_create();
	err = d->epfd < 0 ? d->epfd : watch_own(d);
	if (err) {
		if (d->epfd >= 0)
			sys_close(d->epfd);
		free(d);
		return err;
	}
	loop->driver_state = d;
	return 0;
}

static void epoll_close(struct io_loop *loop)
{
	struct epoll_driver *d = loop->driver_state;

	parked_free(&d->parked);
	alarm_close(&d->alarm);
	sys_close(d->epfd);
	free(d);
	loop->driver_state = NULL;
}

const struct io_driver io_epoll_driver = {
	.name = "epoll",
	.open = epoll_open,
	.close = epoll_close,
	.attach = epoll_attach,
	.start = epoll_start,
	.cancel = epoll_cancel,
	.last = epoll_last,
	.wait = epoll_wait_events,
	.keep = parked_keep,
};

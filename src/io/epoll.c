/* SPDX-License-Identifier: MIT
 *
 * epoll.c - the default driver: edge-triggered epoll, one EPOLL_CTL_ADD a socket.
 *
 * Owns the epoll descriptor, the ops that wait, and one scratch buffer that all reads share. Never
 * decides what to do with bytes. One thread a loop. Floor 1.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/base/check.h"
#include "sluice/base/clock.h"
#include "sluice/io/accept.h"
#include "sluice/io/alarm.h"
#include "sluice/io/attempt.h"
#include "sluice/io/io.h"
#include "sluice/io/sys.h"

/* Pointers of user space end below this bit; the generation of the socket lies above. */
#define EPOLL_GEN_SHIFT 48
/* A last look at a send queue that was almost empty when EPOLLOUT came. */
#define EPOLL_DRAIN_LOOK_NS (5 * NS_PER_MS)
/* Looks that find nothing new come ever more seldom: a receiver may have stopped reading for good. */
#define EPOLL_DRAIN_LOOK_MAX_NS (200 * NS_PER_MS)

/* In an event, instead of a socket. */
#define EPOLL_WAKE 0
#define EPOLL_ALARM 1

#define EPOLL_SOCKET_MASK (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET)

struct epoll_driver {
	int epfd;               /* owns */
	struct alarm alarm;     /* wakes the wait for a deadline that is far away */
	struct addr peer;       /* of the accept that is being delivered */
	struct io_op *draining; /* IO_RESET ops whose queue was almost empty; linked by op->next */
	struct timer look;      /* looks at them again */
	int64_t look_ns;        /* after so long */
	struct io_loop *loop;
	struct epoll_event events[IO_EVENTS];
	uint8_t scratch[IO_SCRATCH_BYTES];
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
	return add_socket(loop->driver_state, sock, EPOLL_SOCKET_MASK);
}

/* ---- waiting ops ---- */

static struct io_op **op_place(struct io_op *op)
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

static int op_wait(struct io_loop *loop, struct io_op *op)
{
	struct io_op **place = op_place(op);

	check(*place == NULL);
	*place = op;
	op->state = IO_WAITING;
	loop->pending++;
	return IO_PENDING;
}

/* Takes a waiting op out of its socket; its result is the caller's to deliver. */
static void op_leave(struct io_loop *loop, struct io_op *op)
{
	struct io_op **place = op_place(op);

	check(*place == op);
	check(op->state == IO_WAITING);
	*place = NULL;
	op->state = IO_IDLE;
	loop->pending--;
}

static int start_connect(struct io_loop *loop, struct io_op *op)
{
	struct epoll_driver *d = loop->driver_state;
	const int r = sys_connect(op->sock->fd, &op->addr->sa, op->addr->len);
	int err;

	if (r != 0 && r != -EINPROGRESS && r != -EINTR)
		return r;
	/* Before connect(2) epoll would report HUP: the descriptor is added only now. */
	if (r != 0)
		op->sock->bits &= (uint16_t)~IO_WRITABLE;
	err = add_socket(d, op->sock, EPOLL_SOCKET_MASK);
	if (err)
		return err;
	return r == 0 ? 0 : op_wait(loop, op);
}

static int start_accept(struct io_loop *loop, struct io_op *op)
{
	const int err = add_socket(loop->driver_state, op->sock, EPOLLIN | EPOLLEXCLUSIVE);

	return err ? err : op_wait(loop, op);
}

static int close_now(struct io_op *op)
{
	struct io_sock *sock = op->sock;

	check(sock->rd == NULL);
	check(sock->wr == NULL || sock->wr == op);
	sys_close(sock->fd);
	sock->fd = -1;
	sock->gen++;
	return 0;
}

static int reset_now(struct io_op *op)
{
	const struct linger hard = {.l_onoff = 1, .l_linger = 0};

	/* The send queue goes with it: callers made sure that nobody waits for what is in there. If the
	 * option is refused the peer sees FIN instead, which close() cannot help. */
	if (op->sock->bits & IO_TCP)
		(void)sys_setsockopt(op->sock->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	return close_now(op);
}

/* Deliver, then reset. Everything but waiting for the acknowledgements loses bytes at a slow
 * receiver; SO_SNDBUF=1 makes EPOLLOUT mean "almost all acknowledged", and the MOD makes the kernel
 * look again (it sets SOCK_NOSPACE when it finds the socket not writable). */
static int start_reset(struct io_loop *loop, struct io_op *op)
{
	struct epoll_driver *d = loop->driver_state;
	struct io_sock *sock = op->sock;
	const int one = 1;

	if (!(op->flags & IO_DRAIN) || !(sock->bits & IO_TCP) || (sock->bits & IO_ERR) ||
	    sys_unacked(sock->fd) <= 0)
		return reset_now(op);
	if (sys_setsockopt(sock->fd, SOL_SOCKET, SO_SNDBUF, &one, sizeof(one)) ||
	    sys_epoll_ctl(d->epfd, EPOLL_CTL_MOD, sock->fd, EPOLLOUT | EPOLLET, event_data(sock)))
		return reset_now(op);
	sock->bits &= (uint16_t)~IO_WRITABLE;
	return op_wait(loop, op);
}

static bool is_drained(const struct io_sock *sock)
{
	return (sock->bits & IO_ERR) || sys_unacked(sock->fd) <= 0;
}

static void forget_draining(struct epoll_driver *d, const struct io_op *op)
{
	struct io_op **at;

	for (at = &d->draining; *at != NULL; at = &(*at)->next) {
		if (*at == op) {
			*at = op->next;
			return;
		}
	}
}

/* EPOLLOUT or an error came for a reset that waits. A third of the wake-ups find up to 2,240 bytes
 * still on their way: those are looked at again by timer, as no event tells of the last byte. */
static int try_reset(struct epoll_driver *d, struct io_op *op)
{
	/* It may stand in the list already, from an event before. */
	forget_draining(d, op);
	if (is_drained(op->sock))
		return reset_now(op);
	d->look_ns = EPOLL_DRAIN_LOOK_NS;
	if (timer_set(&d->loop->timers, &d->look, d->loop->now_ns + d->look_ns))
		return reset_now(op);
	op->next = d->draining;
	d->draining = op;
	return IO_PENDING;
}

static void look_at_draining(struct timer *t)
{
	struct epoll_driver *d = container_of(t, struct epoll_driver, look);
	struct io_op **at = &d->draining;

	while (*at != NULL) {
		struct io_op *op = *at;

		if (!is_drained(op->sock)) {
			at = &op->next;
			continue;
		}
		*at = op->next;
		op->next = NULL;
		op_leave(d->loop, op);
		(void)reset_now(op); /* it closes, whatever happens */
		op->done(op, 0);
		at = &d->draining; /* done() may have changed the list */
		d->look_ns = EPOLL_DRAIN_LOOK_NS / 2;
	}
	d->look_ns = d->look_ns < EPOLL_DRAIN_LOOK_MAX_NS ? 2 * d->look_ns : EPOLL_DRAIN_LOOK_MAX_NS;
	if (d->draining != NULL)
		(void)timer_set(&d->loop->timers, t, d->loop->now_ns + d->look_ns); /* it had a place */
}

static int try_op(struct epoll_driver *d, struct io_op *op)
{
	switch (op->kind) {
	case IO_READ:
		return io_try_read(op, d->scratch, sizeof(d->scratch));
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
		return try_reset(d, op);
	default:
		check_failed(__FILE__, __LINE__, "this op never waits");
	}
}

static int epoll_start(struct io_loop *loop, struct io_op *op)
{
	int r;

	switch (op->kind) {
	case IO_ACCEPT:
		return start_accept(loop, op);
	case IO_CONNECT:
		return start_connect(loop, op);
	case IO_SHUTDOWN:
		return sys_shutdown(op->sock->fd, SHUT_WR);
	case IO_RESET:
		return start_reset(loop, op);
	case IO_CLOSE:
		return close_now(op);
	default:
		check(*op_place(op) == NULL);
		r = try_op(loop->driver_state, op);
		return r == IO_PENDING ? op_wait(loop, op) : r;
	}
}

static void epoll_cancel(struct io_loop *loop, struct io_op *op)
{
	struct epoll_driver *d = loop->driver_state;

	if (op->kind == IO_ACCEPT)
		(void)sys_epoll_ctl(d->epfd, EPOLL_CTL_DEL, op->sock->fd, 0, 0); /* it was added */
	if (op->kind == IO_RESET)
		forget_draining(d, op);
	*op_place(op) = NULL;
	io_complete(loop, op, -ECANCELED);
}

/* ---- accept ---- */

static void on_accept(struct io_loop *loop, struct io_op *op)
{
	struct epoll_driver *d = loop->driver_state;
	const int err = io_accept_batch(loop, op, &d->peer);

	if (err < 0 && op->state == IO_WAITING) {
		(void)sys_epoll_ctl(d->epfd, EPOLL_CTL_DEL, op->sock->fd, 0, 0); /* it was added */
		op_leave(loop, op);
		op->done(op, err);
	}
}

static void epoll_last(struct io_loop *loop, struct io_op *op)
{
	struct epoll_driver *d = loop->driver_state;

	while (io_accept_batch(loop, op, &d->peer) > 0)
		continue;
}

/* ---- events ---- */

static void note_event(struct io_sock *sock, uint32_t ev)
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
	/* Every event shows the mark until it is read, so an event without it proves there is none. */
	bits = (uint16_t)(ev & EPOLLPRI ? bits | IO_PRI : bits & ~IO_PRI);
	sock->bits = bits;
}

static void run_waiting(struct io_loop *loop, struct io_op *op)
{
	int r;

	if (op == NULL)
		return;
	r = try_op(loop->driver_state, op);
	if (r == IO_PENDING)
		return;
	op_leave(loop, op);
	op->done(op, r);
}

static void on_event(struct io_loop *loop, const struct epoll_event *ev)
{
	struct io_sock *sock =
		(struct io_sock *)(uintptr_t)(ev->data.u64 & ((UINT64_C(1) << EPOLL_GEN_SHIFT) - 1));
	const uint16_t gen = (uint16_t)(ev->data.u64 >> EPOLL_GEN_SHIFT);

	if (sock->gen != gen) {
		loop->stale_events++;
		return;
	}
	if (sock->rd != NULL && sock->rd->kind == IO_ACCEPT) {
		on_accept(loop, sock->rd);
		return;
	}
	note_event(sock, ev->events);
	run_waiting(loop, sock->rd);
	if (sock->gen == gen)
		run_waiting(loop, sock->wr);
}

/* How long the wait may be; -1 = until something happens, which may be the alarm. */
static int64_t wait_ns(struct epoll_driver *d, int64_t deadline_ns)
{
	const int64_t now_ns = d->loop->now_ns;

	if (deadline_ns == CLOCK_NEVER)
		return -1;
	if (deadline_ns <= now_ns)
		return 0;
	if (deadline_ns - now_ns >= d->loop->far_ns && alarm_by(&d->alarm, deadline_ns) == 0)
		return -1;
	return deadline_ns - now_ns;
}

static void epoll_wait_events(struct io_loop *loop, int64_t deadline_ns)
{
	struct epoll_driver *d = loop->driver_state;
	const int64_t timeout_ns = wait_ns(d, deadline_ns);
	int count;
	int i;

	count = sys_epoll_wait(d->epfd, d->events, IO_EVENTS, timeout_ns);
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

static struct buf *epoll_keep(struct io_loop *loop, struct io_op *op, uint32_t from)
{
	const uint32_t len = op->len - from;
	struct buf *b = buf_get(&loop->bufs, len);

	if (b != NULL) {
		memcpy(b->data, op->data + from, len);
		b->off = 0;
		b->len = len;
	}
	return b;
}

/* Edge-triggered: each write(2) to the one, each ring of the other is one event, and nobody need read. */
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
	timer_init(&d->look, look_at_draining);
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

	check(d->draining == NULL);
	timer_cancel(&loop->timers, &d->look);
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
	.keep = epoll_keep,
};

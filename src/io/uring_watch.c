/* SPDX-License-Identifier: MIT
 *
 * uring_watch.c - sockets that are watched as with epoll, outside the ring.
 *
 * They are in an epoll set of their own, whose descriptor the ring polls. A poll in the ring itself reports
 * only the bits named by one wake-up: EPOLLPRI with any bytes, and room without it. So an urgent mark can
 * neither be seen nor ruled out, and splice and every short read depend on that. A socket is added when its
 * readiness is first requested, and stays until it is closed. One thread per loop.
 */
#include "weir/base/check.h"
#include "attempt.h"
#include "uring_state.h"

static uint64_t event_data(const struct io_sock *sock)
{
	check(((uintptr_t)sock & ~URING_POINTER_MASK) == 0);
	return (uint64_t)(uintptr_t)sock | (uint64_t)sock->gen << URING_NUMBER_SHIFT;
}

static int watch(struct uring *u, struct io_sock *sock)
{
	int err;

	check(sock->fd >= 0);
	if (sock->bits & IO_POLLED)
		return 0;
	err = sys_epoll_ctl(u->epfd, EPOLL_CTL_ADD, sock->fd, PARKED_MASK, event_data(sock));
	if (err)
		return err;
	/* The set reports the present state: from then on a socket is readable only if the set reported
	 * it. */
	if (sock->bits & IO_UNASKED)
		sock->bits &= (uint16_t)~(IO_UNASKED | IO_READABLE);
	sock->bits |= IO_POLLED;
	/* Events are reported only once, so all ops that wait for one get them from here from now on. */
	if (sock->rd != NULL)
		uring_watch_leave(u, sock->rd);
	if (sock->wr != NULL)
		uring_watch_leave(u, sock->wr);
	return 0;
}

/* The set (fs.epoll.max_user_watches) or memory is full: the ring polls for this one op, once. */
static void poll_once(struct uring *u, struct io_op *op)
{
	const bool in = op->kind == IO_READY && (op->want & IO_WANT_IN);
	struct io_uring_sqe *sqe = ring_sqe(u->ring);

	io_uring_prep_poll_add(sqe, op->sock->fd, in ? EPOLLIN : EPOLLOUT);
	if (op->kind == IO_WRITE)
		op->want = URING_BY_POLL;
	uring_sent(u, op, sqe);
}

void uring_park(struct uring *u, struct io_op *op)
{
	op->result = IO_PARKED;
	if (watch(u, op->sock) != 0)
		poll_once(u, op);
}

/* Every poll of the ring reports the peer's FIN at once, even one for room. After a FIN it would be submitted
 * again for ever, so the op waits for the tick instead. */
static void stick(struct uring *u, struct io_op *op)
{
	check(op->kind == IO_WRITE || op->kind == IO_READY);
	check(u->stuck == NULL || *u->stuck_end == NULL);
	uring_watch_ask_tick(u);
	op->result = URING_STUCK;
	op->next = NULL;
	if (u->stuck == NULL)
		u->stuck_end = &u->stuck;
	*u->stuck_end = op;
	u->stuck_end = &op->next;
}

static void unstick(struct uring *u, struct io_op *op)
{
	struct io_op **at = &u->stuck;

	check(op->result == URING_STUCK);
	while (*at != op)
		at = &(*at)->next;
	*at = op->next;
	if (u->stuck_end == &op->next)
		u->stuck_end = at;
	op->next = NULL;
	op->result = IO_PARKED;
}

/* One batch per tick: a batch costs little, and the more ops there are, the longer each waits. */
static void look_at_stuck(struct uring *u)
{
	for (int i = 0; i < IO_EVENTS && u->stuck != NULL; i++) {
		struct io_op *op = u->stuck;

		unstick(u, op);
		uring_park(u, op);
	}
}

static void cancel_late(struct uring *u, struct io_op *op)
{
	parked_forget(&u->parked, op);
	uring_deliver(u, op, -ECANCELED);
}

void uring_on_ready(struct uring *u, struct io_op *op, int res)
{
	const bool cancelled = op->result & URING_CANCELLED;
	int r;

	/* Only a cancel makes a reset fail: it needs no poll to wait. */
	if (res < 0 && (cancelled || op->kind != IO_RESET)) {
		uring_deliver(u, op, cancelled ? -ECANCELED : res);
		return;
	}
	/* What it reports about bytes says nothing about an urgent mark (see above). */
	if (res >= 0)
		parked_note(op->sock, (uint32_t)res | (op->sock->bits & IO_PRI ? EPOLLPRI : 0));
	op->result = IO_PARKED;
	r = parked_try(&u->parked, op);
	if (r != IO_PENDING)
		uring_deliver(u, op, r);
	else if (cancelled)
		cancel_late(u, op); /* the cancel came too late for the poll, and is not repeated */
	else if (watch(u, op->sock) != 0 && op->kind != IO_RESET)
		stick(u, op); /* a reset is checked by timer (parked.c) */
}

void uring_watch_bulk(struct uring *u, struct io_sock *sock)
{
	if (sock->bits & IO_POLLED)
		return;
	sock->bits = (uint16_t)((sock->bits & ~IO_UNASKED) | IO_READABLE); /* assumed readable: nothing is
									    * known */
	(void)watch(u, sock);      /* if it fails, when the socket is waited for */
}

void uring_watch_flush(struct uring *u, struct io_op *op)
{
	struct io_sock *sock = op->sock;
	const int how = sock->bits & IO_POLLED ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (sys_epoll_ctl(u->epfd, how, sock->fd, EPOLLOUT | EPOLLET, event_data(sock)) == 0)
		sock->bits |= IO_POLLED;
	else
		poll_once(u, op);
}

void uring_watch_events(struct uring *u)
{
	/* Sockets already reported become ready again while the others wait: everything else must have its
	 * turn too. */
	if (u->looked)
		u->has_more = true;
	else
		uring_watch_wait(u, 0);
}

void uring_watch_wait(struct uring *u, int64_t timeout_ns)
{
	const int count = sys_epoll_wait(u->epfd, u->events, IO_EVENTS, timeout_ns);

	check(count <= IO_EVENTS);
	u->looked = true;
	u->has_more = count == IO_EVENTS;
	u->loop->events += count > 0 ? (uint64_t)count : 0;
	for (int i = 0; i < count; i++) {
		const uint64_t data = u->events[i].data.u64;
		struct io_sock *sock = (struct io_sock *)(uintptr_t)(data & URING_POINTER_MASK);

		if (sock->gen == (uint16_t)(data >> URING_NUMBER_SHIFT))
			parked_event(&u->parked, sock, u->events[i].events);
		else
			u->loop->stale_events++;
	}
}

/* ---- watches for errors: most end within the turn, so only lasting ones are added ---- */

static void unwatch(struct uring *u, struct io_op *op)
{
	check(op->result == URING_WATCH);
	check(op->prev == NULL ? u->young == op || u->old == op : op->prev->next == op);
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

void uring_watch_leave(struct uring *u, struct io_op *op)
{
	if (op->result == URING_WATCH)
		unwatch(u, op);
	else if (op->result == URING_STUCK)
		unstick(u, op);
}

/* A timer of the ring: a timer of the loop would give every wait a timeout. */
void uring_watch_ask_tick(struct uring *u)
{
	static struct __kernel_timespec ts = {.tv_nsec = URING_WATCH_NS};
	struct io_uring_sqe *sqe;

	if (u->ticking)
		return;
	sqe = ring_sqe(u->ring);
	io_uring_prep_timeout(sqe, &ts, 0, 0);
	sqe->user_data = URING_TICK;
	u->ticking = true;
}

void uring_watch_renew(struct uring *u)
{
	u->ticking = false;
	if (u->young != NULL || u->old != NULL || u->stuck != NULL)
		uring_watch_ask_tick(u);
}

void uring_watch_tick(struct uring *u)
{
	struct io_op *op;

	u->ticking = false;
	while ((op = u->old) != NULL) {
		unwatch(u, op);
		(void)watch(u, op->sock); /* without memory for it, a reset is noticed later */
	}
	u->old = u->young;
	u->young = NULL;
	look_at_stuck(u);
	if (u->old != NULL || u->stuck != NULL)
		uring_watch_ask_tick(u);
}

static void watch_later(struct uring *u, struct io_op *op)
{
	check(op->kind == IO_READY); /* `prev` shares its place with other ops' data */
	uring_watch_ask_tick(u);
	op->result = URING_WATCH;
	op->prev = NULL;
	op->next = u->young;
	if (op->next != NULL)
		op->next->prev = op;
	u->young = op;
}

int uring_start_ready(struct uring *u, struct io_op *op)
{
	int r;

	/* "Worth a try" is not an event for an op that waits. */
	if ((op->want & IO_WANT_IN) && (op->sock->bits & IO_UNASKED))
		op->sock->bits &= (uint16_t)~(IO_UNASKED | IO_READABLE);
	r = io_try_ready(op);
	if (r != IO_PENDING)
		return r;
	(void)parked_wait(u->loop, op); /* it is parked */
	if (op->want & (IO_WANT_IN | IO_WANT_OUT))
		uring_park(u, op);
	else if (!(op->sock->bits & IO_POLLED))
		watch_later(u, op);
	return IO_PENDING;
}

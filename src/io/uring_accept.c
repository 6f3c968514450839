/* SPDX-License-Identifier: MIT
 *
 * uring_accept.c - listeners in the ring.
 *
 * While everybody who can be waiting may come in (IO_AHEAD) one multishot accept brings them; near a limit
 * the listener is polled, and the engine is asked before each accept(2). One thread a loop. Floor 1.
 */
#include <string.h>
#include <sys/epoll.h>

#include "sluice/base/check.h"
#include "sluice/io/accept.h"
#include "sluice/io/sys.h"
#include "sluice/io/uring_state.h"

/* In op->want: how the ring was asked. */
enum { BY_POLL, BY_ACCEPT };

static void ask(struct uring *u, struct io_op *op)
{
	struct io_uring_sqe *sqe = ring_sqe(u->ring);

	op->want = (op->flags & IO_AHEAD) && !u->no_multishot ? BY_ACCEPT : BY_POLL;
	if (op->want == BY_ACCEPT)
		io_uring_prep_multishot_accept(sqe, op->sock->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	else
		io_uring_prep_poll_add(sqe, op->sock->fd, EPOLLIN | EPOLLEXCLUSIVE);
	uring_sent(u, op, sqe);
}

int uring_start_accept(struct uring *u, struct io_op *op)
{
	(void)parked_wait(u->loop, op); /* it waits in the ring, or for it */
	if (u->on) {
		ask(u, op);
	} else {
		op->next = u->unarmed;
		u->unarmed = op;
	}
	return IO_PENDING;
}

void uring_accept_on(struct uring *u)
{
	struct io_op *op;

	while ((op = u->unarmed) != NULL) {
		u->unarmed = op->next;
		op->next = NULL;
		ask(u, op);
	}
}

void uring_forget_accept(struct uring *u, struct io_op *op)
{
	struct io_op **at;

	for (at = &u->unarmed; *at != NULL; at = &(*at)->next) {
		if (*at == op) {
			*at = op->next;
			return;
		}
	}
}

void uring_accept_drained(struct uring *u)
{
	while (u->drained_count > 0) {
		struct io_op *op = u->drained[--u->drained_count];

		op->done(op, IO_DRAINED);
	}
}

static void note_drained(struct uring *u, struct io_op *op)
{
	for (unsigned i = 0; i < u->drained_count; i++)
		if (u->drained[i] == op)
			return;
	if (u->drained_count == URING_LISTENERS)
		uring_accept_drained(u);
	u->drained[u->drained_count++] = op;
}

/* The results of this batch end before the stream does. */
static void end_batch(struct uring *u, struct io_op *op)
{
	for (unsigned i = 0; i < u->drained_count; i++) {
		if (u->drained[i] != op)
			continue;
		u->drained[i] = u->drained[--u->drained_count];
		op->done(op, IO_DRAINED);
		return;
	}
}

static void deliver_client(struct uring *u, struct io_op *op, int fd)
{
	struct addr *peer = &u->peer;

	memset(&peer->sa, 0, sizeof(peer->sa));
	peer->len = sizeof(peer->un);
	/* It was reset before it was accepted: accept(2) would have left it out. */
	if (sys_getpeername(fd, &peer->sa, &peer->len) != 0) {
		sys_close(fd);
		return;
	}
	note_drained(u, op);
	(void)op->admit(op); /* who is here is here */
	u->loop->peer = peer;
	op->done(op, fd);
	u->loop->peer = NULL;
}

static void fail(struct uring *u, struct io_op *op, int err)
{
	end_batch(u, op);
	parked_leave(u->loop, op);
	op->done(op, err);
}

static void on_multishot(struct uring *u, struct io_op *op, const struct ring_done *c)
{
	if (c->res >= 0)
		deliver_client(u, op, c->res);
	if (c->flags & IORING_CQE_F_MORE) {
		if (!(op->flags & IO_AHEAD) && !(op->result & URING_CANCELLED)) {
			uring_cancel_sent(u, op);
			op->result |= URING_SWITCH;
		}
		return;
	}
	if ((op->result & URING_CANCELLED) && !(op->result & URING_SWITCH)) {
		end_batch(u, op);
		*parked_place(op) = NULL;
		io_complete(u->loop, op, -ECANCELED);
		return;
	}
	if (c->res == -EINVAL && !u->no_multishot)
		u->no_multishot = true;
	else if (c->res < 0 && c->res != -ECANCELED && !io_accept_may_go_on(c->res)) {
		fail(u, op, c->res);
		return;
	}
	ask(u, op);
}

static void on_ready(struct uring *u, struct io_op *op, const struct ring_done *c)
{
	int err = 0;

	if (op->result & URING_CANCELLED) {
		*parked_place(op) = NULL;
		io_complete(u->loop, op, -ECANCELED);
		return;
	}
	op->result = IO_PARKED; /* the engine may cancel it now, and nothing of it is in the ring */
	if (c->res > 0)
		err = io_accept_batch(u->loop, op, &u->peer);
	if (op->state != IO_WAITING)
		return;
	if (err < 0)
		fail(u, op, err);
	else
		ask(u, op);
}

void uring_on_accept(struct uring *u, struct io_op *op, const struct ring_done *c)
{
	if (op->want == BY_ACCEPT)
		on_multishot(u, op, c);
	else
		on_ready(u, op, c);
}

void uring_accept_last(struct io_loop *loop, struct io_op *op)
{
	struct uring *u = loop->driver_state;

	while (io_accept_batch(loop, op, &u->peer) > 0)
		continue;
}

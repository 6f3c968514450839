/* SPDX-License-Identifier: MIT
 *
 * uring_accept.c - listeners in the ring: polled, and the engine is asked before each accept(2).
 *
 * No multishot accept: it takes whoever waits, also beyond maxconn and rate-limit, tells no address, and cost
 * more than it saved (doc/performance.md). One thread a loop.
 */
#include <sys/epoll.h>

#include "weir/base/check.h"
#include "accept.h"
#include "uring_state.h"

/* Once, as who is left behind is then told of again. */
static void ask(struct uring *u, struct io_op *op)
{
	struct io_uring_sqe *sqe = ring_sqe(u->ring);

	io_uring_prep_poll_add(sqe, op->sock->fd, EPOLLIN | EPOLLEXCLUSIVE);
	uring_sent(u, op, sqe);
}

/* In the ring, or in the list of those that wait for one. */
static void arm(struct uring *u, struct io_op *op)
{
	if (u->on) {
		ask(u, op);
		return;
	}
	op->next = u->unarmed;
	u->unarmed = op;
}

int uring_start_accept(struct uring *u, struct io_op *op)
{
	(void)parked_wait(u->loop, op); /* it waits in the ring, or for it */
	arm(u, op);
	return IO_PENDING;
}

void uring_accept_on(struct uring *u)
{
	struct io_op *op;

	while ((op = u->unarmed) != NULL) {
		check(op->kind == IO_ACCEPT);
		check(op->result == IO_PARKED); /* one that was cancelled is in the list no more */
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

static void end_cancelled(struct uring *u, struct io_op *op)
{
	struct io_op **place = parked_place(op);

	check(*place == op);
	*place = NULL;
	io_complete(u->loop, op, -ECANCELED);
}

void uring_accept_again(struct uring *u, struct io_op *op)
{
	const bool cancelled = op->result & URING_CANCELLED;

	check(!u->on);
	op->result = IO_PARKED;
	if (cancelled)
		end_cancelled(u, op);
	else
		arm(u, op);
}

void uring_on_accept(struct uring *u, struct io_op *op, int res)
{
	int err = 0;

	if (op->result & URING_CANCELLED) {
		end_cancelled(u, op);
		return;
	}
	op->result = IO_PARKED; /* the engine may cancel it now, and nothing of it is in the ring */
	/* The engine pauses: asked at once, a kernel that is short of something would say so again. */
	if (res < 0)
		err = res == -ECANCELED ? -EIO : res; /* nobody has cancelled it */
	else if (res > 0)
		err = io_accept_batch(u->loop, op, &u->peer);
	if (op->state != IO_WAITING)
		return;
	check(op->result == IO_PARKED);
	if (err < 0)
		uring_deliver(u, op, err);
	else
		ask(u, op);
}

void uring_accept_last(struct io_loop *loop, struct io_op *op)
{
	struct uring *u = loop->driver_state;

	while (io_accept_batch(loop, op, &u->peer) > 0)
		continue;
}

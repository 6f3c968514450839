/* SPDX-License-Identifier: MIT
 *
 * uring_accept.c - listeners in the ring: they are polled, and the engine decides before each accept(2).
 *
 * No multishot accept: it accepts every queued client, even beyond maxconn and rate-limit, reports no
 * address, and cost more than it saved (doc/performance.md). One thread per loop.
 */
#include <sys/epoll.h>

#include "weir/base/check.h"
#include "accept.h"
#include "uring_state.h"

/* A single-shot poll: clients left behind are then reported again. */
static void poll_listener(struct uring *u, struct io_op *op)
{
	struct io_uring_sqe *sqe = ring_sqe(u->ring);

	io_uring_prep_poll_add(sqe, op->sock->fd, EPOLLIN | EPOLLEXCLUSIVE);
	uring_sent(u, op, sqe);
}

/* Puts it in the ring, or in the list of those that wait for a ring. */
static void arm(struct uring *u, struct io_op *op)
{
	if (u->on) {
		poll_listener(u, op);
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
		check(op->result == IO_PARKED); /* a cancelled one is no longer in the list */
		u->unarmed = op->next;
		op->next = NULL;
		poll_listener(u, op);
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
	op->result = IO_PARKED; /* the engine may cancel it now; nothing of it is in the ring */
	/* The engine pauses: a kernel that is out of a resource would refuse an immediate retry. */
	if (res < 0)
		err = res == -ECANCELED ? -EIO : res; /* we did not cancel it */
	else if (res > 0)
		err = io_accept_batch(u->loop, op, &u->peer);
	if (op->state != IO_STATE_WAITING)
		return;
	check(op->result == IO_PARKED);
	if (err < 0)
		uring_deliver(u, op, err);
	else
		poll_listener(u, op);
}

int uring_accept_last(struct io_loop *loop, struct io_op *op)
{
	struct uring *u = loop->driver_state;
	int more;

	do
		more = io_accept_batch(loop, op, &u->peer);
	while (more > 0);
	return more;
}

/* SPDX-License-Identifier: MIT
 *
 * uring_lost.c - a ring that has lost completions: closing it, and the time until there is another one.
 *
 * The kernel keeps completions for which the ring has no room in its own memory, and drops them if it gets no
 * memory (a memory limit of the control group is enough). Their results cannot be recovered, so the ring and
 * everything in it is given up; the engine ends its sessions. If no other ring can be created, which is
 * likely then, the loop gets a driver that accepts no clients, starts nothing and keeps trying. One thread
 * per loop.
 */
#include <string.h>

#include "weir/base/check.h"
#include "weir/io/uring.h"
#include "uring_state.h"

/* The kernel releases the old ring within 30 to 75 ms. */
#define TRY_AGAIN_NS (10 * NS_PER_MS)

static int renew(struct uring *u)
{
	int err;

	check(u->ring == NULL);
	err = ring_open(&u->ring, &uring_shape);
	if (err)
		return err;
	u->loop->driver = &io_uring_driver;
	u->loop->is_down = false;
	uring_switch_on(u);
	uring_watch_renew(u);
	return 0;
}

/* ---- without a ring ---- */

static int start_without(struct io_loop *loop, struct io_op *op)
{
	check(loop->is_down);
	switch (op->kind) {
	case IO_RESET:
		op->flags &= (uint8_t)~IO_FLUSH; /* undelivered bytes are lost with the ring */
		return io_uring_driver.start(loop, op);
	case IO_ACCEPT:
	case IO_SHUTDOWN:
	case IO_CLOSE:
		return io_uring_driver.start(loop, op);
	default:
		return -ENOMEM;
	}
}

/* Ops that were in the ring complete by uring_forget(). */
static void cancel_without(struct io_loop *loop, struct io_op *op)
{
	if (op->result & URING_SENT)
		op->result |= URING_CANCELLED;
	else
		io_uring_driver.cancel(loop, op);
}

static void wait_without(struct io_loop *loop, int64_t deadline_ns)
{
	struct uring *u = loop->driver_state;

	if (renew(u) != 0)
		uring_watch_wait(u, deadline_ns == IO_ALL_NOW ? 0 : TRY_AGAIN_NS);
	loop->now_ns = sys_now_ns();
	if (loop->woken != NULL)
		loop->woken(loop);
}

/* ---- the end of a ring ---- */

void uring_lose(struct uring *u)
{
	struct io_loop *loop = u->loop;

	check(u->on);
	check(loop->driver == &io_uring_driver);
	io_uring_driver.release(loop); /* also closes the sockets of the last turn */
	u->on = false;
	memset(u->unheard, 0, sizeof(u->unheard));
	u->ringless = io_uring_driver;
	u->ringless.start = start_without;
	u->ringless.cancel = cancel_without;
	u->ringless.wait = wait_without;
	loop->driver = &u->ringless;
	loop->is_down = true;
	loop->now_ns = sys_now_ns();
	check(loop->lost != NULL);
	loop->lost(loop); /* before there is a new ring, which has nothing of the old one's contents */
	(void)renew(u);   /* if it fails, each wait tries again */
	if (loop->woken != NULL)
		loop->woken(loop); /* its wake-up may have been dropped too */
}

static void forget(struct uring *u, struct io_op *op)
{
	if (op == NULL || !(op->result & URING_SENT))
		return;
	if (op->kind == IO_ACCEPT)
		uring_accept_again(u, op);
	else
		uring_deliver(u, op, -ECANCELED);
}

void uring_forget(struct io_loop *loop, struct io_sock *sock)
{
	struct uring *u = loop->driver_state;

	forget(u, sock->rd);
	forget(u, sock->wr);
}

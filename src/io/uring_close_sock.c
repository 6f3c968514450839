/* SPDX-License-Identifier: MIT
 *
 * uring_close_sock.c - closes a socket: through the ring, if there is one.
 *
 * One thread per loop.
 */
#include "weir/base/check.h"
#include "uring_state.h"

static void ask_close(struct uring *u, int fd)
{
	struct io_uring_sqe *sqe = ring_sqe(u->ring);

	io_uring_prep_close(sqe, fd);
	sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
	sqe->user_data = URING_CLOSED;
}

void uring_close_sock(struct io_loop *loop, struct io_op *op)
{
	struct uring *u = loop->driver_state;
	struct io_sock *sock = op->sock;

	check(sock->rd == NULL);
	check(sock->wr == NULL || sock->wr == op);
	if (op->kind == IO_RESET)
		parked_harden(sock);
	if (URING_CLOSES_BY_CALL || u->ring == NULL)
		sys_close(sock->fd);
	else
		ask_close(u, sock->fd);
	sock->fd = -1;
	sock->gen++;
}

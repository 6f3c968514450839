/* SPDX-License-Identifier: MIT
 *
 * fake_ops.c - one attempt of one op over the modelled kernel, for the fake driver.
 *
 * Owns nothing. Readiness it takes from the model itself, as a ring's kernel side would; no event
 * and no edge plays a part. One thread. Tests only.
 */
#include "fake_ops.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/sys/sys.h"
#include "model.h"

static void note_error(struct io_op *op, ssize_t n)
{
	if (n < 0 && n != -EAGAIN && n != -ENOBUFS && n != -ENOMEM)
		op->sock->bits |= IO_ERR;
}

static uint32_t mask_of(const struct io_op *op)
{
	return msock_mask(mfile_sock(op->sock->fd));
}

int fake_read(struct io_op *op, uint8_t *memory, uint32_t room)
{
	ssize_t n;

	check(op->max > 0);
	n = sys_recv(op->sock->fd, memory, op->max < room ? op->max : room, 0);
	if (n == -EAGAIN)
		return IO_PENDING;
	note_error(op, n);
	op->data = memory;
	op->len = n > 0 ? (uint32_t)n : 0;
	return (int)n;
}

int fake_splice_in(struct io_op *op)
{
	const int fd = op->sock->fd;
	ssize_t n;

	check(op->pipe->bytes == 0);
	if (model.faults && prng_chance(&model.rng, 5))
		return -EAGAIN; /* a ring's splice may say so for no reason */
	n = sys_splice(fd, op->pipe->wr, op->max);
	if (n > 0)
		return (int)n;
	if (n == 0)
		return sys_recv(fd, NULL, 1, MSG_PEEK) == 0 && prng_chance(&model.rng, 50) ? 0 : IO_COPY;
	if (n == -EAGAIN)
		return sys_unread(fd) > 0 ? IO_COPY : -EAGAIN;
	if (n == -EINVAL)
		return IO_UNSPLICEABLE;
	note_error(op, n);
	return (int)n; /* bytes may still wait behind an urgent mark: the engine reads on */
}

int fake_splice_out(struct io_op *op)
{
	ssize_t n;

	check(op->max == op->pipe->bytes);
	n = sys_splice(op->pipe->rd, op->sock->fd, op->max);
	if (n == -EINVAL)
		return IO_UNSPLICEABLE;
	note_error(op, n);
	return (int)n;
}

static int connect_result(struct io_op *op)
{
	socklen_t len = sizeof(int);
	int value = 0;

	if (mfile_sock(op->sock->fd)->state == SOCK_CONNECTING)
		return IO_PENDING;
	if (!(mask_of(op) & (EPOLLERR | EPOLLHUP)))
		return 0;
	check(sys_getsockopt(op->sock->fd, SOL_SOCKET, SO_ERROR, &value, &len) == 0);
	op->sock->bits |= IO_ERR;
	/* Established, then reset: what the server said before is the client's. */
	if ((value == ECONNRESET || value == EPIPE) && sys_unread(op->sock->fd) > 0)
		return 0;
	return value ? -value : -ECONNREFUSED;
}

int fake_connect(struct io_op *op)
{
	const int r = sys_connect(op->sock->fd, &op->addr->sa, op->addr->len);

	if (r == -EINPROGRESS)
		return IO_PENDING;
	return r;
}

static int write_some(struct io_op *op)
{
	uint32_t len = op->len;
	ssize_t n;

	check(len > 0);
	if (model.faults && prng_chance(&model.rng, 20))
		len = prng_range(&model.rng, 1, len);
	n = sys_send(op->sock->fd, op->data, len);
	if (n == -EAGAIN)
		return IO_PENDING;
	note_error(op, n);
	return (int)n;
}

static int ready(struct io_op *op)
{
	const uint32_t mask = mask_of(op);
	int seen = 0;

	if (mask & EPOLLERR)
		op->sock->bits |= IO_ERR;
	if (mask & EPOLLRDHUP)
		op->sock->bits |= IO_RDHUP;
	if (mask & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		seen |= IO_WANT_IN;
	if (op->sock->bits & IO_ERR)
		seen |= IO_WANT_ERR;
	if (mask & EPOLLRDHUP)
		seen |= IO_WANT_END;
	if (mask & (EPOLLOUT | EPOLLERR | EPOLLHUP))
		seen |= IO_WANT_OUT;
	seen &= op->want;
	return seen ? seen : IO_PENDING;
}

static int close_sock(struct io_op *op)
{
	struct io_sock *sock = op->sock;

	check(sock->rd == NULL);
	check(sock->wr == NULL || sock->wr == op);
	sys_close(sock->fd);
	sock->fd = -1;
	sock->gen++;
	return 0;
}

static int reset(struct io_op *op)
{
	const struct linger hard = {.l_onoff = 1, .l_linger = 0};
	struct io_sock *sock = op->sock;

	if ((op->flags & IO_FLUSH) && (sock->bits & IO_TCP) && !(mask_of(op) & EPOLLERR) &&
	    !(sock->bits & IO_ERR) && sys_unacked(sock->fd) > 0)
		return IO_PENDING;
	if (sock->bits & IO_TCP)
		(void)sys_setsockopt(sock->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)); /* cannot fail */
	return close_sock(op);
}

int fake_perform(struct io_op *op)
{
	switch (op->kind) {
	case IO_CONNECT:
		return connect_result(op);
	case IO_WRITE:
		return write_some(op);
	case IO_READY:
		return ready(op);
	case IO_SHUTDOWN:
		return sys_shutdown(op->sock->fd, SHUT_WR);
	case IO_RESET:
		return reset(op);
	case IO_CLOSE:
		return close_sock(op);
	default:
		check_failed(__FILE__, __LINE__, "this op never waits");
	}
}

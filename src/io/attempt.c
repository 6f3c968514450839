/* SPDX-License-Identifier: MIT
 *
 * attempt.c - one attempt at one op: the system call, and what its result says about the socket.
 *
 * Owns the rules for when a socket counts as readable or writable; drivers decide when to try. The kernel
 * behaviour behind these rules is measured in tests/sim and described in doc/architecture.md. A loop's
 * thread.
 */
#include "attempt.h"

#include "weir/base/check.h"
#include "weir/sys/sys.h"

int io_try_read(struct io_op *op, uint8_t *scratch, uint32_t room)
{
	struct io_sock *sock = op->sock;
	ssize_t n;

	check(op->max > 0);
	check(room <= IO_SCRATCH_BYTES);
	if (sock->bits & IO_ENDED)
		return 0;
	if (!(sock->bits & IO_READABLE))
		return IO_PENDING;
	if (op->max > room)
		op->max = room;
	n = sys_recv(sock->fd, scratch, op->max, 0);
	check(n <= (ssize_t)op->max);
	if (n > 0) {
		op->data = scratch;
		op->len = (uint32_t)n;
		sock->bits &= (uint16_t)~IO_FRESH;
		if ((size_t)n == op->max)
			return (int)n;
		/* A short read means an empty queue, unless an urgent mark stopped the read or the end
		 * arrived in the same event: no further event would report that. */
		if (!(sock->bits & (IO_RDHUP | IO_HUP | IO_ERR | IO_PRI)))
			sock->bits &= (uint16_t)~IO_READABLE;
		else if ((sock->bits & (IO_TCP | IO_RDHUP | IO_HUP | IO_ERR | IO_PRI)) == (IO_TCP | IO_RDHUP))
			/* The FIN was announced before this call and no mark stopped the read: after a short
			 * read only the FIN is left. (Unix reads also stop at passed descriptors.) */
			sock->bits |= IO_ENDED;
		return (int)n;
	}
	if (n == -EAGAIN) {
		sock->bits &= (uint16_t)~(IO_READABLE | IO_PRI | IO_FRESH);
		return IO_PENDING;
	}
	if (n < 0)
		sock->bits |= IO_ERR;
	else
		sock->bits |= IO_ENDED;
	return (int)n;
}

int io_try_write(struct io_op *op)
{
	struct io_sock *sock = op->sock;
	ssize_t n = -EAGAIN;

	check(op->len > 0);
	check(op->len <= INT_MAX); /* a negative difference would be larger */
	if (sock->bits & IO_WRITABLE)
		n = op->flags & IO_LAST ? sys_send_more(sock->fd, op->data, op->len)
					: sys_send(sock->fd, op->data, op->len);
	check(n <= (ssize_t)op->len);
	if (n >= 0)
		return (int)n;
	if (n == -EAGAIN) {
		sock->bits &= (uint16_t)~IO_WRITABLE;
		return op->flags & IO_LENT ? -EAGAIN : IO_PENDING;
	}
	if (n != -ENOBUFS && n != -ENOMEM)
		sock->bits |= IO_ERR;
	return (int)n;
}

/* Interprets a splice that moved nothing. `n` is 0 or -errno. */
static int splice_in_nothing(struct io_op *op, ssize_t n)
{
	struct io_sock *sock = op->sock;

	switch (n) {
	case 0:
		/* Splice also returns 0 at an urgent mark with a FIN queued after it, and when it gets no
		 * page for its bytes: only a recv proves the end of file (R7). */
		return IO_COPY;
	case -EAGAIN:
		/* At a mark it would return EAGAIN for ever; and bytes that an event announced but splice
		 * will not move need a recv (R8). */
		if (sock->bits & (IO_PRI | IO_FRESH))
			return IO_COPY;
		sock->bits &= (uint16_t)~IO_READABLE;
		return -EAGAIN;
	case -EINVAL:
	case -ENOSYS:
	case -EOPNOTSUPP:
		return IO_UNSPLICEABLE;
	case -ENOMEM:
	case -ENOBUFS:
		return IO_COPY;
	default:
		sock->bits |= IO_ERR;
		return (int)n;
	}
}

int io_try_splice_in(struct io_op *op)
{
	struct io_sock *sock = op->sock;
	ssize_t n;

	/* With bytes in the pipe, EAGAIN could also mean that it has no free slot (R3). */
	check(op->pipe->bytes == 0);
	/* Length 0 would return 0 and look like the end of file (R2). */
	check(op->max > 0);
	check(op->max <= 1u << 30);
	if (sock->bits & IO_ENDED)
		return 0;
	if (!(sock->bits & IO_READABLE))
		return -EAGAIN;
	n = sys_splice(sock->fd, op->pipe->wr, op->max);
	if (n <= 0)
		return splice_in_nothing(op, n);
	check(n <= (ssize_t)op->max);
	/* A short count does not prove an empty socket: the pipe may be out of slots. */
	sock->bits &= (uint16_t)~IO_FRESH;
	return (int)n;
}

int io_try_splice_out(struct io_op *op)
{
	struct io_sock *sock = op->sock;
	ssize_t n = -EAGAIN;

	/* Exactly the content: a larger length corks the last part for 200 ms. */
	check(op->max == op->pipe->bytes);
	check(op->max > 0);
	if (sock->bits & IO_WRITABLE)
		n = sys_splice(op->pipe->rd, sock->fd, op->max);
	check(n <= (ssize_t)op->max);
	if (n > 0)
		return (int)n;
	switch (n) {
	case -EAGAIN:
		sock->bits &= (uint16_t)~IO_WRITABLE;
		return -EAGAIN;
	case 0:
	case -EINVAL:
	case -ENOSYS:
	case -EOPNOTSUPP:
	case -ENOMEM:
	case -ENOBUFS:
		return IO_UNSPLICEABLE;
	default:
		sock->bits |= IO_ERR;
		return (int)n;
	}
}

int io_try_ready(const struct io_op *op)
{
	const uint16_t bits = op->sock->bits;
	int seen = 0;

	check(op->want != 0);
	/* That uses the socket's other place. */
	check(!(op->want & IO_WANT_OUT) || op->want == IO_WANT_OUT);
	if (bits & (IO_READABLE | IO_ENDED))
		seen |= IO_WANT_IN;
	if (bits & IO_ERR)
		seen |= IO_WANT_ERR;
	if (bits & IO_RDHUP)
		seen |= IO_WANT_END;
	if (bits & (IO_WRITABLE | IO_ERR))
		seen |= IO_WANT_OUT;
	seen &= op->want;
	return seen ? seen : IO_PENDING;
}

int io_connect_result(struct io_op *op)
{
	struct io_sock *sock = op->sock;
	socklen_t len = sizeof(int);
	int value = 0;
	int err;

	if (!(sock->bits & (IO_ERR | IO_HUP)))
		return sock->bits & IO_WRITABLE ? 0 : IO_PENDING;
	err = sys_getsockopt(sock->fd, SOL_SOCKET, SO_ERROR, &value, &len);
	if (err)
		return err;
	check(value >= 0);
	sock->bits |= IO_ERR;
	if (value != ECONNRESET && value != EPIPE)
		return value ? -value : -ECONNREFUSED; /* an earlier call has taken the error */
	/* It was established and then reset: what the server sent before the reset belongs to the client. */
	if (sys_unread(sock->fd) > 0)
		return 0;
	return -value;
}

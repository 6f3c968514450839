/* SPDX-License-Identifier: MIT
 *
 * accept.c - accepts queued clients of a listener, as many as one turn should take.
 *
 * Owns the rules for how many that is and which errors are the peer's fault. It keeps its state in the op's
 * fields len and max. A loop's thread.
 */
#include "accept.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/sys/sys.h"

static bool is_peers_fault(int err)
{
	/* accept(2): pending network errors of the new connection are returned here; the next connection may
	 * be fine. */
	return err == -ECONNABORTED || err == -EPROTO || err == -ENETDOWN || err == -EHOSTDOWN ||
	       err == -ENONET || err == -EHOSTUNREACH || err == -EOPNOTSUPP || err == -ENETUNREACH ||
	       err == -ENOPROTOOPT || err == -EPERM || err == -EINTR;
}

/* How many to accept now. An accept that finds an empty backlog allocates a file and discards it, and the
 * listener is level-triggered: clients still queued are reported in the next turn. So a turn takes as many as
 * the previous one found, and twice as many if that one left clients behind. */
static int accept_allowance(const struct io_loop *loop, struct io_op *op)
{
	if (op->len == 0)
		op->len = 1;
	if (op->max == (uint32_t)loop->turns && op->len < IO_ACCEPT_BATCH)
		op->len *= 2;
	check(op->len < 2 * IO_ACCEPT_BATCH); /* the engine does not touch it */
	return (int)op->len;
}

int io_accept_batch(struct io_loop *loop, struct io_op *op, struct addr *peer)
{
	const uint8_t state = op->state;
	const int most = accept_allowance(loop, op);
	int fd;
	int i;

	check(op->kind == IO_ACCEPT);
	check(loop->peer == NULL);
	op->max = (uint32_t)loop->turns + 1; /* clients may be left: if so, the next turn reports them */
	for (i = 0; i < most && op->state == state; i++) {
		if (!op->admit(op))
			break;
		memset(&peer->sa, 0, sizeof(peer->sa));
		peer->len = sizeof(peer->un);
		fd = sys_accept(op->sock->fd, &peer->sa, &peer->len);
		if (fd >= 0) {
			loop->peer = peer;
			op->done(op, fd);
			loop->peer = NULL;
		} else if (fd == -EAGAIN) {
			op->len = i > 0 ? (uint32_t)i : 1;
			op->max = (uint32_t)loop->turns; /* the backlog is empty */
			break;
		} else if (!is_peers_fault(fd)) {
			op->done(op, IO_BATCH_END);
			return fd;
		}
	}
	op->done(op, IO_BATCH_END);
	return i == most;
}

/* SPDX-License-Identifier: MIT
 *
 * accept.c - accepts who waits at a listener, as many as a turn should take.
 *
 * Owns the rule how many that is, and which errors are a peer's own. The fields len and max of the op
 * are its memory. A loop's thread.
 */
#include "accept.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/sys/sys.h"

static bool is_peers_fault(int err)
{
	/* accept(2): pending network errors of the new connection come back here; the next one may be
	 * fine. */
	return err == -ECONNABORTED || err == -EPROTO || err == -ENETDOWN || err == -EHOSTDOWN ||
	       err == -ENONET || err == -EHOSTUNREACH || err == -EOPNOTSUPP || err == -ENETUNREACH ||
	       err == -ENOPROTOOPT || err == -EPERM || err == -EINTR;
}

/* How many to accept now. The call that finds nobody makes a file and throws it away, and the listener
 * is level-triggered: who is left waiting is reported in the next turn. So a turn takes as many as the
 * one before found, and twice as many when that left somebody behind. */
static int accept_allowance(const struct io_loop *loop, struct io_op *op)
{
	if (op->len == 0)
		op->len = 1;
	if (op->max == (uint32_t)loop->turns && op->len < IO_ACCEPT_BATCH)
		op->len *= 2;
	check(op->len < 2 * IO_ACCEPT_BATCH); /* the engine leaves it alone */
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
	op->max = (uint32_t)loop->turns + 1; /* somebody may be left: if so, the next turn tells */
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
			op->max = (uint32_t)loop->turns; /* nobody is left */
			break;
		} else if (!is_peers_fault(fd)) {
			op->done(op, IO_DRAINED);
			return fd;
		}
	}
	op->done(op, IO_DRAINED);
	return i == most;
}

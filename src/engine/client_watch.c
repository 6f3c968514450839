/* SPDX-License-Identifier: MIT
 *
 * client_watch.c - the client while no server has answered: has it left?
 *
 * Reads nothing: a byte that was read could not be given to another server. A worker's thread.
 */
#include "client_watch.h"

#include <errno.h>

#include "weir/base/check.h"
#include "weir/base/crash_report.h"
#include "session.h"
#include "session_end.h"
#include "source_leave.h"
#include "worker.h"

/* What came behind a PROXY header is held already. */
static bool has_sent_nothing(const struct session *s)
{
	return flow_held(&s->flows[FLOW_TO_SERVER]) == 0 && io_unread(&s->sides[SIDE_CLIENT].sock) == 0;
}

bool client_watch_left(const struct session *s)
{
	const struct io_sock *sock = &s->sides[SIDE_CLIENT].sock;

	return (sock->bits & (IO_RDHUP | IO_ERR | IO_HUP)) && has_sent_nothing(s);
}

/* Nobody is being asked, and that may last. */
static bool is_between_servers(const struct session *s)
{
	return s->state == SESSION_QUEUED || s->state == SESSION_WAITING;
}

/* The watch came back before a server had answered: what the client had sent is still delivered. */
static void client_seen(struct io_op *op, int result)
{
	struct session *s = flow_session(container_of(op, struct flow, rd));

	crash_report_session(s->number);
	check(s->state >= SESSION_QUEUED && s->state <= SESSION_WAITING); /* or flow_open() took over */
	if (result < 0 || !(result & IO_WANT_ERR))
		client_watch(s); /* FIN, or it was cancelled for this */
	else if (has_sent_nothing(s))
		session_close(s, CLOSE_CLIENT_GONE);
}

/* FIN is waited for where it may be long until a server answers, and once: who has sent something before it
 * waits for the answer, and can only be reset then. */
void client_watch(struct session *s)
{
	struct io_op *op = &s->flows[FLOW_TO_SERVER].rd;
	const bool has_fin = (s->sides[SIDE_CLIENT].sock.bits & IO_RDHUP) != 0;
	const uint8_t want = is_between_servers(s) && !has_fin ? IO_WANT_ERR | IO_WANT_END : IO_WANT_ERR;
	int r;

	check(s->state >= SESSION_QUEUED && s->state <= SESSION_WAITING);
	check(s->sides[SIDE_CLIENT].sock.fd >= 0);
	if (is_between_servers(s) && client_watch_left(s)) {
		session_close(s, CLOSE_CLIENT_GONE);
		return;
	}
	if (unlikely(has_fin))
		source_leave_soon(s);
	if (io_is_pending(op)) {
		check(op->done == client_seen);
		check(op->kind == IO_READY);
		if (want & ~op->want)
			io_cancel(&s->worker->loop, op); /* comes back, and is started for both */
		return;
	}
	op->done = client_seen;
	op->kind = IO_READY;
	op->want = want;
	r = io_start(&s->worker->loop, op);
	if (unlikely(r == -ENOMEM)) /* its worker has no ring for the moment */
		session_close(s, CLOSE_NO_RESOURCE);
	else if (r != IO_PENDING && has_sent_nothing(s))
		session_close(s, CLOSE_CLIENT_GONE);
}

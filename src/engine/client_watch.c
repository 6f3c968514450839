/* SPDX-License-Identifier: MIT
 *
 * client_watch.c - watches the client until a server has answered: has it left?
 *
 * Reads nothing: once read, a byte could not be given to another server. A worker's thread.
 */
#include "client_watch.h"

#include <errno.h>

#include "weir/base/check.h"
#include "weir/base/crash_report.h"
#include "session.h"
#include "session_end.h"
#include "source_leave.h"
#include "worker.h"

/* Bytes that came after a PROXY header, or with a TLS hello, are already held. */
static bool has_sent_nothing(const struct session *s)
{
	return flow_held(&s->flows[FLOW_TO_SERVER]) == 0 && io_unread(&s->sides[SIDE_CLIENT].sock) == 0;
}

bool client_watch_left(const struct session *s)
{
	const struct io_sock *sock = &s->sides[SIDE_CLIENT].sock;

	return (sock->bits & (IO_RDHUP | IO_ERR | IO_HUP)) && has_sent_nothing(s);
}

/* No server is being tried, and that may last. */
static bool is_between_servers(const struct session *s)
{
	return s->state == SESSION_QUEUED || s->state == SESSION_RESOLVING || s->state == SESSION_WAITING;
}

/* What a client had sent before its reset is still delivered; but no name is looked up for a hello alone. */
static bool reset_is_leaving(const struct session *s)
{
	return s->state == SESSION_RESOLVING || has_sent_nothing(s);
}

/* The watch ended before a server had answered: what the client had sent is still delivered. */
static void client_seen(struct io_op *op, int result)
{
	struct session *s = flow_session(container_of(op, struct flow, rd));

	crash_report_session(s->number);
	check(s->state >= SESSION_QUEUED && s->state <= SESSION_WAITING); /* else flow_open() took over */
	if (result < 0 || !(result & IO_WANT_ERR))
		client_watch(s); /* FIN, or cancelled in order to watch for both */
	else if (reset_is_leaving(s))
		session_close(s, CLOSE_CLIENT_GONE);
}

/* FIN is watched for once, and only where it may take long until a server answers. A client that has sent
 * something before its FIN waits for the answer; after that we watch only for a reset. */
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
			io_cancel(&s->worker->loop, op); /* it comes back, and is started again for both */
		return;
	}
	op->done = client_seen;
	op->kind = IO_READY;
	op->want = want;
	r = io_start(&s->worker->loop, op);
	if (unlikely(r == -ENOMEM)) /* its worker has no ring at the moment */
		session_close(s, CLOSE_NO_RESOURCE);
	else if (r != IO_PENDING && reset_is_leaving(s))
		session_close(s, CLOSE_CLIENT_GONE);
}

/* SPDX-License-Identifier: MIT
 *
 * session_end.c - a session loses a side, closes, and is freed.
 *
 * Decides how each side is closed, and closes both. Nothing is freed while an op is pending. A worker's
 * thread.
 */
#include "session_end.h"

#include "weir/account/limited_by.h"
#include "weir/base/check.h"
#include "weir/base/crash_report.h"
#include "weir/engine/source_wait.h"
#include "weir/net/tcp_facts.h"
#include "comeback.h"
#include "egress.h"
#include "extra.h"
#include "failing.h"
#include "queueing.h"
#include "record.h"
#include "session.h"
#include "session_deadline.h"
#include "slots.h"
#include "source_leave.h"
#include "worker.h"

static struct flow *flow_to(struct session *s, enum side_name side)
{
	return &s->flows[side == SIDE_CLIENT ? FLOW_TO_CLIENT : FLOW_TO_SERVER];
}

static struct io_op *side_op(struct session *s, enum side_name side)
{
	return &flow_to(s, side)->wr;
}

/* Called at the close. What a Unix socket has taken, its peer has received. */
static void note_left_over(struct session *s, enum side_name side)
{
	if ((s->sides[side].sock.bits & IO_TCP) && flow_to(s, side)->bytes_out > 0)
		s->unacked[side] = io_unacked(&s->sides[side].sock);
}

void session_leave_server(struct session *s)
{
	if (!s->server_counted)
		return;
	check(s->at != NULL);
	comeback_end(s, SERVER_TRIAL_GIVEN_UP);
	s->server_counted = false;
	server_leave(s->at->server);
}

/* ---- events on the sides ---- */

static enum close_reason failure_reason(enum side_name side, int err)
{
	check(err < 0);
	/* shutdown(2) returns ENOTCONN for a socket that was reset. */
	if (err == -ECONNRESET || err == -EPIPE || err == -ECONNABORTED || err == -ENOTCONN)
		return side == SIDE_CLIENT ? CLOSE_CLIENT_RESET : CLOSE_SERVER_RESET;
	return side == SIDE_CLIENT ? CLOSE_CLIENT_LOST : CLOSE_SERVER_LOST;
}

/* Has `log-empty` nothing to say of a client that leaves now? What a reset left unread counts as sent. Asked
 * while its socket is open. */
static bool is_empty(const struct session *s)
{
	const struct session_extra *x = s->extra;

	if (likely(s->flows[FLOW_TO_SERVER].bytes_in > (x != NULL ? x->header_sent : 0)))
		return false;
	return s->entry->front->config->log_empty == CONFIG_LOG_EMPTY_OFF && (x == NULL || x->head == NULL) &&
	       io_unread(&s->sides[SIDE_CLIENT].sock) == 0;
}

/* The client's own doing; not a timeout, and not that of a server or of ours. */
static bool is_by_client(enum close_reason reason)
{
	return reason == CLOSE_NORMAL || reason == CLOSE_CLIENT_GONE || reason == CLOSE_CLIENT_RESET ||
	       reason == CLOSE_CLIENT_LOST;
}

void session_side_failed(struct session *s, enum side_name side, int err)
{
	struct flow *from = &s->flows[side == SIDE_CLIENT ? FLOW_TO_SERVER : FLOW_TO_CLIENT];
	struct flow *toward = &s->flows[side == SIDE_CLIENT ? FLOW_TO_CLIENT : FLOW_TO_SERVER];

	if (!session_is_forwarding(s) || s->failed == 1 + side)
		return;
	if (s->failed) {
		session_close(s, (enum close_reason)s->reason); /* no side is left to deliver to */
		return;
	}
	source_leave_soon(s);
	s->failed = side == SIDE_CLIENT ? 1 + SIDE_CLIENT : 1 + SIDE_SERVER;
	s->reason = (uint8_t)failure_reason(side, err);
	if (side == SIDE_SERVER || !is_empty(s))
		failing_side(s, side, err);
	s->fixed_ns = session_half_closed_end(s);
	flow_kill(toward);
	flow_source_failed(from);
	if (session_is_forwarding(s))
		session_rearm(s);
}

void session_flow_ended(struct session *s, const struct flow *f)
{
	check(session_is_forwarding(s));
	check(f->state == FLOW_ENDED);
	if (f->dir == FLOW_TO_SERVER)
		source_leave_soon(s);
	if (s->flows[!f->dir].state == FLOW_OPEN)
		s->half_mark = (uint32_t)s->flows[!f->dir].bytes_out;
}

void session_flow_done(struct session *s, struct flow *f)
{
	check(session_is_forwarding(s));
	check(f->state == FLOW_DONE);
	if (s->flows[!f->dir].state != FLOW_DONE) {
		/* timeout-half-closed counts from now, however long nothing has moved before. */
		s->last_ns = s->worker->loop.now_ns;
		session_rearm(s);
		return;
	}
	session_close(s, CLOSE_NORMAL);
	/* The destination of this flow had ended its own side before, and may not have received everything
	 * yet: from now on the kernel delivers without us, and may drop it (tcp_mem, tcp_max_orphans). If it
	 * ended its side when it had everything, there is no need to look. */
	if (unlikely((uint32_t)f->bytes_out != s->half_mark))
		note_left_over(s, f->dir == FLOW_TO_CLIENT ? SIDE_CLIENT : SIDE_SERVER);
}

void session_flow_delivered(struct session *s)
{
	const enum side_name failed = (enum side_name)(s->failed - 1);

	check(s->failed != 0);
	if (s->state == SESSION_CLOSING)
		return;
	check(flow_to(s, !failed)->state == FLOW_BROKEN);
	session_close(s, (enum close_reason)s->reason);
	s->ends[failed] = SIDE_CLOSE;
	s->ends[!failed] = SIDE_DELIVER_RESET;
}

/* ---- the end ---- */

/* An op of a closing session came back. */
static void op_back(struct session *s)
{
	crash_report_session(s->number);
	check(s->state == SESSION_CLOSING);
	check(!list_empty(&s->link));
	list_remove(&s->link);
	list_push_back(&s->worker->closing, &s->link);
}

static void rd_back(struct io_op *op, int result)
{
	struct flow *f = container_of(op, struct flow, rd);

	(void)result;
	check(f->state == FLOW_DEAD);
	op_back(flow_session(f));
}

static void wr_back(struct io_op *op, int result)
{
	struct flow *f = container_of(op, struct flow, wr);

	(void)result;
	check(f->state == FLOW_DEAD);
	flow_drop_buf(f);
	op_back(flow_session(f));
}

static void end_flow(struct flow *f)
{
	flow_kill(f);
	f->rd.done = rd_back;
	f->wr.done = wr_back;
}

/* Asked while both sockets are open, and of few sessions: it costs a system call per side. */
static enum limited_by limit_of(const struct session *s)
{
	const int64_t duration_ns = s->worker->loop.now_ns - s->accepted_ns;
	const uint64_t bytes = s->flows[FLOW_TO_SERVER].bytes_out + s->flows[FLOW_TO_CLIENT].bytes_out;
	struct tcp_facts client, server;

	if (!session_is_forwarding(s) || (duration_ns < LIMITED_MIN_NS && bytes < LIMITED_MIN_BYTES))
		return LIMITED_UNKNOWN;
	tcp_facts_take(s->sides[SIDE_CLIENT].sock.fd, &client);
	tcp_facts_take(s->sides[SIDE_SERVER].sock.fd, &server);
	return limited_by(&client, &server, duration_ns);
}

static void count_limit(struct counters *c, enum limited_by by)
{
	switch (by) {
#define LIMIT(name, word)                                                                                    \
	case LIMITED_##name:                                                                                 \
		counter_add(&c->limited_by_##word, 1);                                                       \
		break;
#include "weir/account/limits.tbl.h"
#undef LIMIT
	case LIMITED_UNKNOWN:
	case LIMITS:
		break;
	}
}

void session_close(struct session *s, enum close_reason reason)
{
	const enum side_end end = reason == CLOSE_NORMAL ? SIDE_CLOSE : SIDE_RESET;

	if (s->state == SESSION_CLOSING)
		return;
	check(reason < CLOSE_REASONS);
	check(!list_empty(&s->link));
	s->limited_by = (unsigned)limit_of(s) & 7;
	s->empty = is_by_client(reason) && is_empty(s);
	s->log_state = s->state & 15u;
	s->reason = (uint8_t)reason;
	s->server_late = reason == CLOSE_HALF_CLOSED_TIMEOUT && s->flows[FLOW_TO_SERVER].state == FLOW_DONE;
	s->ends[SIDE_CLIENT] = (uint8_t)end;
	s->ends[SIDE_SERVER] = (uint8_t)end;
	s->unacked[SIDE_CLIENT] = 0;
	s->unacked[SIDE_SERVER] = 0;
	session_set_state(s, SESSION_CLOSING);
	timer_cancel(&s->worker->loop.timers, &s->timer);
	if (s->extra != NULL) {
		queueing_leave(s);
		egress_drop(s);
		session_extra_drop_bufs(s);
		(void)source_wait_end(s); /* source_leave() gives back a place that it was given */
		source_leave_soon(s);
	}
	/* rate-limit counted it before it was accepted; a client that is let in must not lose its place to
	 * it. */
	if (unlikely(!s->backend_counted) && s->rated)
		slots_release_rate(s->entry->frontend, s->accepted_ns);
	end_flow(&s->flows[FLOW_TO_SERVER]);
	end_flow(&s->flows[FLOW_TO_CLIENT]);
	list_remove(&s->link);
	list_push_back(&s->worker->closing, &s->link);
}

void session_hurry(struct session *s)
{
	int i;

	check(s->state == SESSION_CLOSING);
	if (s->halted)
		return;
	s->halted = true;
	for (i = 0; i < 2; i++)
		io_cancel(&s->worker->loop, side_op(s, (enum side_name)i));
}

static bool has_pending(const struct session *s)
{
	return io_is_pending(&s->flows[0].rd) || io_is_pending(&s->flows[0].wr) ||
	       io_is_pending(&s->flows[1].rd) || io_is_pending(&s->flows[1].wr);
}

static void close_side(struct session *s, enum side_name side)
{
	struct io_op *op = side_op(s, side);
	int r;

	if (s->sides[side].sock.fd < 0)
		return;
	check(s->sides[side].sock.rd == NULL); /* a pending op would reach another descriptor */
	check(s->sides[side].sock.wr == NULL);
	op->kind = s->ends[side] == SIDE_CLOSE ? IO_CLOSE : IO_RESET;
	if (s->worker->stopping)
		s->halted = true;
	op->flags = s->ends[side] == SIDE_DELIVER_RESET && !s->halted ? IO_FLUSH : 0;
	if (s->reason != CLOSE_NORMAL && op->flags == 0)
		note_left_over(s, side);
	r = io_start(&s->worker->loop, op);
	check(r == 0 || r == IO_PENDING); /* closing does not fail */
	if (r == IO_PENDING && op->flags == IO_FLUSH)
		session_rearm(s);
}

static void release(struct session *s)
{
	struct worker *w = s->worker;
	struct frontend *fe = s->entry->frontend;
	bool is_slot_gone;
	int load;

	check(s->sides[SIDE_CLIENT].sock.fd < 0);
	check(s->sides[SIDE_SERVER].sock.fd < 0);
	check(s->flows[0].pipe == NULL && s->flows[0].buf == NULL);
	check(s->flows[1].pipe == NULL && s->flows[1].buf == NULL);
	timer_cancel(&w->loop.timers, &s->timer);
	tally_session_ended(s);
	if (unlikely(s->unacked[SIDE_CLIENT] | s->unacked[SIDE_SERVER])) {
		counter_add(&w->counters.unacked_closes, 1);
		w->engine->notify(w->engine->notify_arg); /* control looks whether the kernel drops them */
	}
	failing_end(s);
	count_limit(&w->counters, (enum limited_by)s->limited_by);
	record_session_end(s); /* who reads the line finds all of it counted */
	session_leave_server(s); /* what is logged does not include who gets the place */
	is_slot_gone = source_leave(s) || s->slotless;
	if (s->extra != NULL)
		session_extra_put(s);
	session_use_nothing(s);
	session_set_state(s, SESSION_FREE);
	session_slab_put(&w->slab, s);
	check(w->sessions > 0);
	w->sessions--;
	load = atomic_fetch_sub(&w->load, 1);
	check(load > (int)w->sessions);
	if (likely(!is_slot_gone))
		slots_release(w->engine, fe);
}

bool session_reap(struct session *s)
{
	check(s->state == SESSION_CLOSING);
	list_remove(&s->link);
	if (!has_pending(s)) {
		close_side(s, SIDE_CLIENT);
		close_side(s, SIDE_SERVER);
	}
	if (has_pending(s)) {
		list_push_back(&s->worker->awaiting_ops, &s->link); /* op_back() moves it back to `closing` */
		return false;
	}
	release(s);
	return true;
}

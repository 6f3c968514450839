/* SPDX-License-Identifier: MIT
 *
 * flow.c - one direction of a session: reads a source, holds what the destination refused, writes.
 *
 * Owns the states, the accounting and the endings of a flow; flow_read.c reads the source, flow_write.c
 * writes what is held. Never closes a socket and never sets a timer: the session does. doc/architecture.md
 * explains the rules R1 to R17. A worker's thread.
 */
#include "flow.h"

#include "weir/base/check.h"
#include "weir/base/crash_report.h"
#include "weir/net/sock.h"
#include "flow_steps.h"
#include "session.h"
#include "session_deadline.h"
#include "session_end.h"
#include "worker.h"

static void flow_set_state(struct flow *f, enum flow_state state)
{
	/* One row per state: the states that may follow. */
	static const uint8_t next[] = {
		[FLOW_IDLE] = 1 << FLOW_OPEN | 1 << FLOW_DEAD,
		[FLOW_OPEN] = 1 << FLOW_ENDED | 1 << FLOW_BROKEN | 1 << FLOW_DEAD,
		[FLOW_ENDED] = 1 << FLOW_DONE | 1 << FLOW_BROKEN | 1 << FLOW_DEAD,
		[FLOW_BROKEN] = 1 << FLOW_DEAD,
		[FLOW_DONE] = 1 << FLOW_BROKEN | 1 << FLOW_DEAD,
		[FLOW_DEAD] = 0,
	};

	check(f->state < ARRAY_LEN(next));
	check(next[f->state] & 1 << state);
	f->state = (uint8_t)state;
}

/* ---- accounting ---- */

void flow_count_in(struct flow *f, uint32_t n, bool spliced)
{
	struct worker *w = flow_worker(f);

	check(f->state == FLOW_OPEN);
	check(n > 0);
	f->bytes_in += n;
	f->wake_bytes += n;
	io_share_spend(&w->loop, n);
	if (spliced) {
		f->bytes_spliced += n;
		counter_add(&w->counters.bytes_spliced, n);
	}
	flow_session(f)->last_ns = w->loop.now_ns;
	flow_session(f)->last_dir = f->dir;
}

void flow_count_out(struct flow *f, uint32_t n)
{
	struct worker *w = flow_worker(f);

	check(f->state == FLOW_OPEN); /* in any other state it holds nothing */
	f->bytes_out += n;
	check(f->bytes_out <= f->bytes_in);
	flow_session(f)->last_ns = w->loop.now_ns;
	counter_add(f->dir == FLOW_TO_SERVER ? &w->counters.bytes_to_server : &w->counters.bytes_to_client,
		    n);
}

/* ---- the hold ---- */

void flow_drop_buf(struct flow *f)
{
	if (f->buf == NULL)
		return;
	check(!io_is_pending(&f->wr)); /* its memory may belong to the driver */
	buf_put(&flow_loop(f)->bufs, f->buf);
	f->buf = NULL;
}

void flow_hold(struct flow *f, struct buf *b, uint32_t more)
{
	check(f->state == FLOW_IDLE);
	check(f->pipe == NULL);
	check(b != f->buf);
	check(b->len >= more);
	flow_drop_buf(f);
	f->buf = b;
	f->bytes_in += more;
	check(f->bytes_in == f->bytes_out + flow_held(f));
}

struct buf *flow_unhold(struct flow *f)
{
	struct buf *b = f->buf;

	check(f->state == FLOW_IDLE);
	check(f->pipe == NULL);
	if (b == NULL)
		return NULL;
	check(f->bytes_in >= b->len);
	f->bytes_in -= b->len;
	f->buf = NULL;
	return b;
}

/* Returns the pipe; the pool closes one with bytes in it (R11). */
void flow_drop_pipe(struct flow *f)
{
	if (f->pipe == NULL)
		return;
	pipe_put(&flow_loop(f)->pipes, f->pipe);
	f->pipe = NULL;
}

static void flow_rd_late(struct io_op *op, int result)
{
	struct flow *f = container_of(op, struct flow, rd);

	(void)result;
	check(f->state == FLOW_DEAD);
	crash_report_session(flow_session(f)->number);
}

static void flow_wr_late(struct io_op *op, int result)
{
	struct flow *f = container_of(op, struct flow, wr);

	(void)result;
	check(f->state == FLOW_DEAD);
	crash_report_session(flow_session(f)->number);
	flow_drop_buf(f);
}

void flow_kill(struct flow *f)
{
	struct io_loop *loop = flow_loop(f);

	if (f->state != FLOW_DEAD)
		flow_set_state(f, FLOW_DEAD);
	f->rd.done = flow_rd_late;
	f->wr.done = flow_wr_late;
	io_cancel(loop, &f->rd);
	io_cancel(loop, &f->wr);
	/* A pending write owns the memory until it comes back: flow_wr_late() drops it. */
	if (!io_is_pending(&f->wr))
		flow_drop_buf(f);
	flow_drop_pipe(f);
}

/* ---- endings ---- */

/* The source has ended. If an error was seen on it, or is now, the end is a reset. */
enum step flow_src_ended(struct flow *f, int err)
{
	struct session *s = flow_session(f);

	check(f->state == FLOW_OPEN);
	check(flow_held(f) == 0);
	check(!io_is_pending(&f->rd));
	flow_drop_pipe(f);
	if (err == 0 && !(flow_src(f)->sock.bits & IO_ERR) && s->failed != 1 + flow_src_name(f)) {
		flow_set_state(f, FLOW_ENDED);
		session_flow_ended(s, f);
		return STEP_GO;
	}
	flow_set_state(f, FLOW_BROKEN);
	if (err == 0)
		err = s->errors[f->dir] ? s->errors[f->dir] : -ECONNRESET;
	session_side_failed(s, flow_src_name(f), err);
	return STEP_GO;
}

/* The destination is gone, and with it what is held for it. */
enum step flow_dst_failed(struct flow *f, int err)
{
	check(err < 0);
	check(err >= -4095); /* a result with a meaning of its own is not an error */
	if (err == -ENOBUFS || err == -ENOMEM)
		session_close(flow_session(f), CLOSE_NO_RESOURCE);
	else
		session_side_failed(flow_session(f), flow_dst_name(f), err);
	return STEP_WAIT;
}

/* Nothing reads the source now (its destination is full, or it has ended), but a reset of it must still be
 * seen. With the epoll driver this costs nothing. */
enum step flow_watch_src(struct flow *f)
{
	struct session *s = flow_session(f);
	int r;

	check(session_is_forwarding(s));
	if (io_is_pending(&f->rd) || s->failed == 1 + flow_src_name(f))
		return STEP_WAIT;
	f->rd.kind = IO_READY;
	f->rd.want = IO_WANT_ERR;
	r = io_start(flow_loop(f), &f->rd);
	if (r != IO_PENDING)
		session_side_failed(s, flow_src_name(f), -ECONNRESET);
	return STEP_WAIT;
}

/* FIN was passed on, or could not be. */
static enum step flow_on_shut(struct flow *f, int result)
{
	struct session *s = flow_session(f);

	check(f->state == FLOW_ENDED || f->state == FLOW_BROKEN);
	check(flow_held(f) == 0);
	if (result < 0)
		return flow_dst_failed(f, result);
	if (f->state == FLOW_BROKEN) {
		session_flow_delivered(s); /* the source was reset while its FIN was being passed on */
		return STEP_WAIT;
	}
	flow_set_state(f, FLOW_DONE);
	session_flow_done(s, f);
	return session_is_forwarding(s) ? flow_watch_src(f) : STEP_WAIT;
}

/* Everything held is written and the source has ended: passes the ending on. */
static enum step flow_finish(struct flow *f)
{
	struct session *s = flow_session(f);
	int r;

	check(flow_held(f) == 0);
	if (f->state == FLOW_BROKEN) {
		session_flow_delivered(s);
		return STEP_WAIT;
	}
	if (f->state != FLOW_ENDED)
		return STEP_WAIT;
	/* The last flow to end needs no shutdown(2): both sides are closed now, which sends the FIN. */
	if (s->flows[!f->dir].state == FLOW_DONE)
		return flow_on_shut(f, 0);
	f->wr.kind = IO_SHUTDOWN;
	r = io_start(flow_loop(f), &f->wr);
	return r == IO_PENDING ? flow_watch_src(f) : flow_on_shut(f, r);
}

/* ---- the loop ---- */

/* Waits for a turn of its own, which comes after the events of this turn of the loop have been handled. */
static enum step ask_turn(struct flow *f, enum io_turn where)
{
	check(flow_held(f) == 0); /* a pipe's bytes would be lost with it */
	flow_drop_pipe(f);
	/* Timers run before the turn comes: none may end a session that has bytes to read. */
	flow_session(f)->last_ns = flow_loop(f)->now_ns;
	io_yield(flow_loop(f), &f->rd, where);
	return STEP_WAIT;
}

static enum step give_way(struct flow *f, enum io_turn where)
{
	counter_add(&flow_worker(f)->counters.budget_stops, 1);
	if (where == IO_TURN_LAST)
		f->wake_bytes = FLOW_BULK_LEAVE_BYTES; /* such a long wake-up was worth a pipe */
	return ask_turn(f, where);
}

/* The next step reads, asks for a turn, or stops because the flow has moved enough. A flow that stops only
 * because this turn of the loop has moved its share goes first in the next one. */
static enum step flow_fill_in_turn(struct flow *f, unsigned round, bool has_turn)
{
	if (flow_src(f)->sock.bits & IO_ENDED)
		return flow_fill(f); /* only the end is left, and the last bytes may wait for it (IO_LAST) */
	if (round >= FLOW_BUDGET_ROUNDS || f->wake_bytes >= FLOW_BUDGET_BYTES)
		return give_way(f, IO_TURN_LAST);
	if (!has_turn && (flow_is_bulk(f) || f->wake_bytes >= IO_SHARE_BYTES))
		return ask_turn(f, IO_TURN_LAST);
	if (has_turn && round > 0 && io_share_used(flow_loop(f)))
		return give_way(f, IO_TURN_FIRST);
	return flow_fill(f);
}

static enum step flow_step(struct flow *f, unsigned round, bool has_turn)
{
	const uint32_t held = flow_held(f);

	check(f->bytes_in == f->bytes_out + held);
	/* What is held is written before anything is read: a pipe is never topped up (R3). */
	if (held > 0)
		return io_is_pending(&f->wr) ? STEP_WAIT : flow_drain(f);
	if (f->state != FLOW_OPEN)
		return io_is_pending(&f->wr) ? STEP_WAIT : flow_finish(f);
	/* The watch for errors occupies the place of the read: once it has ended, we come back here. */
	if (io_is_pending(&f->rd)) {
		io_cancel(flow_loop(f), &f->rd);
		return STEP_WAIT;
	}
	return flow_fill_in_turn(f, round, has_turn);
}

static void flow_go(struct flow *f, bool has_turn)
{
	struct session *s = flow_session(f);
	unsigned round = 0;

	check(f->state != FLOW_IDLE);
	/* Each round reads or writes; a read and its write count as two. */
	while (session_is_forwarding(s) && f->state != FLOW_DEAD &&
	       flow_step(f, round / 2, has_turn) == STEP_GO)
		round++;
}

void flow_run(struct flow *f)
{
	flow_go(f, false);
}

/* ---- callbacks ---- */

static bool is_watch(const struct io_op *op)
{
	return op->kind == IO_READY && (op->want & IO_WANT_ERR);
}

/* Is a callback on its way that runs the flow again: of a cancelled watch, or of a turn? */
static bool runs_soon(const struct flow *f)
{
	return io_is_pending(&f->rd) && (is_watch(&f->rd) || f->rd.kind == IO_NONE);
}

/* Most clients speak first: their bytes go out now, together with the ACK that ends the handshake, which
 * saves a packet, and the server wakes up once. If there was nothing to send, the server gets its ACK, as it
 * may be the side that speaks first. */
void flow_ack_server(struct session *s)
{
	const struct flow *f = &s->flows[FLOW_TO_SERVER];

	if (likely(!s->ack_waits) || !session_is_forwarding(s) || runs_soon(f))
		return;
	s->ack_waits = false;
	check(s->sides[SIDE_SERVER].sock.bits & IO_TCP);
	check(f->state != FLOW_IDLE);
	if (f->bytes_in == 0)
		sock_ack_now(s->sides[SIDE_SERVER].sock.fd);
}

static void flow_rd_done(struct io_op *op, int result)
{
	struct flow *f = container_of(op, struct flow, rd);
	struct session *s = flow_session(f);

	crash_report_session(s->number);
	check(session_is_forwarding(s)); /* otherwise its end, or its flow's, took over */
	check(f->state != FLOW_DEAD);
	if (is_watch(op)) { /* of a source that nothing reads, or of the client while connecting */
		if (result > 0 && (result & IO_WANT_ERR))
			session_side_failed(s, flow_src_name(f), -ECONNRESET);
		flow_run(f);
		flow_ack_server(s);
		return;
	}
	if (op->kind == IO_READ && flow_on_read(f, result) == STEP_WAIT)
		return;
	flow_go(f, op->kind == IO_NONE);
	flow_ack_server(s);
}

static void flow_wr_done(struct io_op *op, int result)
{
	struct flow *f = container_of(op, struct flow, wr);
	struct session *s = flow_session(f);

	crash_report_session(s->number);
	check(session_is_forwarding(s)); /* as above */
	check(f->state != FLOW_DEAD);
	if (op->kind == IO_SHUTDOWN) {
		(void)flow_on_shut(f, result); /* there is no next step */
		return;
	}
	if (op->kind != IO_WRITE || flow_on_written(f, result) == STEP_GO)
		flow_run(f);
	/* While this flow was blocked, only its destination could be late; now the other side can be, too. */
	if (session_is_forwarding(s))
		session_rearm(s);
}

void flow_init(struct flow *f, enum flow_dir dir)
{
	struct session *s;

	f->dir = (uint8_t)dir;
	s = flow_session(f);
	check(s->state <= SESSION_ACCEPTED);
	f->state = FLOW_IDLE;
	io_op_init(&f->rd, &s->sides[flow_src_name(f)].sock, NULL);
	io_op_init(&f->wr, &s->sides[flow_dst_name(f)].sock, NULL);
}

void flow_open(struct flow *f)
{
	check(session_is_forwarding(flow_session(f)));
	check(!io_is_pending(&f->wr)); /* a watch of the source may be, a connect may not */
	check(f->bytes_out == 0);
	flow_set_state(f, FLOW_OPEN);
	f->rd.done = flow_rd_done;
	f->wr.done = flow_wr_done;
	flow_run(f);
}

void flow_source_failed(struct flow *f)
{
	switch (f->state) {
	case FLOW_ENDED:
	case FLOW_DONE:
		/* FIN came before the reset, and may still be being passed on. */
		check(flow_held(f) == 0);
		flow_set_state(f, FLOW_BROKEN);
		if (!io_is_pending(&f->wr))
			session_flow_delivered(flow_session(f));
		break;
	default:
		check(f->state != FLOW_DEAD); /* its destination failed before: that closes the session */
		/* OPEN: the next reads bring the remaining bytes and then the end. A pending read gets them
		 * from the event that the reset raises. */
		break;
	}
}

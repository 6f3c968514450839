/* SPDX-License-Identifier: MIT
 *
 * flow_write.c - the writing half of a flow: writes what is held, from a buffer or a pipe.
 *
 * Waits for the destination; meanwhile the flow reads nothing. A worker's thread.
 */
#include "weir/base/check.h"
#include "weir/net/sock.h"
#include "flow_steps.h"
#include "session.h"
#include "session_end.h"
#include "worker.h"

enum step flow_after_write(struct flow *f, uint32_t n)
{
	flow_count_out(f, n);
	return STEP_GO;
}

void flow_before_write(struct flow *f)
{
	struct session *s = flow_session(f);

	/* Nagle's algorithm delays a small write only while an earlier one is unacknowledged: the first write
	 * is never delayed, and a connection with a single request saves the call. */
	if (s->server_nodelay && f->dir == FLOW_TO_SERVER && f->bytes_out > 0) {
		check(flow_dst(f)->sock.bits & IO_TCP);
		s->server_nodelay = false;
		sock_nodelay(flow_dst(f)->sock.fd);
	}
}

enum step flow_on_written(struct flow *f, int n)
{
	struct buf *b = f->buf;

	check(f->wr.kind == IO_WRITE);
	check(b != NULL);
	if (n < 0)
		return flow_dst_failed(f, n);
	check((uint32_t)n <= b->len);
	b->off += (uint32_t)n;
	b->len -= (uint32_t)n;
	if (b->len == 0)
		flow_drop_buf(f);
	return flow_after_write(f, (uint32_t)n);
}

static enum step write_buf(struct flow *f)
{
	int n;

	check(f->buf->len > 0);
	check(f->buf->off + f->buf->len <= f->buf->cap);
	f->wr.kind = IO_WRITE;
	f->wr.flags = 0;
	f->wr.data = f->buf->data + f->buf->off;
	f->wr.len = f->buf->len;
	n = io_start(flow_loop(f), &f->wr);
	return n == IO_PENDING ? flow_watch_src(f) : flow_on_written(f, n);
}

/* The destination cannot be spliced to, or not now: what the pipe holds continues by copying (R17). */
static enum step pipe_to_buf(struct flow *f)
{
	const uint32_t want = f->pipe->bytes < BUF_MAX ? f->pipe->bytes : BUF_MAX;
	int n;

	check(f->buf == NULL);
	counter_add(&flow_worker(f)->counters.splice_refused, 1);
	f->buf = buf_get(&flow_loop(f)->bufs, want);
	if (f->buf == NULL) {
		session_close(flow_session(f), CLOSE_NO_RESOURCE);
		return STEP_WAIT;
	}
	n = io_pipe_read(f->pipe, f->buf);
	if (n <= 0) {
		flow_drop_buf(f);
		session_close(flow_session(f), CLOSE_INTERNAL);
		return STEP_WAIT;
	}
	check(f->buf->len == (uint32_t)n);
	if (f->pipe->bytes == 0)
		flow_drop_pipe(f);
	return STEP_GO;
}

static enum step wait_for_dst(struct flow *f)
{
	int r;

	check(flow_held(f) > 0); /* otherwise it needs no room */
	f->wr.kind = IO_READY;
	f->wr.want = IO_WANT_OUT;
	r = io_start(flow_loop(f), &f->wr);
	return r == IO_PENDING ? flow_watch_src(f) : STEP_GO;
}

static enum step write_pipe(struct flow *f)
{
	struct pipe *p = f->pipe;
	int n;

	check(p->bytes <= p->cap);
	f->wr.kind = IO_SPLICE_OUT;
	f->wr.pipe = p;
	f->wr.max = p->bytes;
	n = io_start(flow_loop(f), &f->wr);
	if (n == -EAGAIN)
		return wait_for_dst(f);
	if (n == IO_UNSPLICEABLE)
		return pipe_to_buf(f);
	if (n < 0)
		return flow_dst_failed(f, n);
	check((uint32_t)n <= p->bytes);
	p->bytes -= (uint32_t)n;
	return flow_after_write(f, (uint32_t)n);
}

enum step flow_drain(struct flow *f)
{
	check(f->state == FLOW_OPEN);
	check(!io_is_pending(&f->wr));
	flow_before_write(f);
	return f->buf != NULL ? write_buf(f) : write_pipe(f);
}

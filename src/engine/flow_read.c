/* SPDX-License-Identifier: MIT
 *
 * flow_read.c - the reading half of a flow: copies small reads, splices bulk ones, and decides between the
 * two.
 *
 * Never waits while holding a pipe. A worker's thread.
 */
#include <assert.h>

#include "weir/base/check.h"
#include "flow_steps.h"
#include "session.h"
#include "session_end.h"
#include "worker.h"

static_assert(FLOW_BULK_ENTER_TIMES <= UINT8_MAX, "large reads in a row are counted in f->big_reads");
static_assert(FLOW_BULK_LEAVE_TIMES + 1 < FLOW_NEVER_BULK, "f->bulk distinguishes a count from never");
static_assert(FLOW_BULK_LEAVE_BYTES <= FLOW_BULK_ENTER_BYTES, "what makes a flow bulk does not end it");
static_assert(FLOW_BULK_AT_ONCE_BYTES <= IO_SCRATCH_BYTES, "one read can make a flow bulk");
static_assert(FLOW_BUDGET_BYTES <= UINT32_MAX - IO_SCRATCH_BYTES,
	      "f->wake_bytes passes the budget by one read");

/* What a socket shows when its source has ended, or soon does. */
#define ENDS (IO_ENDED | IO_RDHUP | IO_HUP)

bool flow_is_bulk(struct flow *f)
{
	const int mode =
		atomic_load_explicit(&flow_worker(f)->engine->settings.splice, memory_order_relaxed);

	if (mode == CONFIG_SPLICE_OFF || f->bulk == FLOW_NEVER_BULK)
		return false;
	return mode == CONFIG_SPLICE_ON || f->bulk != 0;
}

/* A splice from the source failed: why the flow copies instead. */
static void note_unspliced(struct flow *f, int err)
{
	struct counters *c = &flow_worker(f)->counters;
	const uint16_t bits = flow_src(f)->sock.bits;

	if (err == IO_UNSPLICEABLE) {
		f->bulk = FLOW_NEVER_BULK; /* copy from now on (R17) */
		counter_add(&c->splice_unspliceable, 1);
	} else if (err == IO_COPY && (bits & IO_PRI)) {
		counter_add(&c->splice_urgent, 1);
	} else if (err == IO_COPY) {
		counter_add(&c->splice_unclear, !(bits & ENDS)); /* an end is no fall-back */
	} else {
		/* Bytes may still follow an urgent mark: read them before believing in the end. The kernel
		 * returns the error only once, so it is kept for the log. */
		check(err >= -4095);
		flow_session(f)->errors[f->dir] = (int16_t)err;
		counter_add(&c->splice_errors, 1);
	}
}

static void note_copied(struct flow *f, uint32_t n)
{
	check(f->big_reads < FLOW_BULK_ENTER_TIMES);
	if (n < FLOW_BULK_ENTER_BYTES) {
		f->big_reads = 0;
		return;
	}
	if (f->bulk == 0 && (n >= FLOW_BULK_AT_ONCE_BYTES || ++f->big_reads >= FLOW_BULK_ENTER_TIMES)) {
		f->big_reads = 0;
		f->bulk = 1;
	}
}

/* The source has nothing more for now: was this wake-up worth a pipe? */
static void note_wake_end(struct flow *f)
{
	const uint32_t moved = f->wake_bytes;

	f->wake_bytes = 0;
	if (f->bulk == 0 || f->bulk == FLOW_NEVER_BULK)
		return;
	check(f->bulk <= FLOW_BULK_LEAVE_TIMES);
	if (moved >= FLOW_BULK_LEAVE_BYTES)
		f->bulk = 1;
	else if (++f->bulk > FLOW_BULK_LEAVE_TIMES)
		f->bulk = 0;
}

/* Keeps the bytes of a read that the destination refused. */
static enum step keep_rest(struct flow *f, uint32_t from)
{
	struct session *s = flow_session(f);

	check(f->buf == NULL);
	check(from < f->rd.len);
	f->buf = io_buf_keep(flow_loop(f), &f->rd, from);
	if (f->buf != NULL)
		return STEP_GO;
	session_close(s, CLOSE_NO_RESOURCE);
	return STEP_WAIT;
}

/* Is it already known that no byte follows, and that the end is not a reset? */
static bool are_last_bytes(struct flow *f)
{
	return (flow_src(f)->sock.bits & (IO_ENDED | IO_ERR)) == IO_ENDED && flow_session(f)->failed == 0;
}

/* The bytes are lent: writes them at once, and keeps only what is refused. */
static enum step forward_lent(struct flow *f, uint32_t len)
{
	int n;

	check(len == f->rd.len); /* io_buf_keep() relies on that */
	check(len <= f->bytes_in - f->bytes_out);
	flow_before_write(f);
	f->wr.kind = IO_WRITE;
	f->wr.flags = are_last_bytes(f) ? IO_LENT | IO_LAST : IO_LENT;
	f->wr.data = f->rd.data;
	f->wr.len = len;
	n = io_start(flow_loop(f), &f->wr);
	if (n == IO_PENDING)
		return keep_rest(f, 0) == STEP_GO ? flow_watch_src(f) : STEP_WAIT;
	if (n == -EAGAIN)
		return keep_rest(f, 0);
	if (n < 0)
		return flow_dst_failed(f, n);
	if ((uint32_t)n < len && keep_rest(f, (uint32_t)n) == STEP_WAIT)
		return STEP_WAIT;
	return flow_after_write(f, (uint32_t)n);
}

enum step flow_on_read(struct flow *f, int n)
{
	check(flow_held(f) == 0);
	check(n <= (int)IO_SCRATCH_BYTES);
	if (n <= 0)
		return flow_src_ended(f, n);
	flow_count_in(f, (uint32_t)n, false);
	note_copied(f, (uint32_t)n);
	return forward_lent(f, (uint32_t)n);
}

static enum step fill_by_copy(struct flow *f)
{
	int n;

	check(f->pipe == NULL); /* it would be held during the wait */
	f->rd.kind = IO_READ;
	f->rd.max = IO_SCRATCH_BYTES;
	n = io_start(flow_loop(f), &f->rd);
	if (n == IO_PENDING) {
		note_wake_end(f);
		return STEP_WAIT;
	}
	return flow_on_read(f, n);
}

/* A bulk source has nothing now: no pipe is held while waiting for it. */
static enum step wait_for_src(struct flow *f)
{
	int r;

	check(flow_held(f) == 0); /* a pipe's bytes would be lost with it */
	flow_drop_pipe(f);
	f->rd.kind = IO_READY;
	f->rd.want = IO_WANT_IN;
	r = io_start(flow_loop(f), &f->rd);
	if (r != IO_PENDING)
		return STEP_GO;
	note_wake_end(f);
	return STEP_WAIT;
}

/* Splices into the pipe, which is empty (R3). */
static enum step fill_pipe(struct flow *f)
{
	struct pipe *p = f->pipe;
	int n;

	check(p->bytes == 0);
	check(p->cap > 0);
	f->rd.kind = IO_SPLICE_IN;
	f->rd.pipe = p;
	f->rd.max = p->cap;
	n = io_start(flow_loop(f), &f->rd);
	if (n > 0) {
		check((uint32_t)n <= p->cap);
		p->bytes = (uint32_t)n;
		flow_count_in(f, (uint32_t)n, true);
		return STEP_GO;
	}
	if (n == 0)
		return flow_src_ended(f, 0);
	if (n == -EAGAIN)
		return wait_for_src(f);
	note_unspliced(f, n);
	flow_drop_pipe(f);
	return fill_by_copy(f);
}

enum step flow_fill(struct flow *f)
{
	struct worker *w = flow_worker(f);

	check(f->state == FLOW_OPEN);
	check(flow_held(f) == 0);
	check(!io_is_pending(&f->wr)); /* only held bytes have a pending write */
	if (!flow_is_bulk(f)) {
		if (unlikely(f->pipe != NULL)) /* `splice` has just been turned off */
			flow_drop_pipe(f);
		return fill_by_copy(f);
	}
	if (f->pipe == NULL)
		f->pipe = pipe_get(&w->loop.pipes);
	if (f->pipe != NULL)
		return fill_pipe(f);
	/* No pipe is available: copy, and try again at the next fill. */
	counter_add(&w->counters.pipes_missing, 1);
	return fill_by_copy(f);
}

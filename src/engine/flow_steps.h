/* SPDX-License-Identifier: MIT
 *
 * flow_steps.h - what flow.c, flow_read.c and flow_write.c share; no other file includes it.
 *
 * A worker's thread.
 */
#ifndef WEIR_ENGINE_FLOW_STEPS_H
#define WEIR_ENGINE_FLOW_STEPS_H

#include "flow.h"
#include "session.h"
#include "worker.h"

/* The outcome of one step of a flow. */
enum step {
	STEP_GO,   /* something moved or changed: take the next step */
	STEP_WAIT, /* an op is pending, or nothing is left to do: stop */
};

static inline struct worker *flow_worker(struct flow *f)
{
	return flow_session(f)->worker;
}

static inline struct io_loop *flow_loop(struct flow *f)
{
	return &flow_session(f)->worker->loop;
}

static inline struct side *flow_src(struct flow *f)
{
	return &flow_session(f)->sides[f->dir == FLOW_TO_SERVER ? SIDE_CLIENT : SIDE_SERVER];
}

static inline struct side *flow_dst(struct flow *f)
{
	return &flow_session(f)->sides[f->dir == FLOW_TO_SERVER ? SIDE_SERVER : SIDE_CLIENT];
}

static inline enum side_name flow_src_name(const struct flow *f)
{
	return f->dir == FLOW_TO_SERVER ? SIDE_CLIENT : SIDE_SERVER;
}

static inline enum side_name flow_dst_name(const struct flow *f)
{
	return f->dir == FLOW_TO_SERVER ? SIDE_SERVER : SIDE_CLIENT;
}

/* flow.c: count bytes taken from the source, and bytes given to the destination. */
void flow_count_in(struct flow *f, uint32_t n, bool spliced);
void flow_count_out(struct flow *f, uint32_t n);
/* Returns the pipe; the pool closes one with bytes in it (R11). */
void flow_drop_pipe(struct flow *f);
/* The source has ended, with nothing held: 0 = end of file, else a negative errno. */
enum step flow_src_ended(struct flow *f, int err);
/* The destination is gone. */
enum step flow_dst_failed(struct flow *f, int err);
/* Nothing reads the source now, but a reset of it must still be seen. */
enum step flow_watch_src(struct flow *f);

/* flow_read.c: does the flow go through a pipe? */
bool flow_is_bulk(struct flow *f);
/* One read or splice from the source, depending on whether the flow is bulk; nothing may be held. */
enum step flow_fill(struct flow *f);
/* The result of an IO_READ: bytes are lent, or the source has ended. */
enum step flow_on_read(struct flow *f, int n);

/* flow_write.c: sets what the destination still needs before a write of any kind. */
void flow_before_write(struct flow *f);
/* One write of what is held. */
enum step flow_drain(struct flow *f);
/* The result of an IO_WRITE of f->buf. */
enum step flow_on_written(struct flow *f, int n);
/* `n` bytes went out, by whichever way. */
enum step flow_after_write(struct flow *f, uint32_t n);

#endif

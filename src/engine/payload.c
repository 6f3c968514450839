/* SPDX-License-Identifier: MIT
 *
 * payload.c - which bytes of a session count as its client's.
 *
 * A worker's thread.
 */
#include "payload.h"

#include "extra.h"
#include "session.h"

uint64_t payload_to_server(const struct session *s)
{
	const uint64_t sent = s->flows[FLOW_TO_SERVER].bytes_out;
	const uint32_t ours = s->extra != NULL ? s->extra->header_sent : 0;

	return sent > ours ? sent - ours : 0;
}

/* Not what is still in the pipe; and never more than has left, as a flow that dies loses what it holds. */
static uint64_t spliced_by(const struct flow *f)
{
	const uint64_t in_pipe = f->pipe != NULL ? f->pipe->bytes : 0;
	const uint64_t spliced = f->bytes_spliced > in_pipe ? f->bytes_spliced - in_pipe : 0;

	return spliced < f->bytes_out ? spliced : f->bytes_out;
}

uint64_t payload_spliced(const struct session *s)
{
	return spliced_by(&s->flows[FLOW_TO_SERVER]) + spliced_by(&s->flows[FLOW_TO_CLIENT]);
}

/* SPDX-License-Identifier: MIT
 *
 * flow.h - one direction of a session: reads a source, holds what the destination refused, writes.
 *
 * Owns its hold (a pipe, a buffer, or both while a pipe is emptied into a buffer) and its two ops; borrows
 * both sockets from the session. A worker's thread.
 */
#ifndef WEIR_ENGINE_FLOW_H
#define WEIR_ENGINE_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/account/session_state.h"
#include "weir/io/io.h"

/* A flow becomes bulk with one read of at least AT_ONCE_BYTES, as more will follow it, or with ENTER_TIMES
 * reads in a row of at least ENTER_BYTES. LEAVE_TIMES wake-ups in a row with fewer than LEAVE_BYTES end it.
 * Copying wins below 4 to 8 KiB per wake-up, splice above 16 KiB: since Linux 6.5 spliced bytes leave as
 * fragments of 4 KiB. */
#define FLOW_BULK_AT_ONCE_BYTES 32768u
#define FLOW_BULK_ENTER_BYTES 16384u
#define FLOW_BULK_ENTER_TIMES 3u
#define FLOW_BULK_LEAVE_BYTES 8192u
#define FLOW_BULK_LEAVE_TIMES 3u
/* Per wake-up a flow moves at most this much, in at most this many rounds, before the next bulk flow has its
 * turn. A bulk flow never moves while events wait: it yields, and each turn of the loop gives IO_SHARE_BYTES
 * to the flows that yielded. So small messages go first, and a source is still emptied to its end: eight
 * streams that took turns of 1 MiB cost a third more CPU per byte. */
#define FLOW_BUDGET_BYTES (8u * 1024 * 1024)
#define FLOW_BUDGET_ROUNDS 16u
/* A value of `bulk` in struct flow: the source cannot be spliced at all. */
#define FLOW_NEVER_BULK UINT8_MAX

struct session;

/* Each phase of a session sets `done` of the ops that it starts, and takes over the ops still pending from
 * the phase before: preface.c, connect.c, flow_open(), flow_kill() and finally session_close(). */
struct flow {
	struct io_op rd;    /* on the source */
	struct io_op wr;    /* on the destination */
	struct pipe *pipe;  /* owns; NULL unless it holds bytes or is being filled */
	struct buf *buf;    /* owns; NULL unless it holds bytes, which go before those of the pipe */
	uint64_t bytes_in;  /* always == bytes_out + what pipe and buf hold */
	uint64_t bytes_out;
	uint64_t bytes_spliced; /* part of bytes_in */
	uint32_t wake_bytes;    /* moved since the last wait */
	uint8_t state;          /* enum flow_state */
	uint8_t dir;            /* enum flow_dir */
	uint8_t bulk;           /* 0 = copying; else bulk, 1 + wake-ups in a row that moved little */
	uint8_t big_reads;      /* large reads in a row, while copying */
};

/* Prepares a flow of a new session. Its ops have no callback yet. */
void flow_init(struct flow *f, enum flow_dir dir);
/* Moves what can be moved until it must wait, yields or ends. The session may be closing afterwards, never
 * freed. */
void flow_run(struct flow *f);
/* The flow to the server has had its first chance to send. If it had nothing to send, the ACK of the server's
 * handshake goes out by itself. Does nothing the second time, or while that chance is still to come. */
void flow_ack_server(struct session *s);
/* Starts the flow: the session is connected. A watch of its source may still be pending. */
void flow_open(struct flow *f);
/* The source is known to be reset. An open flow goes on and reads what is left of it; one whose FIN was being
 * passed on, which nothing would end any more, counts as delivered. */
void flow_source_failed(struct flow *f);
/* Ends all movement: drops the hold (a pipe with bytes is closed) and cancels the ops. */
void flow_kill(struct flow *f);
/* Makes a buffer the flow's hold, in place of the one it has; `more` of its bytes are new. For bytes that go
 * before all others: the flow must not have moved any. */
void flow_hold(struct flow *f, struct buf *b, uint32_t more);
/* Takes the hold back, before the flow has moved anything: the caller owns it. NULL = there is none. */
struct buf *flow_unhold(struct flow *f);
/* Returns the buffer, whatever it contains. */
void flow_drop_buf(struct flow *f);
/* Number of bytes held. */
static inline uint32_t flow_held(const struct flow *f)
{
	return (f->pipe ? f->pipe->bytes : 0) + (f->buf ? f->buf->len : 0);
}
/* Is the flow waiting for its destination? */
static inline bool flow_is_blocked(const struct flow *f)
{
	return io_is_pending(&f->wr) && (f->wr.kind == IO_WRITE || f->wr.kind == IO_READY);
}

#endif

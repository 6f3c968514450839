/* SPDX-License-Identifier: MIT
 *
 * io.h - the seam between the engine and the kernel: sockets, ops, drivers, one loop a worker.
 *
 * The contract, which tests/unit/io/test_contract.c holds every driver to:
 *
 *  1. io_start(op) tries at once. It returns the result (>= 0 or -errno), or IO_PENDING and then
 *     op->done(op, result) comes once, later. A read names no memory: its result lends
 *     op->data, op->len until the callback (or the caller of io_start) returns, and
 *     io_buf_keep() keeps what the destination refused. Memory that a write names belongs to
 *     the driver while the write is pending. A write of lent bytes that comes back IO_PENDING
 *     needs io_buf_keep() of those bytes at once, and its memory does not move by that; a driver
 *     whose keep can fail answers -EAGAIN instead.
 *  2. A single op completes exactly once, also when cancelled (-ECANCELED, or its real result
 *     when that was already on its way). A stream op (accept) gives any number of results and
 *     exactly one last: a negative one.
 *  3. Callbacks come only from io_loop_turn(), never from inside io_start() or io_cancel().
 *  4. A descriptor is closed only when no op on it is pending; the kernel hears of it when the loop
 *     waits next, at the latest.
 *  5. An op belongs to one thread: the one that turns its loop.
 *
 * Each socket has two places for ops, `rd` and `wr`, with at most one op pending in each.
 */
#ifndef WEIR_IO_IO_H
#define WEIR_IO_IO_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/base/clock.h"
#include "weir/io/buf_pool.h"
#include "weir/io/pipe_pool.h"
#include "weir/io/timer.h"
#include "weir/net/addr.h"

/* Not a result: op->done() will bring one. */
#define IO_PENDING INT_MIN
/* Both splice ops answer -EAGAIN when nothing can move now. The flow then waits by IO_READY. */
/* Result of IO_SPLICE_IN: splice cannot tell what comes next (an urgent mark, a byte that it will
 * not move, a zero that nobody announced); one IO_READ decides. */
#define IO_COPY (INT_MIN + 1)
/* Result of either splice op: this descriptor cannot be spliced, now or ever (R17). */
#define IO_UNSPLICEABLE (INT_MIN + 2)
/* Result of an IO_ACCEPT stream, not its last: nobody waits any more, or the batch is full. */
#define IO_DRAINED (INT_MIN + 3)
/* So many accepts at the most for each wake-up. */
#define IO_ACCEPT_BATCH 64
/* When a turn of the loop has moved so much, those who yielded wait for the next: a small message is late
 * by at most the time that this takes. */
#define IO_SHARE_BYTES (512 * 1024)
/* A turn that takes so long was interrupted by a pause of the process. */
#define IO_PAUSE_NS (50 * NS_PER_MS)
/* Nearer deadlines, of connects and retries, come and go: the wait itself is so long. */
#define IO_FAR_NS (10 * NS_PER_SEC)
/* A deadline for the driver's wait: none, and all that has arrived is brought. A wait may bring less else. */
#define IO_ALL_NOW INT64_MIN
/* So many events at the most for each wait. */
#define IO_EVENTS 256

/* One call moves at most so much: memory of the copy path, and the longest lent piece. */
#define IO_SCRATCH_BYTES BUF_MAX

enum io_kind {
	IO_NONE,
	IO_ACCEPT,     /* rd, stream: result is a descriptor; loop->peer says whose. op->admit is asked
	                * before each accept; when it says no, the driver stops asking until the
	                * engine cancels or one more event comes. IO_DRAINED ends each batch. */
	IO_CONNECT,    /* wr: op->addr; 0 or -errno */
	IO_READ,       /* rd: at most op->max bytes; lends op->data, op->len; 0 = end of file */
	IO_WRITE,      /* wr: op->data, op->len; bytes written, maybe fewer. With IO_LENT the bytes
	                * are lent by a read, and -EAGAIN means: keep them and start again */
	IO_SPLICE_IN,  /* rd, never pending: socket to op->pipe, at most op->max bytes. The pipe must be
	                * empty, so that -EAGAIN never speaks of a full one (R3). Standing at an
	                * urgent mark splice hands out the error of a reset although bytes lie behind
	                * the mark: after -errno, IO_READ until the end */
	IO_SPLICE_OUT, /* wr, never pending: op->pipe to socket, op->max = all that is in it */
	IO_READY,      /* pending until one of op->want is seen; result is what was seen. On rd, or
	                * on wr with IO_WANT_OUT, which stands alone */
	IO_SHUTDOWN,   /* wr: shutdown(SHUT_WR): FIN behind all that was written */
	IO_RESET,      /* wr: close with RST; with IO_DRAIN only when all written bytes are acknowledged */
	IO_CLOSE,      /* wr: close; FIN unless one was sent */
};

/* What IO_READY waits for, and tells. */
#define IO_WANT_IN 1   /* bytes, end of file or an error can be read */
#define IO_WANT_ERR 2  /* the socket is in error (RST and its like) */
#define IO_WANT_END 4  /* the peer sent FIN */
#define IO_WANT_OUT 8  /* a write may move something, or fail */

/* Flags of an op. */
#define IO_DRAIN 1 /* IO_RESET: deliver, then reset */
#define IO_LENT 2  /* IO_WRITE: the bytes are those of a read that was not kept */
#define IO_LAST 4  /* IO_WRITE: IO_SHUTDOWN or IO_CLOSE follows at once; the bytes may wait for it, so that
		    * they and the FIN are one packet */

/* What is known of a socket; the driver writes it, the engine may read it. */
#define IO_READABLE 0x01 /* a read may give something */
#define IO_WRITABLE 0x02
#define IO_RDHUP 0x04 /* the peer's FIN has been announced */
#define IO_HUP 0x08
#define IO_ERR 0x10 /* EPOLLERR, or an error result of any call: never cleared */
#define IO_PRI 0x20 /* an urgent mark waits */
#define IO_TCP 0x40 /* not a Unix socket */
#define IO_FRESH 0x80 /* an event announced bytes, and no splice has moved any since */
#define IO_ENDED 0x100 /* the end of file is known: the next read says 0 without asking */

#define IO_POLLED 0x200  /* the io_uring driver's own: its epoll set has the socket */
#define IO_UNASKED 0x400 /* the same: nothing has been read yet, and something may be there */

struct io_op;
struct io_loop;

struct io_sock {
	int fd;           /* owns; -1 when none */
	uint16_t gen;     /* counts uses of this memory: a stale event shows by it. Never 0 in use */
	uint16_t bits;    /* IO_READABLE ... */
	struct io_op *rd; /* borrows while pending */
	struct io_op *wr; /* borrows while pending */
};

struct io_op {
	void (*done)(struct io_op *op, int result);
	struct io_sock *sock; /* borrows while pending */
	struct io_op *next;   /* in a loop's queue; while it waits, the driver's */
	union {
		struct io_op *prev; /* IO_READY: the driver's */
		const uint8_t *data;     /* IO_READ out, IO_WRITE in */
		struct pipe *pipe;       /* IO_SPLICE_IN, IO_SPLICE_OUT: borrows */
		const struct addr *addr; /* IO_CONNECT: borrows while pending */
		bool (*admit)(struct io_op *op); /* IO_ACCEPT in: asked before each accept */
	};
	uint32_t len; /* IO_READ out, IO_WRITE in; of IO_ACCEPT the driver's */
	uint32_t max; /* IO_READ, IO_SPLICE_*: upper bound in bytes, > 0; of IO_ACCEPT the driver's */
	int32_t result; /* while it waits, the driver's */
	uint8_t kind; /* enum io_kind */
	uint8_t state;
	uint8_t flags;
	uint8_t want; /* IO_READY */
};

/* Where an op that yields stands among the others. */
enum io_turn { IO_TURN_FIRST, IO_TURN_LAST };

enum io_state { IO_IDLE, IO_WAITING, IO_QUEUED };

/* A driver: how to wait and how to do. tests/sim has one more, for tests. */
struct io_driver {
	const char *name;
	uint64_t borrows_bytes; /* of the pool, for each loop, from its first turn on until it rests */
	int (*open)(struct io_loop *loop); /* may use loop->wake_fd */
	void (*close)(struct io_loop *loop);
	/* Makes an accepted descriptor known. 0 or -errno; the caller still owns `fd` on error. */
	int (*attach)(struct io_loop *loop, struct io_sock *sock);
	int (*start)(struct io_loop *loop, struct io_op *op);
	void (*cancel)(struct io_loop *loop, struct io_op *op);
	/* Called before a cancelled IO_ACCEPT gets its last result: who waits already is accepted,
	 * so that no wake-up meant for another worker is swallowed. NULL = not needed. */
	void (*last)(struct io_loop *loop, struct io_op *op);
	/* No wait follows: gives back what it borrowed from the pools. NULL = nothing. */
	void (*rest)(struct io_loop *loop);
	/* Waits at most until `deadline_ns` and brings results. */
	void (*wait)(struct io_loop *loop, int64_t deadline_ns);
	struct buf *(*keep)(struct io_loop *loop, struct io_op *op, uint32_t from);
	/* Within loop->lost(): see io_forget(). NULL = it never calls that. */
	void (*forget)(struct io_loop *loop, struct io_sock *sock);
};

struct io_queue {
	struct io_op *head;
	struct io_op *tail;
};

struct io_loop {
	const struct io_driver *driver;
	void *driver_state; /* the driver owns it */
	int64_t now_ns;     /* of this turn */
	int64_t pause_began_ns; /* of the last turn with a pause in it: its time, and when it ended */
	int64_t pause_ended_ns;
	const struct addr *peer; /* of the accept that is being delivered; lent until done() returns */
	struct timer_heap timers;
	struct io_queue done;  /* completions that wait for dispatch */
	struct io_queue yield; /* ops that asked for a turn */
	int64_t share;         /* bytes that this turn may still move for those */
	struct buf_cache bufs;
	struct pipe_cache pipes;
	void (*woken)(struct io_loop *loop); /* io_loop_wake() was called; NULL = ignore */
	/* The kernel has dropped results of pending ops, and nobody knows what they moved: the owner of each
	 * socket calls io_forget(). Called in the dispatch phase; needed where the driver has forget(). */
	void (*lost)(struct io_loop *loop);
	int64_t far_ns; /* a deadline at least so far away is left to an alarm, where the driver has one */
	bool is_down; /* the driver can start nothing for now; `woken` is called when it can again */
	int wake_fd;                         /* owns: an eventfd that the driver watches */
	uint32_t pending; /* ops that are pending: 0 at rest but for the standing ones */
	uint64_t turns;
	uint64_t events; /* that the driver has brought */
	uint64_t stale_events; /* events for a socket that was gone: dropped */
};

/* Prepares a loop; the pools' caches are the caller's to initialise. 0 or -errno. */
int io_loop_init(struct io_loop *loop, const struct io_driver *driver);
/* The loop turns no more, and nothing is pending: before the caches of the pools are freed. */
void io_loop_rest(struct io_loop *loop);
/* Ends a loop on which nothing is pending. */
void io_loop_free(struct io_loop *loop);
/* Makes the loop's wait return and `woken` be called. Any thread. */
void io_loop_wake(struct io_loop *loop);
/* One turn: wait, dispatch, timers, completions. Worker thread. */
void io_loop_turn(struct io_loop *loop);

/* Gives a socket its descriptor: `fd` becomes the socket's. `tcp` false means Unix. */
void io_sock_init(struct io_sock *sock, int fd, bool tcp);
/* For a descriptor that was accepted elsewhere: the driver watches it from now on. 0 or -errno. */
int io_attach(struct io_loop *loop, struct io_sock *sock);

/* Prepares an op; op->kind and its arguments are set before each io_start(), `done` by then at the latest. */
void io_op_init(struct io_op *op, struct io_sock *sock, void (*done)(struct io_op *op, int result));
int io_start(struct io_loop *loop, struct io_op *op);
/* Within loop->lost(), once for each socket of the loop: the ops of `sock` that were in the kernel's hands
 * come back with -ECANCELED, within this call; an IO_ACCEPT goes on as if nothing had happened. */
void io_forget(struct io_loop *loop, struct io_sock *sock);
/* Asks for the end of a pending op; done() still comes, once. Harmless when idle or queued. */
void io_cancel(struct io_loop *loop, struct io_op *op);
/* Completes `op` (which must be idle) with 0 when its turn has come: at the end of this turn of the
 * loop, or of a later one when the share of this one is used up; no wait is long meanwhile. */
void io_yield(struct io_loop *loop, struct io_op *op, enum io_turn where);
/* The latest that something can have happened which bears the time `stamp_ns` of a turn: later than that when
 * the process was paused within the turn. For who is about to end something for want of life. */
static inline int64_t io_late_ns(const struct io_loop *loop, int64_t stamp_ns)
{
	return stamp_ns == loop->pause_began_ns ? loop->pause_ended_ns : stamp_ns;
}
/* So many bytes were moved in this turn of the loop. */
static inline void io_share_spend(struct io_loop *loop, uint32_t bytes)
{
	loop->share -= bytes;
}
/* Has this turn moved so much that those who yielded should wait for the next? */
static inline bool io_share_used(const struct io_loop *loop)
{
	return loop->share <= 0;
}

static inline bool io_is_pending(const struct io_op *op)
{
	return op->state != IO_IDLE;
}

/* Keeps the bytes from `from` of what a read lent: the caller owns the buffer, whose `off` and
 * `len` say where they are. NULL when there is none to be had. */
struct buf *io_buf_keep(struct io_loop *loop, struct io_op *read, uint32_t from);

/* For drivers: the op has its result; done() comes in the dispatch phase. */
void io_complete(struct io_loop *loop, struct io_op *op, int result);

/* Bytes that the peer sent and nobody has read yet; 0 when that cannot be told. */
uint32_t io_unread(const struct io_sock *sock);
/* Bytes that were written and that the peer has not acknowledged (Unix: not read) yet. */
uint32_t io_unacked(const struct io_sock *sock);
/* Moves bytes from a pipe to the end of a buffer, for a destination that cannot be spliced to (R17).
 * Returns how many, or -errno. */
int io_pipe_read(struct pipe *p, struct buf *b);

extern const struct io_driver io_epoll_driver;

#endif

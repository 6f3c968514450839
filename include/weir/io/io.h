/* SPDX-License-Identifier: MIT
 *
 * io.h - the seam between the engine and the kernel: sockets, ops, drivers, one loop per worker.
 *
 * The contract, which tests/unit/io/test_contract.c checks for every driver:
 *
 *  1. io_start(op) tries at once. It returns the result (>= 0 or -errno), or IO_PENDING, and then
 *     op->done(op, result) is called once, later. A read names no memory: its result lends op->data, op->len
 *     until the callback (or the caller of io_start) returns, and io_buf_keep() keeps bytes that the
 *     destination refused. The memory of a write belongs to the driver while the write is pending. After a
 *     write of lent bytes returns IO_PENDING, io_buf_keep() must be called for those bytes at once; it does
 *     not move them. A driver whose keep can fail returns -EAGAIN instead.
 *  2. A single op completes exactly once, even when cancelled (with -ECANCELED, or with its real result if
 *     that was already on its way). A stream op (accept) gives any number of results, and exactly one last
 *     result, which is negative.
 *  3. Callbacks come only from io_loop_turn(), never from inside io_start() or io_cancel().
 *  4. A descriptor is closed only when no op on it is pending; the kernel receives the close by the loop's
 *     next wait at the latest.
 *  5. An op belongs to one thread: the one that runs its loop.
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

/* Not a result: op->done() will deliver one. */
#define IO_PENDING INT_MIN
/* Both splice ops return -EAGAIN when nothing can move now. The flow then waits with IO_READY. */
/* Result of IO_SPLICE_IN: splice cannot tell what comes next (an urgent mark, a byte that it will not move,
 * an unannounced zero); one IO_READ decides. */
#define IO_COPY (INT_MIN + 1)
/* Result of either splice op: this descriptor can never be spliced (R17). */
#define IO_UNSPLICEABLE (INT_MIN + 2)
/* Result of an IO_ACCEPT stream, not its last: the backlog is empty, or the batch is full. */
#define IO_BATCH_END (INT_MIN + 3)
/* Maximum accepts per wake-up. */
#define IO_ACCEPT_BATCH 64
/* Once a turn of the loop has moved this many bytes, ops that yielded wait for the next turn: a small message
 * is delayed by at most the time that this takes. */
#define IO_SHARE_BYTES (512 * 1024)
/* A turn that takes this long means that the process was suspended or starved of CPU. */
#define IO_PAUSE_NS (50 * NS_PER_MS)
/* Deadlines nearer than this, those of connects and retries, change too often for the alarm: they limit the
 * wait itself. */
#define IO_FAR_NS (10 * NS_PER_SEC)
/* A deadline for the driver's wait: do not wait, and deliver everything that has arrived. Any other wait may
 * deliver less. */
#define IO_ALL_NOW INT64_MIN
/* Maximum events per wait. */
#define IO_EVENTS 256

/* Maximum bytes per call: the memory of the copy path, and the longest lent piece. */
#define IO_SCRATCH_BYTES BUF_MAX

enum io_kind {
	IO_NONE,
	IO_ACCEPT,     /* rd, stream: the result is a descriptor; loop->peer is its peer. op->admit is called
	                * before each accept; once it returns false, the driver stops calling it until the
	                * engine cancels or another event arrives. IO_BATCH_END ends each batch. */
	IO_CONNECT,    /* wr: op->addr; 0 or -errno */
	IO_READ,       /* rd: at most op->max bytes; lends op->data, op->len; 0 = end of file */
	IO_WRITE,      /* wr: op->data, op->len; bytes written, possibly fewer. With IO_LENT the bytes are
	                * lent by a read, and -EAGAIN means: keep them and start again */
	IO_SPLICE_IN,  /* rd, never pending: socket to op->pipe, at most op->max bytes. The pipe must be
	                * empty, so that -EAGAIN never means a full one (R3). At an urgent mark splice returns
	                * the error of a reset although bytes follow the mark: after -errno, IO_READ until the
	                * end */
	IO_SPLICE_OUT, /* wr, never pending: op->pipe to socket, op->max = its exact content */
	IO_READY,      /* pending until one of op->want is seen; the result is what was seen. On rd; on wr
	                * with IO_WANT_OUT, which is used alone */
	IO_SHUTDOWN,   /* wr: shutdown(SHUT_WR): FIN after everything written */
	IO_RESET,      /* wr: close with RST; with IO_FLUSH only once all written bytes are acknowledged */
	IO_CLOSE,      /* wr: close; FIN unless one was sent */
};

/* What IO_READY waits for and reports. */
#define IO_WANT_IN 1   /* bytes, an end of file or an error can be read */
#define IO_WANT_ERR 2  /* the socket is in error (RST and its like) */
#define IO_WANT_END 4  /* the peer sent FIN */
#define IO_WANT_OUT 8  /* a write may move something, or fail */

/* Flags of an op. */
#define IO_FLUSH 1 /* IO_RESET: deliver, then reset */
#define IO_LENT 2  /* IO_WRITE: the bytes are those of a read that was not kept */
#define IO_LAST 4  /* IO_WRITE: IO_SHUTDOWN or IO_CLOSE follows at once; the bytes may wait for it, so that
		    * they and the FIN share one packet */

/* What is known about a socket; the driver writes it, the engine may read it. */
#define IO_READABLE 0x01 /* a read may return something */
#define IO_WRITABLE 0x02
#define IO_RDHUP 0x04 /* the peer's FIN has been announced */
#define IO_HUP 0x08
#define IO_ERR 0x10 /* EPOLLERR, or an error result of any call: never cleared */
#define IO_PRI 0x20 /* an urgent mark is pending */
#define IO_TCP 0x40 /* not a Unix socket */
#define IO_FRESH 0x80 /* an event announced bytes, and no splice has moved any since */
#define IO_ENDED 0x100 /* the end of file is known: the next read returns 0 without a call */

#define IO_POLLED 0x200  /* private to the io_uring driver: its epoll set holds the socket */
#define IO_UNASKED 0x400 /* likewise: nothing has been read yet, and something may be there */

struct io_op;
struct io_loop;

struct io_sock {
	int fd;           /* owns; -1 when none */
	uint16_t gen;     /* counts uses of this memory, to detect stale events. Never 0 in use */
	uint16_t bits;    /* IO_READABLE ... */
	struct io_op *rd; /* borrows while pending */
	struct io_op *wr; /* borrows while pending */
};

struct io_op {
	void (*done)(struct io_op *op, int result);
	struct io_sock *sock; /* borrows while pending */
	struct io_op *next;   /* in a loop's queue; for the driver while the op waits */
	union {
		struct io_op *prev; /* IO_READY: for the driver */
		const uint8_t *data;     /* IO_READ out, IO_WRITE in */
		struct pipe *pipe;       /* IO_SPLICE_IN, IO_SPLICE_OUT: borrows */
		const struct addr *addr; /* IO_CONNECT: borrows while pending */
		bool (*admit)(struct io_op *op); /* IO_ACCEPT in: called before each accept */
	};
	uint32_t len; /* IO_READ out, IO_WRITE in; IO_ACCEPT: for the driver */
	uint32_t max; /* IO_READ, IO_SPLICE_*: upper bound in bytes, > 0; IO_ACCEPT: for the driver */
	int32_t result; /* for the driver while the op waits */
	uint8_t kind; /* enum io_kind */
	uint8_t state;
	uint8_t flags;
	uint8_t want; /* IO_READY */
};

/* Where an op that yields is queued among the others. */
enum io_turn { IO_TURN_FIRST, IO_TURN_LAST };

enum io_state { IO_STATE_IDLE, IO_STATE_WAITING, IO_STATE_QUEUED };

/* A driver: how to wait and how to run ops. tests/sim has another one, for tests. */
struct io_driver {
	const char *name;
	uint64_t borrows_bytes; /* from the pool, per loop, from its first turn until release() */
	int (*open)(struct io_loop *loop); /* may use loop->wake_fd */
	void (*close)(struct io_loop *loop);
	/* Registers an accepted descriptor. 0 or -errno; the caller still owns `fd` on error. */
	int (*attach)(struct io_loop *loop, struct io_sock *sock);
	int (*start)(struct io_loop *loop, struct io_op *op);
	void (*cancel)(struct io_loop *loop, struct io_op *op);
	/* Called before a cancelled IO_ACCEPT gets its last result: clients already queued are accepted, so
	 * that no wake-up meant for another worker is lost. 0, or the -errno that left some in the queue,
	 * which is then the result. NULL = not needed. */
	int (*last)(struct io_loop *loop, struct io_op *op);
	/* No wait follows: returns what it borrowed from the pools. NULL = nothing. */
	void (*release)(struct io_loop *loop);
	/* Waits until `deadline_ns` at most and delivers results. */
	void (*wait)(struct io_loop *loop, int64_t deadline_ns);
	struct buf *(*keep)(struct io_loop *loop, struct io_op *op, uint32_t from);
	/* Called within loop->lost(): see io_forget(). NULL = the driver never calls lost(). */
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
	int64_t pause_began_ns; /* the last turn that took IO_PAUSE_NS: its time stamp, and its end */
	int64_t pause_ended_ns;
	const struct addr *peer; /* of the accept being delivered; lent until done() returns */
	struct timer_heap timers;
	struct io_queue done;  /* completions awaiting dispatch */
	struct io_queue yield; /* ops that yielded and wait for a turn */
	int64_t share;         /* bytes that this turn may still move for `yield` */
	struct buf_cache bufs;
	struct pipe_cache pipes;
	void (*woken)(struct io_loop *loop); /* io_loop_wake() was called; NULL = ignore */
	/* The kernel has dropped results of pending ops, and what they moved is unknown: the owner of each
	 * socket must call io_forget(). Called in the dispatch phase; required if the driver has forget(). */
	void (*lost)(struct io_loop *loop);
	int64_t far_ns; /* deadlines at least this far away are left to the driver's alarm, if it has one */
	bool is_down; /* the driver can start nothing for now; it calls `woken` when it can */
	int wake_fd;                         /* owns: an eventfd that the driver watches */
	uint32_t pending; /* pending ops; on an idle loop only the permanent ones */
	uint64_t turns;
	uint64_t timer_runs;   /* turns in which a timer was due */
	uint64_t timer_lag_ns; /* by which the first of these was late, in all; and the longest of them */
	uint64_t timer_lag_max_ns;
	uint64_t events; /* that the driver has delivered */
	uint64_t stale_events; /* events dropped because their socket was gone */
};

/* Prepares a loop; the caller initialises the pools' caches. 0 or -errno. */
int io_loop_init(struct io_loop *loop, const struct io_driver *driver);
/* Call when the loop has made its last turn and nothing is pending, before the pools' caches are freed. */
void io_loop_release(struct io_loop *loop);
/* Frees a loop on which nothing is pending. */
void io_loop_free(struct io_loop *loop);
/* Makes the loop's wait return and `woken` be called. Any thread. */
void io_loop_wake(struct io_loop *loop);
/* One turn: wait, dispatch, timers, completions. Worker thread. */
void io_loop_turn(struct io_loop *loop);

/* Initialises a socket, which takes ownership of `fd`. `tcp` false means Unix. */
void io_sock_init(struct io_sock *sock, int fd, bool tcp);
/* For a descriptor accepted elsewhere: the driver watches it from now on. 0 or -errno. */
int io_attach(struct io_loop *loop, struct io_sock *sock);

/* Prepares an op. Set op->kind and its arguments before each io_start(), and `done` by then at the latest. */
void io_op_init(struct io_op *op, struct io_sock *sock, void (*done)(struct io_op *op, int result));
int io_start(struct io_loop *loop, struct io_op *op);
/* Within loop->lost(), once for each socket of the loop: the ops of `sock` that the kernel held complete with
 * -ECANCELED, within this call; an IO_ACCEPT continues as if nothing had happened. */
void io_forget(struct io_loop *loop, struct io_sock *sock);
/* Cancels a pending op; done() is still called, once. Harmless when idle or queued. */
void io_cancel(struct io_loop *loop, struct io_op *op);
/* Completes `op` (which must be idle) with 0 when it is due: at the end of this turn of the loop, or of a
 * later one if this turn's share is used up. Until then every wait is short. */
void io_yield(struct io_loop *loop, struct io_op *op, enum io_turn where);
/* The latest time at which something stamped with the turn's time `stamp_ns` can have happened: later than
 * `stamp_ns` if the process was suspended within that turn. For callers about to end something because it was
 * idle. */
static inline int64_t io_late_ns(const struct io_loop *loop, int64_t stamp_ns)
{
	return stamp_ns == loop->pause_began_ns ? loop->pause_ended_ns : stamp_ns;
}
/* Records that `bytes` were moved in this turn of the loop. */
static inline void io_share_spend(struct io_loop *loop, uint32_t bytes)
{
	loop->share -= bytes;
}
/* Has this turn moved so much that ops that yielded should wait for the next? */
static inline bool io_share_used(const struct io_loop *loop)
{
	return loop->share <= 0;
}

static inline bool io_is_pending(const struct io_op *op)
{
	return op->state != IO_STATE_IDLE;
}

/* Keeps the bytes from `from` on that a read lent: the caller owns the returned buffer, whose `off` and `len`
 * give their place. NULL when no buffer is available. */
struct buf *io_buf_keep(struct io_loop *loop, struct io_op *read, uint32_t from);

/* For drivers: sets the op's result; done() is called in the dispatch phase. */
void io_complete(struct io_loop *loop, struct io_op *op, int result);

/* Bytes received and not yet read; 0 when unknown. */
uint32_t io_unread(const struct io_sock *sock);
/* Bytes written that the peer has not yet acknowledged (Unix: not read). */
uint32_t io_unacked(const struct io_sock *sock);
/* Moves bytes from a pipe to the end of a buffer, for a destination that cannot be spliced to (R17).
 * Returns the number of bytes moved, or -errno. */
int io_pipe_read(struct pipe *p, struct buf *b);

extern const struct io_driver io_epoll_driver;

#endif

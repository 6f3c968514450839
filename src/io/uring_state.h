/* SPDX-License-Identifier: MIT
 *
 * uring_state.h - what the files of the io_uring driver share: its state, and the meaning of user_data.
 *
 * user_data of an entry: a socket (48 bits, the lowest three of them a tag), and above it a number that no
 * other op near it has, which op->result remembers. So a completion that comes late, or twice, is told from
 * one that is waited for.
 * Private to the driver. One thread a loop.
 */
#ifndef WEIR_IO_URING_STATE_H
#define WEIR_IO_URING_STATE_H

#include <assert.h>

#include "weir/io/io.h"
#include "weir/sys/ring.h"
#include "weir/sys/sys.h"
#include "alarm.h"
#include "parked.h"

/* Entries for each turn; a turn with more submits in between. */
#define URING_SUBMISSIONS 512
#define URING_COMPLETIONS 4096
/* What the kernel may fill before somebody is asked for more. One read moves at most a buffer: whoever fills
 * one and has more is no sender of small messages. */
#define URING_BUFS 256
#define URING_BUF_BYTES 8192u
/* A kept rest up to this size moves to a buffer of its own size. */
#define URING_COPY_BYTES 2048u
/* A watch that lasts so long is worth an entry; at most twice as late. */
#define URING_WATCH_NS (5 * NS_PER_MS)
/* Results of completions are no smaller than that, negative. */
#define URING_ERRNO_MAX 4095

#define URING_NUMBER_SHIFT 48
#define URING_TAG_MASK UINT64_C(7)
#define URING_POINTER_MASK ((UINT64_C(1) << URING_NUMBER_SHIFT) - 1 - URING_TAG_MASK)

/* ThreadSanitizer follows descriptors by the calls that it sees: it would take one that a ring has closed,
 * and another thread opened anew, for shared. */
#if defined(__SANITIZE_THREAD__)
#define URING_CLOSES_BY_CALL true
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define URING_CLOSES_BY_CALL true
#endif
#endif
#ifndef URING_CLOSES_BY_CALL
#define URING_CLOSES_BY_CALL false
#endif

enum uring_tag { URING_RD, URING_WR, URING_OWN, URING_NOTHING };

/* Whole user_data, without a socket. */
#define URING_WAKE ((uint64_t)URING_OWN)
#define URING_ALARM ((uint64_t)URING_OWN | 8)
#define URING_TICK ((uint64_t)URING_OWN | 16)
#define URING_EPOLL ((uint64_t)URING_OWN | 24)
#define URING_CLOSED ((uint64_t)URING_NOTHING | 8)
/* Of the wake-up, the alarm and the epoll set. */
#define URING_OWN_POLLS 3

/* op->want of an IO_READ or IO_WRITE in the ring: by an entry of its own, or by a poll and a call. */
enum { URING_BY_RING, URING_BY_POLL };

/* op->result of an op that waits; IO_PARKED = for an event of its socket. */
#define URING_SENT 0x10000 /* in the ring; the number below it */
#define URING_CANCELLED 0x20000
#define URING_WATCH 0x40000   /* in the list of watches that the ring has not heard of yet */
#define URING_STUCK 0x80000   /* in the list of those that neither the epoll set nor a poll can wait for */

struct uring {
	struct ring *ring; /* owns; NULL when at rest, and while uring_lost.c waits for another one */
	struct io_loop *loop;
	bool on;
	uint16_t number; /* of the last op */
	struct alarm alarm;
	int epfd; /* owns: the sockets that are watched */
	struct epoll_event events[IO_EVENTS];
	bool looked; /* for its events, since the last wait */
	bool has_more; /* events that no wait has brought; nobody tells of them again */
	struct addr peer; /* of the accept that is being delivered */
	struct io_op *young; /* watches; linked by next and prev */
	struct io_op *old;
	struct io_op *stuck; /* IO_WRITE and IO_READY ops, the oldest first; linked by next */
	struct io_op **stuck_end; /* while there is one */
	bool unheard[URING_OWN_POLLS]; /* they failed, and are asked again */
	bool ticking; /* the ring has a timer for all these */
	struct io_op *unarmed; /* IO_ACCEPT ops that were started before the ring was on; linked by next */
	/* Buffers: those lent to the kernel by their id, and the ids without one. */
	struct buf *bufs[URING_BUFS];
	uint16_t free_ids[URING_BUFS];
	uint32_t missing;
	struct buf *lent; /* what the callback that runs now may keep */
	bool lent_is_written; /* a write of it is pending */
	struct io_driver ringless; /* the loop's driver meanwhile */
	struct ring_done done[IO_EVENTS];
	struct parked parked;
};

static_assert(URING_NOTHING <= URING_TAG_MASK, "a tag fits below the address of a socket");
static_assert(_Alignof(struct io_sock) > URING_TAG_MASK, "the address of a socket leaves room for a tag");
static_assert(URING_NUMBER_SHIFT + 8 * sizeof(((struct uring *)0)->number) == 64, "numbers fit above it");
static_assert(URING_SENT > UINT16_MAX, "no number looks like a state");
static_assert((URING_SENT | URING_CANCELLED | URING_WATCH | URING_STUCK) ==
		      URING_SENT + URING_CANCELLED + URING_WATCH + URING_STUCK,
	      "each state has a bit of its own");
static_assert(IO_DRAINED < -URING_ERRNO_MAX, "no completion looks like a result with a meaning of its own");
static_assert(URING_COMPLETIONS >= URING_SUBMISSIONS, "io_uring_setup(2) wants it so");
static_assert(URING_COMPLETIONS % IO_EVENTS == 0, "rounds of completions take all that the ring holds");

/* uring.c: the ring of each worker. */
extern const struct ring_shape uring_shape;
/* `sqe` is filled in, and is the op's from now on. */
void uring_sent(struct uring *u, struct io_op *op, struct io_uring_sqe *sqe);
/* user_data of the entries of an op that is in the ring. */
uint64_t uring_op_data(struct io_op *op);
/* Its wait has ended; the callback runs. */
void uring_deliver(struct uring *u, struct io_op *op, int result);
/* The ring belongs to the calling thread, the one that waits, from now on. */
void uring_switch_on(struct uring *u);

/* uring_close_sock.c: ends the socket of an IO_CLOSE or IO_RESET; nothing else may be pending on it. */
void uring_close_sock(struct io_loop *loop, struct io_op *op);

/* uring_lost.c: completions were dropped. Ends the ring, makes another one, now or as soon as there can be
 * one, and tells the engine. */
void uring_lose(struct uring *u);
/* As io_driver.forget. */
void uring_forget(struct io_loop *loop, struct io_sock *sock);

/* uring_watch.c: sockets that are waited for as with epoll. */
int uring_start_ready(struct uring *u, struct io_op *op);
/* The socket is going to be spliced from. */
void uring_watch_bulk(struct uring *u, struct io_sock *sock);
/* A reset that waits: it shall hear when everything is acknowledged, almost. */
void uring_watch_drain(struct uring *u, struct io_op *op);
/* An op that waits for its socket is parked until an event says more. */
void uring_park(struct uring *u, struct io_op *op);
/* A completion of an op that had to be polled by itself. */
void uring_on_ready(struct uring *u, struct io_op *op, int res);
/* It is in no list any more, but parked; harmless when it was in none. */
void uring_watch_leave(struct uring *u, struct io_op *op);
/* Asks for a tick, unless one comes anyway. */
void uring_watch_ask_tick(struct uring *u);
void uring_watch_tick(struct uring *u);
/* Brings one batch of the set's events for each wait; with a full one there is more. */
void uring_watch_events(struct uring *u);
/* The same, and waits for the first of them, at most `timeout_ns`. */
void uring_watch_wait(struct uring *u, int64_t timeout_ns);
/* There is another ring, which knows nothing of the tick that was asked for. */
void uring_watch_renew(struct uring *u);

/* uring_bufs.c */
void uring_bufs_init(struct uring *u);
void uring_bufs_fill(struct uring *u);
void uring_bufs_free(struct uring *u);
/* A completion that nobody waits for may have used a buffer. */
void uring_buf_back(struct uring *u, const struct ring_done *c);
void uring_on_read(struct uring *u, struct io_op *op, const struct ring_done *c);
int uring_attach(struct io_loop *loop, struct io_sock *sock);
int uring_start_read(struct uring *u, struct io_op *op);
struct buf *uring_keep(struct io_loop *loop, struct io_op *op, uint32_t from);

/* uring_accept.c */
int uring_start_accept(struct uring *u, struct io_op *op);
void uring_accept_on(struct uring *u);
void uring_on_accept(struct uring *u, struct io_op *op, int res);
/* It was in a ring that is gone. */
void uring_accept_again(struct uring *u, struct io_op *op);
void uring_forget_accept(struct uring *u, struct io_op *op);
void uring_accept_last(struct io_loop *loop, struct io_op *op);

#endif

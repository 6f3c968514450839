/* SPDX-License-Identifier: MIT
 *
 * uring_state.h - shared by the files of the io_uring driver: its state, and the meaning of user_data.
 *
 * The user_data of an entry is a socket (48 bits, the lowest three of them a tag) and above it a number that
 * no other recent op has, which op->result records. This distinguishes a late or repeated completion from an
 * expected one. Private to the driver. One thread per loop.
 */
#ifndef WEIR_IO_URING_STATE_H
#define WEIR_IO_URING_STATE_H

#include <assert.h>

#include "weir/io/io.h"
#include "weir/sys/ring.h"
#include "weir/sys/sys.h"
#include "alarm.h"
#include "parked.h"

/* Entries per turn; a turn with more submits in between. */
#define URING_SUBMISSIONS 512
#define URING_COMPLETIONS 4096
/* Buffers that the kernel may fill before it is given more. One read moves at most one buffer: a peer that
 * fills one and has more is not sending small messages. */
#define URING_BUFS 256
#define URING_BUF_BYTES 8192u
/* A kept remainder of up to this size is copied to a buffer of matching size. */
#define URING_COPY_BYTES 2048u
/* A watch that lasts this long is worth an entry; it gets one after at most twice this time. */
#define URING_WATCH_NS (5 * NS_PER_MS)
/* No completion's result is below minus this. */
#define URING_ERRNO_MAX 4095

#define URING_NUMBER_SHIFT 48
#define URING_TAG_MASK UINT64_C(7)
#define URING_POINTER_MASK ((UINT64_C(1) << URING_NUMBER_SHIFT) - 1 - URING_TAG_MASK)

/* ThreadSanitizer tracks descriptors by the calls that it sees: it would consider a descriptor that a ring
 * closed and another thread reopened to be shared. */
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

/* Complete user_data values without a socket. */
#define URING_WAKE ((uint64_t)URING_OWN)
#define URING_ALARM ((uint64_t)URING_OWN | 8)
#define URING_TICK ((uint64_t)URING_OWN | 16)
#define URING_EPOLL ((uint64_t)URING_OWN | 24)
#define URING_CLOSED ((uint64_t)URING_NOTHING | 8)
/* The polls of the wake-up, the alarm and the epoll set. */
#define URING_OWN_POLLS 3

/* op->want of an IO_READ or IO_WRITE in the ring: done by its own entry, or by a poll and a call. */
enum { URING_BY_RING, URING_BY_POLL };

/* op->result of a waiting op; IO_PARKED = waits for an event of its socket. */
#define URING_SENT 0x10000 /* in the ring; the number is in the bits below */
#define URING_CANCELLED 0x20000
#define URING_WATCH 0x40000   /* in the list of watches not yet submitted to the ring */
#define URING_STUCK 0x80000   /* in the list of ops that neither the epoll set nor a poll can wait for */

struct uring {
	struct ring *ring; /* owns; NULL after release(), and while uring_lost.c waits for another one */
	struct io_loop *loop;
	bool on;
	uint16_t number; /* number of the last op */
	struct alarm alarm;
	int epfd; /* owns: the epoll set of watched sockets */
	struct epoll_event events[IO_EVENTS];
	bool looked; /* the events of the set were read since the last wait */
	bool has_more; /* events not yet delivered, which will not be reported again */
	struct addr peer; /* of the accept being delivered */
	struct io_op *young; /* watches; linked by next and prev */
	struct io_op *old;
	struct io_op *stuck; /* IO_WRITE and IO_READY ops, the oldest first; linked by next */
	struct io_op **stuck_end; /* valid while `stuck` is not NULL */
	bool unheard[URING_OWN_POLLS]; /* these polls failed and are submitted again */
	bool ticking; /* the ring has a timer for all of these */
	struct io_op *unarmed; /* IO_ACCEPT ops that were started before the ring was on; linked by next */
	/* Buffers lent to the kernel, by id, and the ids without one. */
	struct buf *bufs[URING_BUFS];
	uint16_t free_ids[URING_BUFS];
	uint32_t missing;
	struct buf *lent; /* the buffer that the running callback may keep */
	bool lent_is_written; /* a write of it is pending */
	struct io_driver ringless; /* the loop's driver while there is no ring */
	struct ring_done done[IO_EVENTS];
	struct parked parked;
};

static_assert(URING_NOTHING <= URING_TAG_MASK, "a tag fits below the address of a socket");
static_assert(_Alignof(struct io_sock) > URING_TAG_MASK, "the address of a socket leaves room for a tag");
static_assert(URING_NUMBER_SHIFT + 8 * sizeof(((struct uring *)0)->number) == 64, "a number fits above it");
static_assert(URING_SENT > UINT16_MAX, "no number equals a state");
static_assert((URING_SENT | URING_CANCELLED | URING_WATCH | URING_STUCK) ==
		      URING_SENT + URING_CANCELLED + URING_WATCH + URING_STUCK,
	      "each state has a bit of its own");
static_assert(IO_BATCH_END < -URING_ERRNO_MAX, "no completion equals a special result");
static_assert(URING_COMPLETIONS >= URING_SUBMISSIONS, "io_uring_setup(2) requires it");
static_assert(URING_COMPLETIONS % IO_EVENTS == 0, "whole batches take everything that the ring holds");

/* uring.c: the shape of each worker's ring. */
extern const struct ring_shape uring_shape;
/* `sqe` is filled in and belongs to the op from now on. */
void uring_sent(struct uring *u, struct io_op *op, struct io_uring_sqe *sqe);
/* user_data of the entries of an op in the ring. */
uint64_t uring_op_data(struct io_op *op);
/* Ends the op's wait and runs its callback. */
void uring_deliver(struct uring *u, struct io_op *op, int result);
/* From now on the ring belongs to the calling thread, the one that waits. */
void uring_switch_on(struct uring *u);

/* uring_close_sock.c: ends the socket of an IO_CLOSE or IO_RESET; nothing else may be pending on it. */
void uring_close_sock(struct io_loop *loop, struct io_op *op);

/* uring_lost.c: completions were dropped. Closes the ring, creates another one, now or as soon as possible,
 * and informs the engine. */
void uring_lose(struct uring *u);
/* As io_driver.forget. */
void uring_forget(struct io_loop *loop, struct io_sock *sock);

/* uring_watch.c: sockets watched as with epoll. */
int uring_start_ready(struct uring *u, struct io_op *op);
/* Call before the socket is spliced from. */
void uring_watch_bulk(struct uring *u, struct io_sock *sock);
/* Watches for a waiting reset, which needs an event when almost everything is acknowledged. */
void uring_watch_flush(struct uring *u, struct io_op *op);
/* Parks an op that waits for its socket until an event arrives. */
void uring_park(struct uring *u, struct io_op *op);
/* Handles a completion of an op that needed a poll of its own. */
void uring_on_ready(struct uring *u, struct io_op *op, int res);
/* Moves the op from its list to the parked ones; harmless if it was in no list. */
void uring_watch_leave(struct uring *u, struct io_op *op);
/* Requests a tick unless one is pending. */
void uring_watch_ask_tick(struct uring *u);
void uring_watch_tick(struct uring *u);
/* Delivers one batch of the set's events per wait; a full batch means there are more. */
void uring_watch_events(struct uring *u);
/* The same, but waits for the first event, at most `timeout_ns`. */
void uring_watch_wait(struct uring *u, int64_t timeout_ns);
/* Call when there is a new ring, which does not have the requested tick. */
void uring_watch_renew(struct uring *u);

/* uring_bufs.c */
void uring_bufs_init(struct uring *u);
void uring_bufs_fill(struct uring *u);
void uring_bufs_free(struct uring *u);
/* Takes back the buffer that an unexpected completion may have used. */
void uring_buf_back(struct uring *u, const struct ring_done *c);
void uring_on_read(struct uring *u, struct io_op *op, const struct ring_done *c);
int uring_attach(struct io_loop *loop, struct io_sock *sock);
int uring_start_read(struct uring *u, struct io_op *op);
struct buf *uring_keep(struct io_loop *loop, struct io_op *op, uint32_t from);

/* uring_accept.c */
int uring_start_accept(struct uring *u, struct io_op *op);
void uring_accept_on(struct uring *u);
void uring_on_accept(struct uring *u, struct io_op *op, int res);
/* The op was in a ring that is gone. */
void uring_accept_again(struct uring *u, struct io_op *op);
void uring_forget_accept(struct uring *u, struct io_op *op);
int uring_accept_last(struct io_loop *loop, struct io_op *op);

#endif

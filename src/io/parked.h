/* SPDX-License-Identifier: MIT
 *
 * parked.h - ops that wait until their socket is ready: how drivers handle edge-triggered events.
 *
 * An op is parked when its attempt returned "not yet"; an event of its socket makes it try again. While an op
 * waits, `result` is for the driver: IO_PARKED means that it is parked. One thread, its loop's.
 */
#ifndef WEIR_IO_PARKED_H
#define WEIR_IO_PARKED_H

#include "weir/io/io.h"

#define IO_PARKED 0

/* The events requested for a socket; poll(2) uses the same bits for them. */
#define PARKED_MASK (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET)

struct parked {
	struct io_loop *loop; /* borrows */
	void (*close)(struct io_loop *loop, struct io_op *op); /* closes the socket of an IO_RESET */
	struct io_op *flushing; /* IO_RESET ops whose queue was almost empty; linked by op->next */
	struct timer look;      /* tries them again */
	int64_t look_ns;        /* after this long */
	uint8_t scratch[IO_SCRATCH_BYTES]; /* what reads lend */
};

void parked_init(struct parked *p, struct io_loop *loop,
		 void (*close)(struct io_loop *loop, struct io_op *op));
/* Nothing may be parked. */
void parked_free(struct parked *p);

/* The place in its socket that the op occupies while it waits. */
struct io_op **parked_place(struct io_op *op);
/* Puts a waiting op in its place. Returns IO_PENDING. */
int parked_wait(struct io_loop *loop, struct io_op *op);
/* Removes an op that no longer waits from its place; the caller delivers its result. */
void parked_leave(struct io_loop *loop, struct io_op *op);
/* One attempt at an op that may be parked, or at a splice; IO_PENDING = not yet. */
int parked_try(struct parked *p, struct io_op *op);
/* Keeps bytes of the scratch buffer by copying them. As io_driver.keep. */
struct buf *parked_keep(struct io_loop *loop, struct io_op *op, uint32_t from);
/* Cancels a parked op: it completes with -ECANCELED. */
void parked_cancel(struct parked *p, struct io_op *op);
/* Updates the bits of a socket from `events` (EPOLLIN, ...). */
void parked_note(struct io_sock *sock, uint32_t events);
/* Handles `events` of the socket: updates its bits and tries the ops parked there again. */
void parked_event(struct parked *p, struct io_sock *sock, uint32_t events);

/* Prepares an IO_RESET that waits until the peer has everything. False: there is nothing to wait for, or no
 * way to wait. If true, an EPOLLOUT or an error makes it try again; request these events after this call. */
bool parked_may_flush(struct io_op *op);
/* Stops trying a waiting IO_RESET again by timer; harmless if that was not the case. */
void parked_forget(struct parked *p, const struct io_op *op);
/* Makes close(2) of the socket send RST instead of FIN. */
void parked_harden(const struct io_sock *sock);

#endif

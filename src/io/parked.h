/* SPDX-License-Identifier: MIT
 *
 * parked.h - ops that wait until their socket is ready: what drivers make of an edge-triggered event.
 *
 * An op is parked when its try said "not yet"; an event of its socket makes it try again. Of an op that
 * waits, `result` is the driver's: IO_PARKED says that it is parked. One thread, its loop's.
 */
#ifndef WEIR_IO_PARKED_H
#define WEIR_IO_PARKED_H

#include "weir/io/io.h"

#define IO_PARKED 0

/* The events of a socket that are asked for; poll(2) has the same bits for them. */
#define PARKED_MASK (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET)

struct parked {
	struct io_loop *loop; /* borrows */
	void (*close)(struct io_loop *loop, struct io_op *op); /* the socket of an IO_RESET */
	struct io_op *draining; /* IO_RESET ops whose queue was almost empty; linked by op->next */
	struct timer look;      /* looks at them again */
	int64_t look_ns;        /* after so long */
	uint8_t scratch[IO_SCRATCH_BYTES]; /* what reads lend */
};

void parked_init(struct parked *p, struct io_loop *loop,
		 void (*close)(struct io_loop *loop, struct io_op *op));
/* Nothing may be parked. */
void parked_free(struct parked *p);

/* The place of its socket that the op takes while it waits. */
struct io_op **parked_place(struct io_op *op);
/* It waits: takes its place. Returns IO_PENDING. */
int parked_wait(struct io_loop *loop, struct io_op *op);
/* It waits no more: leaves its place; its result is the caller's to deliver. */
void parked_leave(struct io_loop *loop, struct io_op *op);
/* One try; IO_PENDING = not yet. Of ops that may be parked, and of splices. */
int parked_try(struct parked *p, struct io_op *op);
/* Keeps bytes that lie in the scratch buffer: a copy. As io_driver.keep. */
struct buf *parked_keep(struct io_loop *loop, struct io_op *op, uint32_t from);
/* Ends the wait of a parked op: it completes with -ECANCELED. */
void parked_cancel(struct parked *p, struct io_op *op);
/* What `events` (EPOLLIN, ...) say of a socket: its bits. */
void parked_note(struct io_sock *sock, uint32_t events);
/* `events` of the socket: its bits, and another try for what is parked there. */
void parked_event(struct parked *p, struct io_sock *sock, uint32_t events);

/* Prepares an IO_RESET that waits until the peer has everything; false: nothing to wait for, or no way to.
 * When true, an EPOLLOUT or an error, asked for from now on, makes it try again. */
bool parked_may_drain(struct io_op *op);
/* An IO_RESET that waits is not looked at by timer any more; harmless when it is not. */
void parked_forget(struct parked *p, const struct io_op *op);
/* The socket's RST instead of its FIN at close(2). */
void parked_harden(const struct io_sock *sock);

#endif

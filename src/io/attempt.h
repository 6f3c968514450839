/* SPDX-License-Identifier: MIT
 *
 * attempt.h - one try of one op over nonblocking sockets, for drivers.
 *
 * Each makes at most a call or two, keeps the socket's bits true, and returns the op's result, or
 * IO_PENDING for "not yet". A loop's thread.
 */
#ifndef WEIR_IO_ATTEMPT_H
#define WEIR_IO_ATTEMPT_H

#include "weir/io/io.h"

/* recv(2) of at most min(op->max, room) bytes to `scratch`, which op->data then lends. */
int io_try_read(struct io_op *op, uint8_t *scratch, uint32_t room);
/* send(2). */
int io_try_write(struct io_op *op);
/* splice(2); never IO_PENDING. */
int io_try_splice_in(struct io_op *op);
int io_try_splice_out(struct io_op *op);
/* What of op->want is known already. */
int io_try_ready(const struct io_op *op);
/* The result of a connect that an event told of. */
int io_connect_result(struct io_op *op);

#endif

/* SPDX-License-Identifier: MIT
 *
 * attempt.h - one attempt at one op on nonblocking sockets, for drivers.
 *
 * Each makes one or two calls at most, keeps the socket's bits up to date, and returns the op's result, or
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
/* The part of op->want that is already known. */
int io_try_ready(const struct io_op *op);
/* The result of a connect that an event reported. */
int io_connect_result(struct io_op *op);

#endif

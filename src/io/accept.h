/* SPDX-License-Identifier: MIT
 *
 * accept.h - accepts queued clients of a listener, as many as one turn should take.
 *
 * For drivers that wait for readiness. A loop's thread.
 */
#ifndef WEIR_IO_ACCEPT_H
#define WEIR_IO_ACCEPT_H

#include "weir/io/io.h"

/* Accepts until the backlog is empty, the engine wants no more, or the turn's allowance is used up, and
 * delivers the results of the IO_ACCEPT stream; `peer` is storage for an address. Returns 1 when the
 * allowance was used up, otherwise 0, or the -errno that ends the stream (the caller delivers that last
 * result). */
int io_accept_batch(struct io_loop *loop, struct io_op *op, struct addr *peer);

#endif

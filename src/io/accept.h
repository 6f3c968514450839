/* SPDX-License-Identifier: MIT
 *
 * accept.h - accepts who waits at a listener, as many as a turn should take.
 *
 * For drivers that wait for readiness. A loop's thread.
 */
#ifndef WEIR_IO_ACCEPT_H
#define WEIR_IO_ACCEPT_H

#include "weir/io/io.h"

/* Accepts until nobody waits, the engine wants no more, or the turn's allowance is used, and brings the
 * results of the IO_ACCEPT stream; `peer` is room for an address. Returns 1 when the allowance was used,
 * 0, or the -errno that ends the stream (its last result is the caller's to deliver). */
int io_accept_batch(struct io_loop *loop, struct io_op *op, struct addr *peer);

#endif

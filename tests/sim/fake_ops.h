/* SPDX-License-Identifier: MIT
 *
 * fake_ops.h - one attempt of one op for the fake driver; see fake_ops.c.
 *
 * Owns nothing. One thread. Tests only.
 */
#ifndef SIM_FAKE_OPS_H
#define SIM_FAKE_OPS_H

#include "weir/io/io.h"

/* Each returns the op's result, or IO_PENDING. */
int fake_read(struct io_op *op, uint8_t *memory, uint32_t room);
int fake_splice_in(struct io_op *op);
int fake_splice_out(struct io_op *op);
int fake_connect(struct io_op *op);
/* Everything else that can be pending. */
int fake_perform(struct io_op *op);

#endif

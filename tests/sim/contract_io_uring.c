/* SPDX-License-Identifier: MIT
 *
 * contract_io_uring.c - the op-contract suite for the io_uring driver over the modelled kernel.
 *
 * See contract_model.h. One thread. Tests only.
 */
#include "contract_model.h"
#include "weir/io/uring.h"

const struct contract_kernel contract_kernel =
	CONTRACT_MODEL("io_uring driver, modelled kernel", &io_uring_driver);

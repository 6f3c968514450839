/* SPDX-License-Identifier: MIT
 *
 * contract_real_epoll.c - the op-contract suite for the epoll driver over the real kernel.
 *
 * See contract_real.h. One thread. Tests only.
 */
#include "contract_real.h"

const struct contract_kernel contract_kernel =
	CONTRACT_REAL("epoll driver, real kernel", &io_epoll_driver, real_begin);

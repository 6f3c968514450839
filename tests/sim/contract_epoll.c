/* SPDX-License-Identifier: MIT
 *
 * contract_epoll.c - the op-contract suite for the epoll driver over the modelled kernel.
 *
 * See contract_model.h. One thread. Tests only.
 */
#include "contract_model.h"

const struct contract_kernel contract_kernel =
	CONTRACT_MODEL("epoll driver, modelled kernel", &io_epoll_driver);

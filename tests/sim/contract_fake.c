/* SPDX-License-Identifier: MIT
 *
 * contract_fake.c - the op-contract suite for the fake driver over the modelled kernel.
 *
 * See contract_model.h. One thread. Tests only.
 */
#include "contract_model.h"
#include "fake_driver.h"

const struct contract_kernel contract_kernel =
	CONTRACT_MODEL("fake driver, modelled kernel", &fake_driver);

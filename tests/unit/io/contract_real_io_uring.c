/* SPDX-License-Identifier: MIT
 *
 * contract_real_io_uring.c - the op-contract suite for the io_uring driver over the real kernel; where that
 * has no ring for us, the program says why and is skipped.
 *
 * See contract_real.h. One thread. Tests only.
 */
#include <stdio.h>
#include <stdlib.h>

#include "contract_real.h"
#include "weir/io/uring.h"

static void begin_or_skip(void)
{
	char why[128];

	if (uring_driver(why, sizeof(why)) == NULL) {
		printf("skipped: no io_uring is to be had here: %s\n", why);
		exit(77);
	}
	real_begin();
}

const struct contract_kernel contract_kernel =
	CONTRACT_REAL("io_uring driver, real kernel", &io_uring_driver, begin_or_skip);

/* SPDX-License-Identifier: MIT
 *
 * crowd.h - one seed of a world with several workers, control and peers; see crowd.c.
 *
 * One thread. Tests only.
 */
#ifndef SIM_CROWD_H
#define SIM_CROWD_H

#include <stdint.h>

struct world_options;

/* Returns when the seed has passed; fails the process otherwise. */
void crowd_run(uint64_t seed, const struct world_options *options);

#endif

/* SPDX-License-Identifier: MIT
 *
 * world.h - one seed: peers, faults, turns, then the liveness phase and the judgement.
 *
 * Owns one run from its seed to its end. One thread. Tests only.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <stdint.h>

struct io_driver;

struct world_options {
	const struct io_driver *driver;
	int splice; /* enum config_splice or RIG_SPLICE_RANDOM */
};

/* Returns when the seed has passed; fails the process otherwise. */
void world_run(uint64_t seed, const struct world_options *options);

#endif

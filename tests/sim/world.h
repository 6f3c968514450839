/* SPDX-License-Identifier: MIT
 *
 * world.h - one seed: peers, faults, turns, then the liveness phase and the judgement.
 *
 * Owns one run from its seed to its end. One thread. Tests only.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/base/clock.h"

struct io_driver;

struct world_options {
	const struct io_driver *driver;
	int splice; /* enum config_splice or RIG_SPLICE_RANDOM */
	unsigned workers; /* crowd.c: 0 = two or four */
};

/* Pauses between tries, an accept's pause, a last look at a queue: all shorter than this. */
#define WORLD_PATIENCE_NS (1500 * NS_PER_MS)

/* Returns when the seed has passed; fails the process otherwise. */
void world_run(uint64_t seed, const struct world_options *options);

/* The parts that crowd.c has in common with it. */

void world_choose_faults(void);
/* How soon a reset must be heard of while nobody reads. */
void world_set_patience(const struct io_driver *driver);
/* Does a session wait for a server that never answers? */
bool world_waits_for_black_hole(void);

#endif

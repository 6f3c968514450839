/* SPDX-License-Identifier: MIT
 *
 * prng.h - the simulator's one source of chance: splitmix64, a seed gives the same run for ever.
 *
 * Owns nothing; the state is the caller's. No clock, no address, no pointer value ever feeds it.
 * One thread. Tests only: no room includes it.
 */
#ifndef SIM_PRNG_H
#define SIM_PRNG_H

#include <stdbool.h>
#include <stdint.h>

struct prng {
	uint64_t state;
};

static inline uint64_t prng_next(struct prng *r)
{
	uint64_t z = (r->state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* 0 <= result < bound; bound > 0. */
static inline uint32_t prng_below(struct prng *r, uint32_t bound)
{
	return (uint32_t)(((prng_next(r) >> 32) * bound) >> 32);
}

static inline bool prng_chance(struct prng *r, uint32_t percent)
{
	return prng_below(r, 100) < percent;
}

static inline uint32_t prng_range(struct prng *r, uint32_t low, uint32_t high)
{
	return low + prng_below(r, high - low + 1);
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * seed.c - random numbers that nobody can guess from afar.
 *
 * Owns nothing. Any thread.
 */
#include "weir/base/seed.h"

#include <sys/random.h>

#include "weir/base/clock.h"
#include "weir/base/hash.h"

void seed_make(uint64_t *words, size_t count)
{
	uint64_t sum;

	if (getrandom(words, count * sizeof(*words), GRND_NONBLOCK) == (ssize_t)(count * sizeof(*words)))
		return;
	/* A remote attacker cannot guess the address of our memory. */
	sum = hash_add((uint64_t)clock_wall_ns(), (uint64_t)(uintptr_t)words);
	sum = hash_add(sum, (uint64_t)clock_mono_ns());
	for (size_t i = 0; i < count; i++)
		words[i] = hash_nth(sum, i);
}

/* SPDX-License-Identifier: MIT
 *
 * hash.h - 64-bit hashes that are the same on every machine, whatever its byte order.
 *
 * For distribution, not for security: anyone who can choose the input can choose the hash. Any thread.
 */
#ifndef WEIR_BASE_HASH_H
#define WEIR_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* XXH64 of `len` bytes with a seed (specification 0.1.1; test_hash.c holds its test vectors). */
uint64_t hash_bytes(const void *bytes, size_t len, uint64_t seed);

/* The finalizer of SplitMix64: a permutation of all 64-bit numbers in which each bit of `x` affects about
 * half of the bits of the result. */
static inline uint64_t hash_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* The n-th number of the sequence that starts from `seed` (SplitMix64). */
static inline uint64_t hash_nth(uint64_t seed, uint64_t n)
{
	return hash_mix(seed + (n + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* Adds `value` to the hash `sum` of the values before it; order matters. */
static inline uint64_t hash_add(uint64_t sum, uint64_t value)
{
	return hash_mix(sum ^ hash_nth(value, 0));
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * hash.c - XXH64: a 64-bit hash of any bytes, the same on every machine.
 *
 * Written from its specification (Y. Collet, xxHash fast digest algorithm, 0.1.1). Owns nothing. Any
 * thread.
 */
#include "weir/base/hash.h"

#define PRIME_1 UINT64_C(0x9e3779b185ebca87)
#define PRIME_2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define PRIME_3 UINT64_C(0x165667b19e3779f9)
#define PRIME_4 UINT64_C(0x85ebca77c2b2ae63)
#define PRIME_5 UINT64_C(0x27d4eb2f165667c5)

/* Four lanes of eight bytes. */
#define STRIPE 32

static uint64_t rotate(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

/* Byte by byte, lowest first: compilers turn this into one load on little-endian machines. */
static uint64_t read_le(const uint8_t *p, unsigned bytes)
{
	uint64_t x = 0;

	for (unsigned i = 0; i < bytes; i++)
		x |= (uint64_t)p[i] << (8 * i);
	return x;
}

static uint64_t stir(uint64_t lane, uint64_t input)
{
	return rotate(lane + input * PRIME_2, 31) * PRIME_1;
}

static uint64_t merge(uint64_t sum, uint64_t lane)
{
	return (sum ^ stir(0, lane)) * PRIME_1 + PRIME_4;
}

/* Hashes all whole stripes; advances `*at` past them. */
static uint64_t hash_stripes(const uint8_t **at, const uint8_t *end, uint64_t seed)
{
	uint64_t lanes[4] = {seed + PRIME_1 + PRIME_2, seed + PRIME_2, seed, seed - PRIME_1};
	uint64_t sum;

	for (; end - *at >= STRIPE; *at += STRIPE)
		for (unsigned i = 0; i < 4; i++)
			lanes[i] = stir(lanes[i], read_le(*at + 8 * i, 8));
	sum = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18);
	for (unsigned i = 0; i < 4; i++)
		sum = merge(sum, lanes[i]);
	return sum;
}

uint64_t hash_bytes(const void *bytes, size_t len, uint64_t seed)
{
	const uint8_t *at = bytes;
	const uint8_t *const end = at + len;
	uint64_t sum = len >= STRIPE ? hash_stripes(&at, end, seed) : seed + PRIME_5;

	sum += len;
	for (; end - at >= 8; at += 8)
		sum = rotate(sum ^ stir(0, read_le(at, 8)), 27) * PRIME_1 + PRIME_4;
	if (end - at >= 4) {
		sum = rotate(sum ^ (read_le(at, 4) * PRIME_1), 23) * PRIME_2 + PRIME_3;
		at += 4;
	}
	for (; at < end; at++)
		sum = rotate(sum ^ (*at * PRIME_5), 11) * PRIME_1;
	sum = (sum ^ (sum >> 33)) * PRIME_2;
	sum = (sum ^ (sum >> 29)) * PRIME_3;
	return sum ^ (sum >> 32);
}

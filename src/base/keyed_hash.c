/* SPDX-License-Identifier: MIT
 *
 * keyed_hash.c - SipHash-2-4, from its paper (J.-P. Aumasson, D. J. Bernstein, 2012).
 *
 * Owns nothing. Any thread.
 */
#include "weir/base/keyed_hash.h"

#include "weir/base/check.h"
#include "weir/base/seed.h"

void keyed_hash_new_key(struct keyed_hash_key *key)
{
	seed_make(key->half, ARRAY_LEN(key->half));
}

static uint64_t rotate(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static void rounds(uint64_t v[static 4], unsigned count)
{
	while (count-- > 0) {
		v[0] += v[1];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[0] = rotate(v[0], 32);
		v[2] += v[3];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[2] = rotate(v[2], 32);
	}
}

static uint64_t read_le(const uint8_t *p, size_t bytes)
{
	uint64_t x = 0;

	for (size_t i = 0; i < bytes; i++)
		x |= (uint64_t)p[i] << (8 * i);
	return x;
}

static void absorb(uint64_t v[static 4], uint64_t word)
{
	v[3] ^= word;
	rounds(v, 2);
	v[0] ^= word;
}

uint64_t keyed_hash_sip(const uint64_t half[static 2], const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	uint64_t v[4] = {half[0] ^ 0x736f6d6570736575u, half[1] ^ 0x646f72616e646f6du,
			 half[0] ^ 0x6c7967656e657261u, half[1] ^ 0x7465646279746573u};
	size_t left = len;

	for (; left >= 8; left -= 8, at += 8)
		absorb(v, read_le(at, 8));
	absorb(v, read_le(at, left) | (uint64_t)len << 56);
	v[2] ^= 0xff;
	rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

struct keyed_hash keyed_hash_bytes(const struct keyed_hash_key *key, const void *bytes, size_t len)
{
	return (struct keyed_hash){
	    {keyed_hash_sip(key->half, bytes, len), keyed_hash_sip(key->half + 2, bytes, len)}};
}

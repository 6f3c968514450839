/* SPDX-License-Identifier: MIT
 *
 * source_key.h - which clients are one source: an IPv4 address, or the /64 of an IPv6 one.
 *
 * Pure functions, for the tables of sources of this room. Any thread.
 */
#ifndef WEIR_NET_SOURCE_KEY_H
#define WEIR_NET_SOURCE_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "weir/base/check.h"
#include "weir/net/addr.h"

struct source_key {
	uint64_t network; /* IPv4: the address; IPv6: its first 64 bits */
	uint64_t family;
};

/* Words of a seed for source_key_hash(), from seed_make(). */
#define SOURCE_SEED_WORDS 3

/* The source of `a`, which is IPv4 or IPv6. */
static inline struct source_key source_key_of(const struct addr_brief *a)
{
	struct source_key k = {.family = a->family};
	const bool is_mapped = a->family == AF_INET6 &&
			       memcmp(a->ip, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12) == 0;

	check(a->family == AF_INET || a->family == AF_INET6);
	/* As IPv6 all IPv4 clients would be in one /64, and so one source. */
	if (is_mapped)
		k.family = AF_INET;
	if (k.family == AF_INET)
		memcpy(&k.network, a->ip + (is_mapped ? 12 : 0), 4);
	else
		memcpy(&k.network, a->ip, 8);
	return k;
}

/* Its upper 32 bits are good. Pair-multiply-shift (Thorup, "High speed hashing for integers and strings",
 * 3.5): with a random seed, two networks share such bits only by chance, whoever chose them. */
static inline uint64_t source_key_hash(const uint64_t seed[static SOURCE_SEED_WORDS], struct source_key k)
{
	const uint64_t low = (uint32_t)k.network;
	const uint64_t high = k.network >> 32;

	return (seed[0] + low) * (seed[1] + high) + seed[2];
}

/* One of 2^bits chains, 1 <= bits <= 32. */
static inline size_t source_key_chain(const uint64_t seed[static SOURCE_SEED_WORDS], struct source_key k,
				      unsigned bits)
{
	return (size_t)(source_key_hash(seed, k) >> (64 - bits));
}

#endif

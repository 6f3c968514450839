/* SPDX-License-Identifier: MIT
 *
 * keyed_hash.h - 128-bit hashes that nobody can predict or provoke without the key: SipHash-2-4 with two
 * keys.
 *
 * For what a stranger chooses. hash.h is faster, for what nobody attacks. Any thread.
 */
#ifndef WEIR_BASE_KEYED_HASH_H
#define WEIR_BASE_KEYED_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keyed_hash_key {
	uint64_t half[4]; /* two keys of 128 bits */
};

struct keyed_hash {
	uint64_t half[2];
};

/* A random key: seed.h. */
void keyed_hash_new_key(struct keyed_hash_key *key);
/* SipHash-2-4 with the key `half`. */
uint64_t keyed_hash_sip(const uint64_t half[static 2], const void *bytes, size_t len);
struct keyed_hash keyed_hash_bytes(const struct keyed_hash_key *key, const void *bytes, size_t len);

static inline bool keyed_hash_same(struct keyed_hash a, struct keyed_hash b)
{
	return ((a.half[0] ^ b.half[0]) | (a.half[1] ^ b.half[1])) == 0;
}

#endif

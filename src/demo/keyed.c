/* SPDX-License-Identifier: MIT
 *
 * keyed.c - byte streams derived from a key: one table, and a starting point per key.
 *
 * Main thread of each process.
 */
#include "keyed.h"

#include <string.h>

#include "weir/base/check.h"

static unsigned char table[KEYED_PERIOD + KEYED_PIECE];

/* splitmix64: neighbouring keys start far apart. */
static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

void keyed_init(void)
{
	for (size_t i = 0; i < sizeof(table); i++)
		table[i] = i < KEYED_PERIOD ? (unsigned char)mix(i) : table[i - KEYED_PERIOD];
}

const unsigned char *keyed_at(uint64_t key, uint64_t offset)
{
	return table + (mix(~key) % KEYED_PERIOD + offset % KEYED_PERIOD) % KEYED_PERIOD;
}

bool keyed_same(uint64_t key, uint64_t offset, const void *bytes, size_t len)
{
	check(len <= KEYED_PIECE);
	return memcmp(keyed_at(key, offset), bytes, len) == 0;
}

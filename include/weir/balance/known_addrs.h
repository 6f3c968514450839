/* SPDX-License-Identifier: MIT
 *
 * known_addrs.h - the addresses that one server has had, each stored once and kept.
 *
 * A worker may still be reading an address that control has replaced, so none is freed or changed before the
 * server is. Their number is bounded, because a name server decides how often a name changes. Control thread;
 * any thread may read the entries.
 */
#ifndef WEIR_BALANCE_KNOWN_ADDRS_H
#define WEIR_BALANCE_KNOWN_ADDRS_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/net/addr.h"

/* About 2.5 MiB. A name that moves to a new address every hour takes two years to reach this. */
#define KNOWN_ADDRS_MAX 16384u

struct known_addr {
	struct addr addr;
	bool meets_itself; /* a connect to it may reach itself; set by the adder before others see it */
};

/* All zero is an empty table. */
struct known_addrs {
	struct known_addr **places; /* owns the array and each address; open addressing, NULL = free */
	uint32_t room;        /* a power of two, or 0 */
	uint32_t count;
	uint64_t seed; /* secret, so that nobody can choose addresses that collide */
};

/* Finds the entry equal to `a`, or adds a copy, and returns it in `*out`, valid until known_addrs_free().
 * Returns the number added, 0 or 1; -ENOMEM; -ENOSPC when `a` is new and there are already KNOWN_ADDRS_MAX.
 * Constant time. */
int known_addrs_add(struct known_addrs *k, const struct addr *a, struct known_addr **out);
/* Frees all of them; call when nobody reads them any more. */
void known_addrs_free(struct known_addrs *k);

#endif

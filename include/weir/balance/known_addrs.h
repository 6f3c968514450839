/* SPDX-License-Identifier: MIT
 *
 * known_addrs.h - the addresses that one server has had, each once and for good.
 *
 * A worker may still be reading an address that control has replaced, so none is freed or changed before the
 * server is. How many there may be is bounded: a name server decides how often a name changes. Control
 * thread; what is in it may be read by any.
 */
#ifndef WEIR_BALANCE_KNOWN_ADDRS_H
#define WEIR_BALANCE_KNOWN_ADDRS_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/net/addr.h"

/* Some 2.5 MiB. A name that moves to another address every hour takes two years to have so many. */
#define KNOWN_ADDRS_MAX 16384u

struct known_addr {
	struct addr addr;
	bool meets_itself; /* a connect to it may: written by who adds it, before others see it */
};

/* All zero is an empty one. */
struct known_addrs {
	struct known_addr **places; /* owns, and each of them; open addressing, NULL = free */
	uint32_t room;        /* a power of two, or 0 */
	uint32_t count;
	uint64_t seed; /* secret: whoever chooses addresses cannot make them collide */
};

/* Finds the one that equals `a`, or keeps a copy of it, and leaves it in `*out`: it stays where it is until
 * known_addrs_free(). How many were added, 0 or 1; -ENOMEM; -ENOSPC when it is new and there are
 * KNOWN_ADDRS_MAX. Constant time. */
int known_addrs_add(struct known_addrs *k, const struct addr *a, struct known_addr **out);
/* Frees all of them: nobody reads one any more. */
void known_addrs_free(struct known_addrs *k);

#endif

/* SPDX-License-Identifier: MIT
 *
 * addr_reach.h - which clients a listening TCP address takes: does it overlap with another, does it cover it?
 *
 * By address and port alone; interfaces and scopes are the caller's business. Any thread.
 */
#ifndef WEIR_NET_ADDR_REACH_H
#define WEIR_NET_ADDR_REACH_H

#include <stdbool.h>

#include "weir/net/addr.h"

/* A bound TCP address. */
struct addr_reach {
	const struct addr *addr; /* borrows */
	bool v6only;		 /* else [::] takes IPv4 clients, too */
};

/* Is there a client that both would take? False for a Unix address, and for one whose port is 0. */
bool addr_overlaps(const struct addr_reach *a, const struct addr_reach *b);
/* Of two that overlap: is `a` one address, and `b` a wildcard? Then the kernel gives `a` each client that
 * both would take, if both listen. */
bool addr_is_narrower(const struct addr_reach *a, const struct addr_reach *b);
/* Is `wide` a wildcard that would take every client that `b` takes? */
bool addr_covers(const struct addr_reach *wide, const struct addr_reach *b);

#endif

/* SPDX-License-Identifier: MIT
 *
 * self_connect.h - a TCP socket that is connected to itself: when that can be, and whether it is so.
 *
 * Where nobody listens at an address of this machine, connect(2) may choose that very port for its own end.
 * Its SYN then meets its own socket, and the two opens are one connection (RFC 9293, 3.5, simultaneous open):
 * connect(2) succeeds, and whatever is written comes back. Any thread.
 */
#ifndef WEIR_NET_SELF_CONNECT_H
#define WEIR_NET_SELF_CONNECT_H

#include <stdbool.h>
#include <stddef.h>

#include "weir/net/addr.h"

/* Where a connect may come from. */
struct self_connect_sources {
	const struct addr *list; /* borrows; port 0 = the kernel's choice, as all is without a fitting one */
	size_t count;
	bool any; /* whatever address a client has */
};

/* Can a connect to `to` from one of `sources` meet itself? Only where the two addresses are the same, and the
 * port is one that the kernel chooses from, or the one of the source. Asks the kernel, so it is for a start
 * and for a new address, not for each connect. What cannot be found out counts as yes. */
bool self_connect_possible(const struct addr *to, const struct self_connect_sources *sources);

/* Is the socket `fd`, which was connected to `to`, its own peer? One getsockname(2) for TCP, none for a Unix
 * socket. What cannot be found out counts as no. */
bool self_connect_happened(int fd, const struct addr *to);

#endif

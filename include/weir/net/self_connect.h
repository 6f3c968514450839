/* SPDX-License-Identifier: MIT
 *
 * self_connect.h - TCP sockets connected to themselves: when that is possible, and whether it has happened.
 *
 * When nothing listens at an address of this machine, connect(2) may choose the target's port as its own
 * source port. Its SYN then reaches its own socket, and the two opens become one connection (RFC 9293, 3.5,
 * simultaneous open): connect(2) succeeds, and everything written comes back. Any thread.
 */
#ifndef WEIR_NET_SELF_CONNECT_H
#define WEIR_NET_SELF_CONNECT_H

#include <stdbool.h>
#include <stddef.h>

#include "weir/net/addr.h"

/* Possible source addresses of a connect. */
struct self_connect_sources {
	const struct addr *list; /* borrows; port 0, or no address that fits: the kernel chooses */
	size_t count;
	bool any; /* the client's address, whatever it is */
};

/* Can a connect to `to` from one of `sources` reach itself? Only if the two addresses are the same and the
 * port is in the kernel's ephemeral range or is the source's own. Queries the kernel, so it is meant for
 * start-up and for a new address, not for each connect. If this cannot be determined, the answer is yes.
 * If the port of `to` is 0, it may be any port. */
bool self_connect_possible(const struct addr *to, const struct self_connect_sources *sources);

/* Is the socket `fd`, connected to `to`, its own peer? One getsockname(2) for TCP, none for a Unix socket. If
 * this cannot be determined, the answer is no. */
bool self_connect_happened(int fd, const struct addr *to);

#endif

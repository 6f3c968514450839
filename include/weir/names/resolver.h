/* SPDX-License-Identifier: MIT
 *
 * resolver.h - addresses for servers that are configured by name.
 *
 * A thread of its own asks getaddrinfo(3), which may take as long as it likes: the start does not
 * wait for it and neither does the end. A name with both families gives its first IPv4 address
 * ("ipv6@NAME:PORT" asks for the other); a server keeps its address while its name still has it, and
 * when its name cannot be resolved any more. Main thread, but for the asking.
 */
#ifndef WEIR_NAMES_RESOLVER_H
#define WEIR_NAMES_RESOLVER_H

#include <stdint.h>

#include "weir/balance/server_updates.h"

struct addrinfo;
struct ev_loop;
struct resolver;

/* getaddrinfo(3) and freeaddrinfo(3), or a test's. */
struct resolver_calls {
	int (*lookup)(const char *host, const char *port, const struct addrinfo *hints,
		      struct addrinfo **out);
	void (*release)(struct addrinfo *list);
};

/* Begins to resolve those servers of `u` (borrowed until resolver_free) that have names; makes no
 * thread when there are none. `calls` NULL means libc's. NULL with `*err` = -errno on failure. */
struct resolver *resolver_new(struct ev_loop *loop, struct server_updates *u,
			      const struct resolver_calls *calls, int *err);
/* Ends the thread, or leaves it to itself while it hangs in a lookup. */
void resolver_free(struct resolver *r);

/* How long to wait before asking again: after `failures` failures in a row 1, 2, 4 ... s, at most
 * `interval_ns` (at most a minute when that is 0); after a success `interval_ns`, 0 = never. */
int64_t resolver_wait_ns(unsigned failures, int64_t interval_ns);

#endif

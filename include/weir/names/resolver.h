/* SPDX-License-Identifier: MIT
 *
 * resolver.h - addresses for servers that are configured by name.
 *
 * A dedicated thread calls getaddrinfo(3), which may take arbitrarily long; neither startup nor shutdown
 * waits for it. If a name has addresses of both families, its first IPv4 address is used ("ipv6@NAME:PORT"
 * asks for IPv6). A server keeps its address while its name still has it, and if its name no longer resolves.
 * Servers may come, change and go at run time; a lookup that is under way for one that has gone ends for
 * nobody. Main thread, except for the lookup.
 */
#ifndef WEIR_NAMES_RESOLVER_H
#define WEIR_NAMES_RESOLVER_H

#include <stddef.h>
#include <stdint.h>

#include "weir/balance/server_updates.h"
#include "weir/base/figure.h"

struct addrinfo;
struct ev_loop;
struct resolver;

/* getaddrinfo(3) and freeaddrinfo(3), or a test's replacements. */
struct resolver_calls {
	int (*lookup)(const char *host, const char *port, const struct addrinfo *hints,
		      struct addrinfo **out);
	void (*release)(struct addrinfo *list);
};

/* Begins to resolve the servers of `u` (borrowed until resolver_free) that have names. Creates no thread if
 * there are none. `calls` NULL means libc's. NULL on failure, with `*err` = -errno. */
struct resolver *resolver_new(struct ev_loop *loop, struct server_updates *u,
			      const struct resolver_calls *calls, int *err);
/* Ends the thread, or abandons it if it hangs in a lookup. */
void resolver_free(struct resolver *r);

/* Takes memory for a change, before it is committed (live_change.h), in which at most this many servers are
 * added with a name, or get another name; starts the thread if this would be the first one. Names come,
 * change and go as server_updates.h tells. 0, or with nothing taken -ENOMEM or another -errno. */
int resolver_prepare(struct resolver *r, size_t names);
/* The change is committed or was given up: frees what it did not need. */
void resolver_settle(struct resolver *r, size_t names);

/* For a figure_source whose `from` is a struct resolver, or NULL before there is one. */
void resolver_publish(void *resolver, figure_report *report, void *to);

/* How long to wait before the next lookup: after `failures` failures in a row 1, 2, 4 ... s, at most
 * `interval_ns` (at most a minute if that is 0); after a success `interval_ns`, 0 = never. */
int64_t resolver_wait_ns(unsigned failures, int64_t interval_ns);

#endif

/* SPDX-License-Identifier: MIT
 *
 * resolver.h - addresses for servers that are configured by name.
 *
 * Names are resolved by DNS on the control loop, or by the system: a dedicated thread calls getaddrinfo(3),
 * which may take arbitrarily long. Neither startup nor shutdown waits for either. If a name has addresses of
 * both families, its first IPv4 address is used ("ipv6@NAME:PORT" asks for IPv6). A server keeps its address
 * while its name still has it, unless a connect to it fails: then it goes to the next one of its name. If the
 * name no longer resolves, the server keeps it until a hold ends (name_watch.h), and longer if no name server
 * answers and no other server of the backend has a current address. Servers may come, change and go at run
 * time; a lookup that is under way for one that has gone ends for nobody. Control thread, except for the
 * lookup.
 */
#ifndef WEIR_NAMES_RESOLVER_H
#define WEIR_NAMES_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/balance/server_updates.h"
#include "weir/base/figure.h"
#include "weir/stats/name_servers.h"

struct addrinfo;
struct engine;
struct ev_loop;
struct name_terms;
struct resolver;

/* getaddrinfo(3) and freeaddrinfo(3), or a test's replacements. */
struct resolver_calls {
	int (*lookup)(const char *host, const char *port, const struct addrinfo *hints,
		      struct addrinfo **out);
	void (*release)(struct addrinfo *list);
};

struct resolver_settings {
	const struct config_global *global; /* `resolver` and `resolvers` are copied */
	const struct resolver_calls *calls; /* copied; NULL = libc's */
	struct engine *engine; /* borrows: whose workers ask for names that clients choose; NULL = none do */
};

/* Is DNS built in, and by which version of c-ares? "" if not. */
bool resolver_has_dns(void);
const char *resolver_dns_version(void);

/* Begins to resolve the servers of `u` (borrowed until resolver_free) that have names. Creates no thread if
 * there are none. NULL on failure, with `*err` = -errno. */
struct resolver *resolver_new(struct ev_loop *loop, struct server_updates *u,
			      const struct resolver_settings *settings, int *err);
/* Ends the thread, or abandons it if it hangs in a lookup. Other watches of names (name_watch.h) end
 * before. */
void resolver_free(struct resolver *r);
/* Connects or health checks may have failed (server_address_failed()): servers go to the next address of
 * their names. And workers may have asked for names that clients chose (egress_desk.h). */
void resolver_heed(struct resolver *r);
/* Other `resolver` and `resolvers`: from the next query of each name on. */
void resolver_configure(struct resolver *r, const struct config_global *global);

/* Takes memory for a change, before it is committed (live_change.h), in which at most this many servers are
 * added with a name, or get another name; starts the thread if this would be the first one. Names come,
 * change and go as server_updates.h tells. 0, or with nothing taken -ENOMEM or another -errno. */
int resolver_prepare(struct resolver *r, size_t names);
/* The change is committed or was given up: frees what it did not need. */
void resolver_settle(struct resolver *r, size_t names);

/* For figure_sources whose `from` is a struct resolver, or NULL before there is one: lookups of names, and
 * what they needed of name servers. */
void resolver_publish(void *resolver, figure_report *report, void *to);
void resolver_publish_dns(void *resolver, figure_report *report, void *to);
/* For a name_servers_source of the same. */
size_t resolver_read_servers(void *resolver, struct name_server_view list[NAME_SERVERS_MAX]);

/* What the keys of a backend say about its names. */
void resolver_terms(const struct config_backend *b, struct name_terms *terms);
/* How long to wait before the next lookup: after `failures` failures in a row 1, 2, 4 ... s, at most
 * `interval_ns` (at most a minute if that is 0); after a success `interval_ns`. */
int64_t resolver_wait_ns(unsigned failures, int64_t interval_ns);

#endif

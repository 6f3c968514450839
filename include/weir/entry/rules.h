/* SPDX-License-Identifier: MIT
 *
 * rules.h - what the rules of a frontend say about a client: deny-from, allow-from, use-backend.
 *
 * Only reads the configuration. Workers apply the rules, and control explains them with the same functions,
 * so the two never disagree. Any thread.
 */
#ifndef WEIR_ENTRY_RULES_H
#define WEIR_ENTRY_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/config/config.h"
#include "weir/net/addr.h"
#include "weir/net/client_hello.h"

enum rules_verdict {
	RULES_PASS,
	RULES_DENIED,      /* deny-from contains the address */
	RULES_NOT_ALLOWED, /* allow-from does not */
};

/* Which condition of a route is not met; the first of several. */
enum rules_miss {
	RULES_MATCH,
	RULES_MISS_PORT,
	RULES_MISS_SRC,
	RULES_MISS_SNI,
	RULES_MISS_ALPN,
	RULES_MISS_PROTO,
};

/* What is known of what the client speaks. All zero: nothing, so no `sni`, `alpn` or `proto` is met. */
struct rules_hello {
	bool came;        /* a hello came; otherwise the rest is from a PROXY header, or there is none */
	const char *name; /* as client_hello.h defines it, need not end with a NUL; borrows */
	size_t name_len;  /* 0 = none */
	const struct client_hello *offered; /* borrows: its protocols; NULL = only the next one */
	const uint8_t *protocol;            /* borrows */
	size_t protocol_len;     /* 0 = none */
	unsigned proto;          /* one of enum config_proto; 0 = it is silent, or nobody looked */
};

/* Has the client an IP address? */
static inline bool rules_has_ip(const struct addr_brief *a)
{
	return a->family == AF_INET || a->family == AF_INET6;
}

/* `by_unix`: the client came in by a Unix socket. */
enum rules_verdict rules_judge(const struct config_frontend *c, bool by_unix,
			       const struct addr_brief *client);
/* Do maxconn-per-source and rate-limit-per-source apply to this client? Not to those of limit-exempt, nor to
 * one without an IP address. */
bool rules_limit_source(const struct config_frontend *c, const struct addr_brief *client);
/* May this peer send a PROXY header? */
bool rules_trust(const struct config_frontend *c, const struct addr_brief *peer);
/* Does the frontend use the names that clients ask for? */
bool rules_use_names(const struct config_frontend *c);
/* Does the route take this client? `port` is the port that the client connected to, 0 = it has none. */
enum rules_miss rules_match(const struct config_route *r, const struct addr_brief *client, uint16_t port,
			    const struct rules_hello *hello);
/* The index of the first route that does; c->route_count if there is none. */
size_t rules_route(const struct config_frontend *c, const struct addr_brief *client, uint16_t port,
		   const struct rules_hello *hello);

#endif

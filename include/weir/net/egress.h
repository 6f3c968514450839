/* SPDX-License-Identifier: MIT
 *
 * egress.h - where clients may be sent that choose their server by name (`server a = sni@443`): judges the
 * names, and the addresses that a name server gives for them.
 *
 * A stranger chooses the name, and may own the name server. So a name is one that can only mean something in
 * DNS, and an address is one that everybody on the Internet can reach, unless `allow-to` adds it. Pure; any
 * thread.
 */
#ifndef WEIR_NET_EGRESS_H
#define WEIR_NET_EGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/net/addr.h"
#include "weir/net/netset.h"

/* RFC 1035 2.3.4, without the trailing dot, and the NUL. */
#define EGRESS_NAME_MAX 254

/* Reads the name that a client asks for: labels of letters, digits and inner hyphens, at least two, the last
 * of which the C library or a browser would not read as a number (WHATWG URL, "ends in a number"), and which
 * is not `localhost`, which resolvers answer themselves (RFC 6761 6.3). Stores it in lower case, with a NUL.
 * False if it is not such a name; the bytes may be any. */
bool egress_name_read(const uint8_t *name, size_t len, char out[static EGRESS_NAME_MAX]);

/* What the kernel and weir itself know of an address. */
enum egress_route {
	EGRESS_ROUTE_FAR,     /* of another machine, or of none */
	EGRESS_ROUTE_OWN,     /* of this machine */
	EGRESS_ROUTE_GROUP,   /* broadcast, multicast or anycast: of several machines */
	EGRESS_ROUTE_LOOP,    /* weir itself listens at this address and port */
	EGRESS_ROUTE_UNKNOWN, /* the kernel did not say */
};

enum egress_verdict {
	EGRESS_FINE,
	EGRESS_SPECIAL,    /* not of the public Internet */
	EGRESS_TRANSLATED, /* it stands for an IPv4 address that is not fine, or is of a form that may */
	EGRESS_OWN,        /* of this machine, and `allow-to` does not have it */
	EGRESS_LOOP,
	EGRESS_UNKNOWN,
};

/* May a client be connected to `a`, an IPv4 or IPv6 address? `allow_to`: what is added to the public
 * Internet; NULL = nothing. A translated form that is fine is so as a whole: the IPv4 address within it is
 * judged as well. */
enum egress_verdict egress_judge(const struct addr_brief *a, const struct netset *allow_to,
				 enum egress_route route);
/* The IPv4 address that an IPv6 address of NAT64 (64:ff9b::/96, RFC 6052) stands for. False if it is none. */
bool egress_translated(const struct addr_brief *a, struct addr_brief *ip4);
/* Why an address was refused, for people: "10.1.2.3 is ...". Static. */
const char *egress_why(const struct addr_brief *a, enum egress_verdict verdict);

#endif

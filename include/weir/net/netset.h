/* SPDX-License-Identifier: MIT
 *
 * netset.h - a set of networks (CIDR), and whether an address lies in one of them.
 *
 * Built once, then immutable: sorted ranges that do not touch, so that a question is a binary search,
 * whatever was written. An IPv4 client of a listener for both families is IPv4 (addr.h does that).
 * Building: main thread. Asking: any thread.
 */
#ifndef WEIR_NET_NETSET_H
#define WEIR_NET_NETSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/net/addr.h"

/* Longest text of a prefix with its NUL: an IPv6 address, '/', 128. */
#define NETSET_TEXT_MAX 64

/* One network as written: "10.0.0.0/8", "2001:db8::/32", "192.0.2.7". */
struct net_prefix {
	uint16_t family; /* AF_INET, AF_INET6 */
	uint8_t bits;
	uint8_t ip[16]; /* network order; IPv4 in the first four bytes; what is behind `bits` is 0 */
};

struct netset; /* opaque */

/* Parses one prefix. 0, or -EINVAL with `*why` a sentence ("bits behind the prefix: write 10.0.0.0/8"),
 * which is static or the thread's until its next call. Without '/' it is one address. An IPv4-mapped one
 * ("::ffff:10.0.0.0/104") becomes the IPv4 network it is; a wider one ("::/0") has no IPv4 client in it. */
int net_prefix_parse(const char *text, struct net_prefix *out, const char **why);
/* Prints it ("10.0.0.0/8", "192.0.2.7") into `buf` of NETSET_TEXT_MAX bytes; returns `buf`. */
const char *net_prefix_format(const struct net_prefix *p, char *buf);

/* Makes a set of `count` prefixes, in any order, with any overlap. NULL without memory. */
struct netset *netset_new(const struct net_prefix *prefixes, size_t count);
void netset_free(struct netset *set); /* NULL is fine */

/* Is `a` in the set? A Unix address never is; an IPv4-mapped one is asked for as IPv4. */
bool netset_has(const struct netset *set, const struct addr_brief *a);

#endif

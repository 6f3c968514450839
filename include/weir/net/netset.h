/* SPDX-License-Identifier: MIT
 *
 * netset.h - a set of networks (CIDR) and a test whether it contains an address.
 *
 * Built once, then immutable: sorted ranges that do not touch, so a lookup is a binary search, whatever was
 * written. An IPv4 client of a dual-stack listener counts as IPv4 (addr.h converts it). Build on the main
 * thread; look up on any thread.
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
	uint8_t ip[16]; /* network order; IPv4 in the first four bytes; the bits past `bits` are 0 */
};

struct netset; /* opaque */

/* Parses one prefix. 0, or -EINVAL with `*why` a sentence ("bits are set after the prefix: write
 * 10.0.0.0/8"), static or valid until the thread's next call. Without '/' the prefix is a single address. An
 * IPv4-mapped prefix ("::ffff:10.0.0.0/104") becomes the IPv4 network; a wider one ("::/0") contains no IPv4
 * client. */
int net_prefix_parse(const char *text, struct net_prefix *out, const char **why);
/* Prints it ("10.0.0.0/8", "192.0.2.7") into `buf` of NETSET_TEXT_MAX bytes; returns `buf`. */
const char *net_prefix_format(const struct net_prefix *p, char *buf);

/* Builds a set from `count` prefixes, in any order, with any overlap. NULL when out of memory. */
struct netset *netset_new(const struct net_prefix *prefixes, size_t count);
/* The set also contains what `other` contains, which it borrows for as long as it is used. False when out of
 * memory. */
bool netset_include(struct netset *set, const struct netset *other);
void netset_free(struct netset *set); /* NULL is allowed */

/* Is `a` in the set? A Unix address never is; an IPv4-mapped one is looked up as IPv4. */
bool netset_has(const struct netset *set, const struct addr_brief *a);

#endif

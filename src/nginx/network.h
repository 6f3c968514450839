/* SPDX-License-Identifier: MIT
 *
 * network.h - networks of addresses, as a map, a geo and `allow` have them.
 *
 * Main thread.
 */
#ifndef WEIR_SRC_NGINX_NETWORK_H
#define WEIR_SRC_NGINX_NETWORK_H

#include <netinet/in.h>
#include <stdbool.h>

struct arena;

struct nginx_net {
	unsigned char address[sizeof(struct in6_addr)];
	unsigned bits;
	int family;
};

/* Reads an address, or a network with its length. False: the text is neither. */
bool nginx_net_read(struct arena *a, const char *text, struct nginx_net *out);
/* Is each address of `one` in `all`? */
bool nginx_net_covers(const struct nginx_net *all, const struct nginx_net *one);

#endif

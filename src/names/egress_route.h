/* SPDX-License-Identifier: MIT
 *
 * egress_route.h - whose address is it? The kernel's routing tables know each address of this machine, also
 * one that no interface shows (`ip route add local`), at the moment of the question.
 *
 * Control thread.
 */
#ifndef WEIR_NAMES_EGRESS_ROUTE_H
#define WEIR_NAMES_EGRESS_ROUTE_H

#include "weir/net/egress.h"

/* Of NAT64, the address of this machine may be the one within. EGRESS_ROUTE_UNKNOWN when the kernel cannot be
 * asked: no descriptor is left, for example. `*fd` is the socket to ask by, or -1, and is opened when needed;
 * close it with egress_route_close(). */
enum egress_route egress_route_of(int *fd, const struct addr_brief *a);
void egress_route_close(int *fd);
/* The same without AF_NETLINK: less exact, never too lenient. */
enum egress_route egress_route_by_bind(const struct addr_brief *a);

#endif

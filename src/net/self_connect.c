/* SPDX-License-Identifier: MIT
 *
 * self_connect.c - TCP sockets connected to themselves: when that is possible, and whether it has happened.
 *
 * Caches nothing: the port range and the machine's addresses are queried each time. Any thread.
 */
#include "weir/net/self_connect.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "weir/sys/sys.h"

/* Would a connect from `ours` to `to` go to its own address? A connect to 0.0.0.0 goes to its own source
 * address, one to :: goes to ::1 (tcp_v4_connect(), tcp_v6_connect()). */
static bool is_same_ip(const struct addr *ours, const struct addr *to)
{
	const struct in6_addr *six = &to->in6.sin6_addr;

	if (ours->sa.sa_family != to->sa.sa_family)
		return false;
	if (to->sa.sa_family == AF_INET)
		return to->in.sin_addr.s_addr == htonl(INADDR_ANY) ||
		       to->in.sin_addr.s_addr == ours->in.sin_addr.s_addr;
	if (IN6_IS_ADDR_UNSPECIFIED(six))
		six = &in6addr_loopback;
	return memcmp(six, &ours->in6.sin6_addr, sizeof(*six)) == 0;
}

/* Is this a port that the kernel chooses by itself? 0 = it may be any port. */
static bool is_chosen(uint16_t port)
{
	uint16_t first, last;

	return port == 0 || sys_port_range(&first, &last) != 0 || (port >= first && port <= last);
}

/* Does the kernel choose this very address as the source of a connect to it? It does so for every address of
 * this machine, except those of 127.0.0.0/8 other than 127.0.0.1. */
static bool is_chosen_source(const struct addr *to)
{
	struct addr from = {.len = sizeof(from.un)};

	return sys_route_source(&to->sa, to->len, &from.sa, &from.len) != 0 || is_same_ip(&from, to);
}

bool self_connect_possible(const struct addr *to, const struct self_connect_sources *sources)
{
	bool bound = false;

	if (addr_is_unix(to))
		return false;
	for (size_t i = 0; i < sources->count; i++) {
		const struct addr *source = &sources->list[i];
		const uint16_t port = addr_port(source);

		if (source->sa.sa_family != to->sa.sa_family)
			continue;
		bound = true;
		if ((addr_is_wildcard(source) ? is_chosen_source(to) : is_same_ip(source, to)) &&
		    (port == addr_port(to) || addr_port(to) == 0 ||
		     (port == 0 && is_chosen(addr_port(to)))))
			return true;
	}
	return !bound && is_chosen(addr_port(to)) && (sources->any || is_chosen_source(to));
}

bool self_connect_happened(int fd, const struct addr *to)
{
	struct addr ours = {.len = sizeof(ours.un)};

	return !addr_is_unix(to) && sys_getsockname(fd, &ours.sa, &ours.len) == 0 &&
	       is_same_ip(&ours, to) && addr_port(&ours) == addr_port(to);
}

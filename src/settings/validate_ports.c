/* SPDX-License-Identifier: MIT
 *
 * validate_ports.c - validates servers that have the client's port (:*), frontends that send clients there,
 * and ranges of ports.
 *
 * A health check has no client whose port it could take, and a client of a Unix socket has none. Main thread.
 */
#include <stdio.h>

#include "weir/sys/sys.h"
#include "build.h"

#define RESERVED_TEXT_MAX 8192

/* ---- servers with the client's port ---- */

static void validate_check(struct build *b, const struct proxy *p, size_t i)
{
	const struct config_server *s = &p->servers[i];

	if (s->addr.kind == ADDR_SNI)
		return; /* it cannot have any */
	if (!s->addr.client_port || !s->check || s->check_port != 0 || p->set.check.port != 0)
		return;
	diag_error(b->diag, DIAG_CONFLICT, p->server_at[i],
		   "the health checks of '%s' have no port: the server has that of each client (:*)",
		   s->name);
	diag_hint(b->diag, "add check-port=PORT, or check=off, to this server");
}

/* The first server of `p` with the client's port; NULL = none. */
static const struct config_server *find_ported(const struct proxy *p)
{
	for (size_t i = 0; i < p->server_count; i++)
		if (p->servers[i].addr.client_port)
			return &p->servers[i];
	return NULL;
}

/* The first with such a server of `back` and the fallbacks behind it; NULL = none. */
static const struct proxy *find_in_chain(const struct proxy *back)
{
	for (unsigned n = 0; back != NULL && n <= CONFIG_FALLBACK_MAX; n++, back = back->fallback)
		if (find_ported(back) != NULL)
			return back;
	return NULL;
}

/* The first proxy with such a server that `front` sends clients to; NULL = none. */
static const struct proxy *find_target(const struct proxy *front)
{
	const struct proxy *found = find_in_chain(front->target);

	for (size_t i = 0; i < front->route_count && found == NULL; i++)
		found = find_in_chain(front->routes[i].target);
	return found;
}

static void validate_unix(struct build *b, const struct proxy *front)
{
	const struct proxy *target = find_target(front);

	for (size_t i = 0; i < front->bind_count && target != NULL; i++) {
		const struct config_server *s = find_ported(target);

		if (front->binds[i].addr.kind != ADDR_UNIX)
			continue;
		diag_error(b->diag, DIAG_CONFLICT, front->bind_at[i],
			   "clients of a Unix socket have no port, and server '%s' of '%s' has the client's "
			   "(:*)", s->name, target->section->name);
		diag_hint(b->diag, "give the server a port, or send these clients to another backend");
	}
}

/* ---- ranges that the kernel gives to clients ---- */

/* Are all ports from `first` to `last` in the list, which is in ascending order? */
static bool are_reserved(const char *list, unsigned first, unsigned last)
{
	unsigned low, high;
	int len;

	while (first <= last && sscanf(list, "%u%n", &low, &len) == 1) {
		list += len;
		high = low;
		if (sscanf(list, "-%u%n", &high, &len) == 1)
			list += len;
		if (low <= first && high >= first)
			first = high + 1;
		list += *list == ',';
	}
	return first > last;
}

/* A connection of this machine that has one of the ports keeps the range from being bound. */
static void warn_of_local_ports(struct build *b, const struct proxy *p, size_t i)
{
	const struct addr_spec *spec = &p->binds[i].addr;
	char reserved[RESERVED_TEXT_MAX];
	uint16_t first, last;
	unsigned low, high;

	if (spec->last_port == 0 || sys_port_range(&first, &last) != 0)
		return;
	low = first > spec->port ? first : spec->port;
	high = last < spec->last_port ? last : spec->last_port;
	if (low > high ||
	    (sys_reserved_ports(reserved, sizeof(reserved)) == 0 && are_reserved(reserved, low, high)))
		return;
	diag_warning(b->diag, DIAG_CONFLICT, p->bind_at[i],
		     "the kernel gives ports %u to %u to connections of this machine, which keep the range "
		     "from being bound", low, high);
	diag_hint(b->diag,
		  "add %u-%u to sysctl net.ipv4.ip_local_reserved_ports, or choose ports outside %u to %u",
		  low, high, first, last);
}

void build_validate_ports(struct build *b, const struct proxy *p)
{
	for (size_t i = 0; build_is_backend(p) && i < p->server_count; i++)
		validate_check(b, p, i);
	if (p->section->kind == IN_BACKEND)
		return;
	validate_unix(b, p);
	for (size_t i = 0; i < p->bind_count; i++)
		warn_of_local_ports(b, p, i);
}

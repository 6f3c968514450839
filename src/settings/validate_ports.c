/* SPDX-License-Identifier: MIT
 *
 * validate_ports.c - validates servers that have the client's port (:*), and those who send clients there.
 *
 * A health check has no client whose port it could take, and a client of a Unix socket has none. Main thread.
 */
#include "build.h"

/* ---- servers with the client's port ---- */

static void validate_check(struct build *b, const struct proxy *p, size_t i)
{
	const struct config_server *s = &p->servers[i];

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

/* The first proxy with such a server that `front` sends clients to; NULL = none. */
static const struct proxy *find_target(const struct proxy *front)
{
	if (front->target != NULL && find_ported(front->target) != NULL)
		return front->target;
	for (size_t i = 0; i < front->route_count; i++)
		if (front->routes[i].target != NULL && find_ported(front->routes[i].target) != NULL)
			return front->routes[i].target;
	return NULL;
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

void build_validate_ports(struct build *b, const struct proxy *p)
{
	for (size_t i = 0; build_is_backend(p) && i < p->server_count; i++)
		validate_check(b, p, i);
	if (p->section->kind != IN_BACKEND)
		validate_unix(b, p);
}

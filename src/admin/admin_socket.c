/* SPDX-License-Identifier: MIT
 *
 * admin_socket.c - the listening socket of the admin protocol, with descriptors in reserve.
 *
 * Owns the socket, its path and the reserve. Reads and writes no byte of a client. Main thread.
 */
#include "weir/admin/admin_socket.h"

#include <errno.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/net/sock.h"
#include "weir/sys/low_fds.h"
#include "weir/sys/sys.h"

#define ADMIN_BACKLOG 64

/* False if there was nothing to give up. */
static bool release_reserve(struct admin_socket *s, int i)
{
	if (s->reserve[i] < 0)
		return false;
	sys_close(s->reserve[i]);
	s->reserve[i] = -1;
	return true;
}

void admin_socket_init(struct admin_socket *s)
{
	memset(s, 0, sizeof(*s));
	s->fd = -1;
	for (int i = 0; i < ADMIN_SOCKET_RESERVE; i++)
		s->reserve[i] = -1;
}

int admin_socket_open(struct admin_socket *s, const struct config_global *g)
{
	const struct sock_listen opt = {
		.backlog = ADMIN_BACKLOG,
		.mode = g->admin_owner.mode,
		.uid = g->admin_owner.uid,
		.gid = g->admin_owner.gid,
		.path = &s->path,
	};

	check(g->admin.kind != ADDR_NONE);
	admin_socket_init(s);
	if (g->admin.kind == ADDR_NAME)
		return -EINVAL; /* names are for servers; the configuration has refused them */
	s->config = g;
	s->addr = g->admin.addr;
	s->fd = sock_listen(&s->addr, &opt);
	if (s->fd < 0)
		return s->fd;
	admin_socket_refill(s);
	return 0;
}

void admin_socket_close(struct admin_socket *s)
{
	/* The path first, so that nobody finds a socket on which no one listens. */
	sock_path_release(&s->path, &s->addr);
	if (s->fd >= 0)
		sys_close(s->fd);
	for (int i = 0; i < ADMIN_SOCKET_RESERVE; i++)
		(void)release_reserve(s, i);
	s->fd = -1;
}

int admin_socket_accept(struct admin_socket *s)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);
	int fd = sys_accept(s->fd, (struct sockaddr *)&peer, &len);

	for (int i = 0; i < ADMIN_SOCKET_RESERVE && (fd == -EMFILE || fd == -ENFILE); i++) {
		if (!release_reserve(s, i))
			continue;
		len = sizeof(peer);
		fd = sys_accept(s->fd, (struct sockaddr *)&peer, &len);
	}
	/* A worker may have been faster; the client waits in the backlog and we retry later. */
	if (fd < 0)
		admin_socket_refill(s);
	return low_fds_take(fd);
}

void admin_socket_refill(struct admin_socket *s)
{
	for (int i = 0; i < ADMIN_SOCKET_RESERVE; i++)
		if (s->reserve[i] < 0)
			s->reserve[i] = low_fds_open_null();
}

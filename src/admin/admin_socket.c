/* SPDX-License-Identifier: MIT
 *
 * admin_socket.c - a listening socket of the admin protocol: opening and closing it.
 *
 * Owns the socket and its path. Accepts no client. Main thread.
 */
#include "weir/admin/admin_socket.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "weir/base/check.h"
#include "weir/net/sock.h"
#include "weir/sys/low_fds.h"

#define ADMIN_BACKLOG 64

/* What RuntimeDirectory= of our unit makes. */
static const char own_folder[] = "/run/weir";

void admin_socket_init(struct admin_socket *s)
{
	memset(s, 0, sizeof(*s));
	s->fd = -1;
}

static int listen_at(struct admin_socket *s, const struct addr *at, const struct config_socket_owner *owner)
{
	const struct sock_listen opt = {
		.backlog = ADMIN_BACKLOG,
		.mode = owner->mode,
		.uid = owner->uid,
		.gid = owner->gid,
		.path = &s->path,
	};
	int fd;

	s->addr = *at;
	fd = sock_listen(&s->addr, &opt);
	if (fd < 0)
		return fd;
	s->fd = fd;
	return 0;
}

/* The folder has our name: nobody who starts weir by hand has to make it. bind() says why if this fails. */
static void make_own_folder(const struct addr *at)
{
	const char *path = addr_is_unix(at) ? at->un.sun_path : "";
	const size_t len = sizeof(own_folder) - 1;

	if (strncmp(path, own_folder, len) == 0 && path[len] == '/')
		(void)mkdir(own_folder, 0755);
}

int admin_socket_open(struct admin_socket *s, const struct config_global *g)
{
	int err;

	check(g->admin.kind != ADDR_NONE);
	admin_socket_init(s);
	if (g->admin.kind == ADDR_NAME)
		return -EINVAL; /* names are for servers; the configuration has refused them */
	make_own_folder(&g->admin.addr);
	err = listen_at(s, &g->admin.addr, &g->admin_owner);
	if (!err)
		s->config = g;
	return err;
}

int admin_socket_open_private(struct admin_socket *s, const struct addr *at, uid_t uid)
{
	const struct config_socket_owner owner = {.mode = 0600, .uid = uid, .gid = (gid_t)-1};

	check(addr_is_unix(at));
	admin_socket_init(s);
	return listen_at(s, at, &owner);
}

void admin_socket_close(struct admin_socket *s)
{
	/* The path first, so that nobody finds a socket on which no one listens. */
	sock_path_release(&s->path, &s->addr);
	if (s->fd >= 0)
		low_fds_close(s->fd);
	if (s->claimed)
		low_fds_unclaim(1);
	admin_socket_init(s);
}

/* SPDX-License-Identifier: MIT
 *
 * admin_move.c - the configured admin socket comes, goes, moves or gets other permissions while admin serves.
 *
 * Everything that can fail is done while it is prepared, and undone if the reload fails. Main thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weir/admin/admin_socket.h"
#include "weir/base/check.h"
#include "weir/config/same.h"
#include "weir/net/sock.h"
#include "weir/sys/low_fds.h"
#include "admin_accept.h"

#define STATUS_MAX     4096
#define UMASK_STRICTEST 0777 /* if the umask is unknown: nobody but root until a mode is configured */

/* Asking umask(2) would change it for a moment, and other threads may be creating files. */
static mode_t read_umask(void)
{
	char status[STATUS_MAX];
	const char *line;
	const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return UMASK_STRICTEST;
	len = read(fd, status, sizeof(status) - 1);
	(void)close(fd); /* only read */
	status[len > 0 ? len : 0] = '\0';
	line = strstr(status, "\nUmask:");
	return line != NULL ? (mode_t)strtoul(line + strlen("\nUmask:"), NULL, 8) & 0777 : UMASK_STRICTEST;
}

static bool is_same_owner(const struct config_socket_owner *a, const struct config_socket_owner *b)
{
	return a->mode == b->mode && a->uid == b->uid && a->gid == b->gid;
}

/* Sets what differs. 0 or -errno. */
static int set_owner(const struct admin_socket *s, int mode, uid_t uid, gid_t gid)
{
	const struct sock_listen opt = {.mode = mode, .uid = uid, .gid = gid};
	struct sock_path path = s->path; /* its file is the same afterwards */

	return sock_path_own(&path, s->fd, &s->addr, &opt);
}

static void restore_owner(const struct admin_socket *next)
{
	const struct stat *st = &next->before;

	/* What could be changed can be changed back, unless the path is another's by now. */
	(void)set_owner(next->kept, (int)(st->st_mode & 07777), st->st_uid, st->st_gid);
}

/* Gives the path of the socket that goes on the mode and the owner that a new socket would get. */
static int own_again(struct admin_socket *next)
{
	const struct config_socket_owner *from = &next->kept->config->admin_owner;
	const struct config_socket_owner *to = &next->config->admin_owner;
	const struct sock_path *path = &next->kept->path;
	const int mode = to->mode >= 0 ? to->mode : from->mode >= 0 ? (int)(0777 & ~read_umask()) : -1;
	int err;

	if (lstat(next->kept->addr.un.sun_path, &next->before) != 0)
		return -errno;
	if (next->before.st_dev != path->dev || next->before.st_ino != path->ino)
		return -ESTALE;
	err = set_owner(next->kept, mode,
			to->uid == (uid_t)-1 && from->uid != (uid_t)-1 ? geteuid() : to->uid,
			to->gid == (gid_t)-1 && from->gid != (gid_t)-1 ? getegid() : to->gid);
	if (err)
		restore_owner(next); /* the owner may have been changed before the mode could not be */
	next->owned = err == 0;
	return err;
}

static int keep(struct admin_socket *next, const struct config_global *g, const struct admin_socket *now)
{
	next->kept = now;
	next->config = g;
	if (now->addr.un.sun_path[0] == '\0' || is_same_owner(&now->config->admin_owner, &g->admin_owner))
		return 0;
	return own_again(next);
}

static int open_low(struct admin_socket *next, const struct config_global *g)
{
	int err = low_fds_claim(1);

	if (err)
		return err;
	err = admin_socket_open(next, g);
	next->claimed = true;
	if (!err) {
		next->fd = low_fds_take(next->fd);
		err = next->fd < 0 ? next->fd : 0;
	}
	if (err) {
		const pid_t holder = next->path.holder;

		admin_socket_close(next);
		next->path.holder = holder;
	}
	return err;
}

int admin_prepare_socket(struct admin_socket *next, const struct config_global *g,
			 const struct admin_socket *now)
{
	admin_socket_init(next);
	if (g->admin.kind == ADDR_NONE)
		return 0;
	if (now->fd >= 0 && config_addr_same(&now->config->admin, &g->admin))
		return keep(next, g, now);
	return open_low(next, g);
}

void admin_commit_socket(struct admin *a, struct admin_socket *next)
{
	struct admin_door *d = &a->configured;
	struct admin_socket *now = d->socket;

	if (next->kept != NULL) {
		check(next->kept == now);
		now->config = next->config;
		admin_access_init(&d->access, now->config);
	} else {
		admin_accept_rest(d);
		admin_accept_stop(d);
		admin_socket_close(now);
		*now = *next;
		admin_accept_start(a, d, now);
	}
	admin_socket_init(next);
}

void admin_undo_socket(struct admin_socket *next)
{
	if (next->owned)
		restore_owner(next);
	admin_socket_close(next);
}

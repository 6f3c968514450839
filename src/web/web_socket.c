/* SPDX-License-Identifier: MIT
 *
 * web_socket.c - the listening socket of the HTTP endpoint: opening, closing, and moving it in a reload.
 *
 * Owns the socket and its path. Accepts no client. Everything that can fail is done while a move is prepared,
 * and undone if the reload fails. Main thread.
 */
#include "weir/web/web_socket.h"

#include <errno.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/log.h"
#include "weir/config/same.h"
#include "weir/net/addr_reach.h"
#include "weir/net/sock.h"
#include "weir/net/sock_leave.h"
#include "weir/sys/low_fds.h"
#include "web_parts.h"

#define WEB_BACKLOG 128

void web_socket_init(struct web_socket *s)
{
	memset(s, 0, sizeof(*s));
	s->fd = -1;
}

static struct sock_listen listen_of(const struct config_socket_owner *owner)
{
	return (struct sock_listen){
		.backlog = WEB_BACKLOG, .mode = owner->mode, .uid = owner->uid, .gid = owner->gid};
}

/* `s->beside` says whether it shares its port. */
static int listen_at(struct web_socket *s, const struct config_stats *c)
{
	struct sock_listen opt = listen_of(&c->owner);
	int fd;

	check(c->addr.kind == ADDR_IP || c->addr.kind == ADDR_ANY || c->addr.kind == ADDR_UNIX);
	if (!web_is_built())
		return -ENOSYS;
	opt.share_port = s->beside;
	opt.path = &s->path;
	s->addr = c->addr.addr;
	fd = sock_listen(&s->addr, &opt);
	if (fd == -EAFNOSUPPORT && c->addr.kind == ADDR_ANY) {
		addr_any4(&s->addr, c->addr.port);
		fd = sock_listen(&s->addr, &opt);
	}
	if (fd < 0)
		return fd;
	s->fd = fd;
	s->config = c;
	return 0;
}

int web_socket_open(struct web_socket *s, const struct config_stats *c)
{
	web_socket_init(s);
	return listen_at(s, c);
}

void web_socket_close(struct web_socket *s)
{
	/* The path first, so that nobody finds a socket on which no one listens. */
	sock_path_release(&s->path, &s->addr);
	if (s->fd >= 0)
		low_fds_close(s->fd);
	if (s->claimed)
		low_fds_unclaim(WEB_LOW_FDS);
	web_socket_init(s);
}

/* ---- moving ---- */

static bool overlaps(const struct web_socket *now, const struct config_stats *c)
{
	const struct addr_reach here = {.addr = &now->addr}, there = {.addr = &c->addr.addr};

	return now->fd >= 0 && addr_overlaps(&here, &there);
}

/* One that fails would let in another socket of our own user that asks for it. */
static void share_no_more(const struct web_socket *s)
{
	if (s->fd >= 0)
		(void)sock_unshare_port(s->fd);
}

static int open_low(struct web_socket *next, const struct config_stats *c)
{
	int err = low_fds_claim(WEB_LOW_FDS);

	if (err)
		return err;
	next->claimed = true;
	err = listen_at(next, c);
	if (!err) {
		next->fd = low_fds_take(next->fd);
		err = next->fd < 0 ? next->fd : 0;
	}
	if (err) {
		const pid_t holder = next->path.holder;

		web_socket_close(next);
		next->path.holder = holder;
	}
	return err;
}

static int open_beside(struct web_socket *next, const struct config_stats *c, const struct web_socket *now)
{
	int err;

	if (!overlaps(now, c))
		return open_low(next, c);
	err = sock_share_port(now->fd);
	if (err)
		return err;
	next->beside = true;
	err = open_low(next, c);
	if (err)
		share_no_more(now);
	return err;
}

static int keep(struct web_socket *next, const struct config_stats *c, const struct web_socket *now)
{
	const struct sock_listen has = listen_of(&now->config->owner);
	struct sock_listen gets = listen_of(&c->owner);

	next->kept = now;
	next->config = c;
	if (!now->path.bound || !sock_path_plan_owner(&has, &gets))
		return 0;
	next->owns = true;
	next->owner = (struct config_socket_owner){.mode = gets.mode, .uid = gets.uid, .gid = gets.gid};
	return sock_path_try_own(&now->path, &now->addr, &gets);
}

int web_prepare_socket(struct web *w, struct web_socket *next, const struct config_stats *c)
{
	int err;

	web_socket_init(next);
	if (c->addr.kind == ADDR_NONE)
		return 0;
	if (w->socket->fd >= 0 && config_addr_same(&w->socket->config->addr, &c->addr))
		return keep(next, c, w->socket);
	err = open_beside(next, c, w->socket);
	if (err || w->http != NULL)
		return err;
	err = web_start_http(w);
	next->started = err == 0;
	if (err)
		web_undo_socket(w, next);
	return err;
}

static void own_again(const struct web_socket *now, const struct config_socket_owner *owner)
{
	const struct sock_listen opt = listen_of(owner);
	const int err = sock_path_own_again(&now->path, &now->addr, &opt);

	if (err)
		log_line(LOG_LEVEL_WARNING,
			 "cannot change mode and owner of the HTTP endpoint: %s; a restart sets them",
			 strerrordesc_np(-err));
}

void web_commit_socket(struct web *w, struct web_socket *next)
{
	struct web_socket *now = w->socket;

	if (next->kept != NULL) {
		check(next->kept == now);
		if (next->owns)
			own_again(now, &next->owner);
		now->config = next->config;
		web_socket_init(next);
		if (now->fd >= 0)
			web_keep_histograms(w);
		return;
	}
	web_door_close(w);
	web_socket_close(now);
	*now = *next;
	web_socket_init(next);
	if (now->beside)
		share_no_more(now);
	now->beside = false;
	now->started = false;
	if (now->fd >= 0)
		web_door_open(w);
	else
		web_stop_http(w);
}

void web_undo_socket(struct web *w, struct web_socket *next)
{
	if (next->started)
		web_stop_http(w);
	if (next->beside)
		share_no_more(w->socket);
	web_socket_close(next);
}

/* SPDX-License-Identifier: MIT
 *
 * admin_accept.c - new connections to the admin socket: admitted, refused, or given the place of another.
 *
 * Asks admin_access.c who is admitted, and admin_places.c who has to leave. What strangers cause is counted,
 * and logged at a bounded rate. Main thread.
 */
#include "admin_accept.h"

#include <errno.h>
#include <ev.h>

#include "weir/base/clock.h"
#include "weir/sys/low_fds.h"
#include "weir/sys/sys.h"
#include "admin_places.h"

#define ACCEPT_RETRY_S 0.1

static bool may_log_refusal(struct admin *a, const struct admin_peer *peer)
{
	return log_limit_ok(&a->limit, LOG_CAUSE_ADMIN, peer->uid, clock_mono_ns(), 1);
}

/* Sends the peer one line with the reason; takes `fd` and `why`. With a place to spare, its connection
 * lingers, so that its request does not fail before it has read that line. */
static void turn_away(struct admin *a, int fd, const struct admin_peer *peer, struct text *why)
{
	struct client *c = admin_places_find_spare(a);

	if (c == NULL) {
		(void)sys_send(fd, why->bytes, why->len); /* an empty socket has room for a line */
		low_fds_close(fd);
		text_free(why);
		return;
	}
	client_begin(c, fd, peer);
	c->linger = true;
	c->answer = *why;
	client_answer(c);
}

static void refuse_peer(struct admin_door *d, int fd, const struct admin_peer *peer)
{
	struct admin *a = d->admin;
	struct text why;

	a->ctx->totals->refused++;
	if (may_log_refusal(a, peer))
		log_line(LOG_LEVEL_WARNING,
			 d->access.config != NULL
				 ? "the admin socket refused uid %u (pid %d); to admit it, add it to "
				   "allow-uid= or one of its groups to allow-gid= of 'admin-socket' in "
				   "[global]"
				 : "the control socket refused uid %u (pid %d); only root and weir's own "
				   "user may use it",
			 (unsigned)peer->uid, (int)peer->pid);
	text_init(&why);
	admin_access_refusal(&d->access, peer, &why);
	turn_away(a, fd, peer, &why);
}

static void refuse_crowd(struct admin *a, int fd, const struct admin_peer *peer)
{
	struct text why;

	a->ctx->totals->busy++;
	if (may_log_refusal(a, peer))
		log_line(LOG_LEVEL_WARNING,
			 "the admin socket is busy: uid %u (pid %d) was refused, because root or weir's "
			 "own user has all %d connections",
			 (unsigned)peer->uid, (int)peer->pid, ADMIN_CLIENTS_MAX);
	text_init(&why);
	text_printf(&why, "error: busy: all %d connections are root's or weir's own; try again later\n",
		    ADMIN_CLIENTS_MAX);
	turn_away(a, fd, peer, &why);
}

void admin_accept_evict(struct client *c, const struct admin_peer *peer)
{
	static const char why[] =
		"error: closed to make room for another client, because this connection was idle\n";
	struct admin *a = c->admin;

	if (c->state == CLIENT_READING)
		(void)sys_send(c->fd, why, sizeof(why) - 1);
	a->ctx->totals->evicted++;
	if (may_log_refusal(a, &c->peer))
		log_line(LOG_LEVEL_WARNING,
			 "the admin socket closed a connection of uid %u (pid %d), idle for %.1f s, to make "
			 "room for uid %u (pid %d)",
			 (unsigned)c->peer.uid, (int)c->peer.pid, admin_places_idle_s(c),
			 (unsigned)peer->uid, (int)peer->pid);
	client_close(c);
}

/* Takes `fd`. */
static void let_in(struct admin_door *d, int fd)
{
	struct admin *a = d->admin;
	struct admin_peer peer;
	struct client *c;

	if (!admin_access_judge(&d->access, fd, &peer)) {
		refuse_peer(d, fd, &peer);
		return;
	}
	c = admin_places_find(a, &peer);
	if (c == NULL) {
		refuse_crowd(a, fd, &peer);
		return;
	}
	if (c->state == CLIENT_LINGERING) {
		client_close(c);
	} else if (c->state != CLIENT_FREE) {
		d->turn -= d->turn > 0;
		admin_accept_evict(c, &peer);
	}
	client_begin(c, fd, &peer);
}

static void accept_later(struct admin_door *d, double seconds)
{
	ev_io_stop(d->admin->loop, &d->accept); /* client_close() may start it sooner */
	ev_timer_set(&d->accept_retry, seconds, 0.);
	ev_timer_start(d->admin->loop, &d->accept_retry);
}

static void on_accept(struct ev_loop *loop, struct ev_io *io, int revents)
{
	struct admin_door *d = io->data;
	int fd;

	(void)loop;
	/* The kernel had no memory to watch the socket, so libev has stopped the watcher. */
	if ((revents & EV_ERROR) != 0) {
		accept_later(d, ACCEPT_RETRY_S);
		return;
	}
	/* One per wake-up would do; more save wake-ups. */
	for (int i = 0; i < ADMIN_CLIENTS_MAX; i++) {
		if (admin_places_full(d->admin) && (d->turn == 0 || !admin_places_may_end(d->admin))) {
			d->turn_due = true;
			accept_later(d, ADMIN_TURN_S);
			return;
		}
		fd = admin_reserve_accept(&d->admin->reserve, d->socket->fd);
		if (fd == -EAGAIN) {
			d->turn = 0;
			return;
		}
		if (fd == -ECONNABORTED)
			continue;
		if (fd < 0) {
			/* Out of descriptors or memory. The event persists, so retrying at once would
			 * spin. */
			accept_later(d, ACCEPT_RETRY_S);
			return;
		}
		let_in(d, fd);
	}
}

static void on_accept_retry(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct admin_door *d = timer->data;

	(void)revents;
	if (d->turn_due)
		d->turn = ADMIN_TURN_CLIENTS;
	d->turn_due = false;
	ev_io_start(loop, &d->accept);
	on_accept(loop, &d->accept, 0); /* their turn ends when the backlog is empty */
}

void admin_accept_start(struct admin *a, struct admin_door *d, struct admin_socket *socket)
{
	*d = (struct admin_door){.admin = a, .socket = socket};
	admin_access_init(&d->access, socket->config);
	ev_io_init(&d->accept, on_accept, socket->fd, EV_READ);
	d->accept.data = d;
	ev_timer_init(&d->accept_retry, on_accept_retry, ACCEPT_RETRY_S, 0.);
	/* What has come from clients is read first: on a busy machine both may be late. */
	ev_set_priority(&d->accept_retry, EV_MINPRI);
	d->accept_retry.data = d;
	if (socket->fd >= 0)
		ev_io_start(a->loop, &d->accept);
}

void admin_accept_stop(struct admin_door *d)
{
	ev_io_stop(d->admin->loop, &d->accept);
	ev_timer_stop(d->admin->loop, &d->accept_retry);
}

void admin_accept_rest(struct admin_door *d)
{
	while (d->socket->fd >= 0 && !admin_places_full(d->admin)) {
		const int fd = admin_reserve_accept(&d->admin->reserve, d->socket->fd);

		if (fd >= 0)
			let_in(d, fd);
		else if (fd != -ECONNABORTED)
			return;
	}
}

static void door_again(struct admin_door *d)
{
	if (d->socket->fd < 0)
		return;
	d->turn_due = false;
	ev_timer_stop(d->admin->loop, &d->accept_retry);
	ev_io_start(d->admin->loop, &d->accept);
}

void admin_accept_again(struct admin *a)
{
	if (admin_places_full(a))
		return;
	door_again(&a->configured);
	door_again(&a->control);
}

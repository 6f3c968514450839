/* SPDX-License-Identifier: MIT
 *
 * admin_accept.c - newcomers at the admin socket: let in or refused.
 *
 * Asks admin_access.c who may come. What strangers cause is counted, and logged at a bounded rate. Main
 * thread. Floor 5.
 */
#include "weir/control/admin_accept.h"

#include <errno.h>
#include <ev.h>

#include "weir/base/clock.h"
#include "weir/io/sys.h"

#define ACCEPT_RETRY_S 0.1

static struct client *free_client(struct admin *a)
{
	for (size_t i = 0; i < ADMIN_CLIENTS_MAX; i++)
		if (a->clients[i].state == CLIENT_FREE)
			return &a->clients[i];
	return NULL;
}

static bool may_log(struct admin *a, const struct admin_peer *peer)
{
	return log_limit_ok(&a->limit, LOG_CAUSE_ADMIN, peer->uid, clock_mono_ns(), 1);
}

/* Tells the peer in one line why it goes. Its connection lingers, so that what it is sending does not fail
 * before it has read that line. */
static void turn_away(struct admin *a, int fd, const struct admin_peer *peer, const struct text *why)
{
	struct client *c = free_client(a);

	client_begin(c, fd, peer);
	c->linger = true;
	text_add(&c->answer, why->bytes, why->len);
	client_answer(c);
}

static void refuse_peer(struct admin *a, int fd, const struct admin_peer *peer)
{
	struct text why;

	if (a->ctx->totals != NULL)
		a->ctx->totals->refused++;
	if (may_log(a, peer))
		log_line(LOG_LEVEL_WARNING,
			 "the admin socket refused uid %u (pid %d): write allow-uid=%u behind admin-socket "
			 "in [global] if it may use it",
			 (unsigned)peer->uid, (int)peer->pid, (unsigned)peer->uid);
	text_init(&why);
	admin_access_refusal(&a->access, peer, &why);
	turn_away(a, fd, peer, &why);
	text_free(&why);
}

/* Takes `fd`, for which there is a free client. */
static void let_in(struct admin *a, int fd)
{
	struct admin_peer peer;

	if (!admin_access_judge(&a->access, fd, &peer))
		refuse_peer(a, fd, &peer);
	else
		client_begin(free_client(a), fd, &peer);
}

static void on_accept(struct ev_loop *loop, struct ev_io *io, int revents)
{
	struct admin *a = io->data;
	int fd;

	(void)revents;
	/* One for each wake-up would do; a few more save wake-ups. */
	for (int i = 0; i < ADMIN_CLIENTS_MAX; i++) {
		if (free_client(a) == NULL) {
			ev_io_stop(loop, &a->accept); /* client_close() starts it again */
			return;
		}
		fd = admin_socket_accept(a->socket);
		if (fd == -EAGAIN)
			return;
		if (fd == -ECONNABORTED)
			continue;
		if (fd < 0) {
			/* Out of descriptors or memory: the event stays, so asking again at once would spin.
			 */
			ev_io_stop(loop, &a->accept);
			ev_timer_set(&a->accept_retry, ACCEPT_RETRY_S, 0.);
			ev_timer_start(loop, &a->accept_retry);
			return;
		}
		let_in(a, fd);
	}
}

static void on_accept_retry(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct admin *a = timer->data;

	(void)revents;
	ev_io_start(loop, &a->accept);
}

void admin_accept_start(struct admin *a)
{
	admin_access_init(&a->access, a->socket->config);
	ev_io_init(&a->accept, on_accept, a->socket->fd, EV_READ);
	a->accept.data = a;
	ev_timer_init(&a->accept_retry, on_accept_retry, ACCEPT_RETRY_S, 0.);
	a->accept_retry.data = a;
	ev_io_start(a->loop, &a->accept);
}

void admin_accept_stop(struct admin *a)
{
	ev_io_stop(a->loop, &a->accept);
	ev_timer_stop(a->loop, &a->accept_retry);
}

void admin_accept_again(struct admin *a)
{
	ev_timer_stop(a->loop, &a->accept_retry);
	ev_io_start(a->loop, &a->accept);
}

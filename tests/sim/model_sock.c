/* SPDX-License-Identifier: MIT
 *
 * model_sock.c - connections: how they begin, end, and what poll(2) says of them.
 *
 * Owns the state of both ends. Follows tcp_poll, tcp_close, tcp_reset, unix_poll and
 * unix_release_sock of Linux 6.18 line by line where a program can tell the difference.
 * One thread. Tests only.
 */
#include <errno.h>
#include <string.h>

#include "cover.h"
#include "model.h"

struct msock *msock_new(bool tcp)
{
	struct msock *s;

	if (model.sock_top == MODEL_SOCKS)
		return NULL;
	s = &model.socks[model.sock_top++];
	s->fd = -1;
	s->tcp = tcp;
	s->state = SOCK_NEW;
	s->rcvbuf = model.rcvbuf;
	s->sndbuf = model.sndbuf;
	s->side = -1;
	s->index = -1;
	return s;
}

void msock_unmake(struct msock *s)
{
	if (s != &model.socks[model.sock_top - 1])
		sim_fail("the model forgets a socket that is not the last");
	memset(s, 0, sizeof(*s));
	model.sock_top--;
}

void msock_pair(struct msock *a, struct msock *b)
{
	a->peer = b;
	b->peer = a;
}

/* ---- poll ---- */

uint32_t msock_mask(struct msock *s)
{
	const uint32_t unread = msock_unread(s);
	uint32_t mask = 0;

	if (s->err)
		mask |= EPOLLERR;
	if ((s->rcv_shut && s->snd_shut) || s->state == SOCK_CLOSED || s->state == SOCK_NEW)
		mask |= EPOLLHUP;
	if (s->rcv_shut)
		mask |= EPOLLIN | EPOLLRDHUP;
	if (s->state == SOCK_CONNECTING)
		return mask;
	if (unread > (s->tcp && msock_has_mark(s) && !s->oobinline ? 1u : 0u))
		mask |= EPOLLIN;
	if (s->tcp && s->snd_shut) {
		mask |= EPOLLOUT;
	} else if (msock_writable(s)) {
		mask |= EPOLLOUT;
	} else if (s->tcp) {
		s->nospace = true; /* tcp_poll asks for a wake-up when it finds no room */
	}
	if (s->urg_valid)
		mask |= EPOLLPRI;
	return mask;
}

/* The next byte is the urgent one. */
bool msock_has_mark(const struct msock *s)
{
	return s->urg_valid && s->urg_seq == s->rx_read;
}

int msock_take_error(struct msock *s)
{
	const int err = s->err;

	s->err = 0;
	return err;
}

/* ---- reset ---- */

/* Does a pipe hold bytes that came in here? */
static bool pipe_holds_of(const struct msock *s)
{
	for (int i = 0; i < MODEL_PIPES; i++) {
		const struct mpipe *p = &model.pipes[i];

		if (p->used && p->count > 0 && p->slots[p->head].key == s->rx_key)
			return true;
	}
	return false;
}

static void note_reset(const struct msock *s)
{
	if (!s->watched || s->fd < 0)
		return;
	if (msock_unread(s) > 0)
		cover(COVER_RST_QUEUE_BYTES);
	if (pipe_holds_of(s))
		cover(COVER_RST_PIPE_BYTES);
	if (s->done)
		cover(COVER_FIN_THEN_RST);
}

static void reset_arrives(struct msock *s)
{
	if (s == NULL || s->state == SOCK_CLOSED)
		return;
	/* Both FINs have passed: TIME_WAIT or gone, a RST changes nothing any more. */
	if (s->rcv_shut && s->fin_sent)
		return;
	note_reset(s);
	s->rst_seen = true;
	if (s->state == SOCK_CONNECTING)
		s->err = ECONNREFUSED;
	else
		s->err = s->rcv_shut && !s->snd_shut ? EPIPE : ECONNRESET; /* EPIPE in CLOSE_WAIT */
	s->state = SOCK_CLOSED;
	s->rcv_shut = true;
	s->snd_shut = true;
	s->tx_wired = s->tx_total; /* the send queue is purged; SIOCOUTQ keeps its old answer */
	trace("  RST arrives at %c%d (fd %d), unread %u", s->side == 1 ? 's' : 'c', s->index, s->fd,
	      msock_unread(s));
	mfile_wake(s->fd, 0);
}

void msock_send_reset(struct msock *from)
{
	struct msock *to = from->peer;

	if (from->state == SOCK_OPEN || from->state == SOCK_CONNECTING) {
		from->state = SOCK_CLOSED;
		from->rcv_shut = true;
		from->snd_shut = true;
		from->tx_wired = from->tx_total;
	}
	from->rx_lost = true;
	reset_arrives(to);
}

/* ---- close ---- */

static void close_tcp(struct msock *s)
{
	const bool over = s->rcv_shut && s->fin_sent;

	if (s->state == SOCK_NEW || s->state == SOCK_CLOSED)
		return;
	if (s->state == SOCK_CONNECTING) {
		msock_send_reset(s);
		return;
	}
	if (s->watched && msock_unread(s) > 0)
		cover(COVER_CLOSE_UNREAD);
	if (s->linger0 && s->watched) {
		cover(COVER_LINGER_RESET);
		if (s->tx_total > 0 && s->tx_acked == s->tx_total)
			cover(COVER_LINGER_RESET_EMPTY);
	}
	if (!over && (s->linger0 || msock_unread(s) > 0)) {
		msock_send_reset(s);
		return;
	}
	s->rx_lost = true;
	s->snd_shut = true;
	if (model.auto_wire)
		wire_flush(s);
}

static void close_unix(struct msock *s)
{
	struct msock *p = s->peer;

	if (s->state != SOCK_OPEN)
		return;
	s->state = SOCK_CLOSED;
	s->rcv_shut = true;
	s->snd_shut = true;
	s->rx_lost = true;
	s->fin_sent = true;
	if (p == NULL || p->state != SOCK_OPEN)
		return;
	if (msock_unread(s) > 0) {
		p->err = ECONNRESET;
		p->rst_seen = true;
		if (p->watched)
			cover(COVER_UNIX_RESET);
		note_reset(p);
	}
	p->rcv_shut = true;
	p->snd_shut = true;
	mfile_wake(p->fd, 0);
}

void msock_close(struct msock *s)
{
	if (s->tcp)
		close_tcp(s);
	else
		close_unix(s);
}

void msock_shutdown_wr(struct msock *s)
{
	struct msock *p = s->peer;

	s->snd_shut = true;
	mfile_wake(s->fd, 0); /* shutdown wakes its own socket too */
	if (s->tcp) {
		if (model.auto_wire)
			wire_flush(s);
		return;
	}
	s->fin_sent = true;
	if (p != NULL && p->state == SOCK_OPEN) {
		p->rcv_shut = true;
		if (p->watched && pipe_holds_of(p))
			cover(COVER_FIN_PIPE_BYTES);
		mfile_wake(p->fd, 0);
	}
}

void msock_fin_arrives(struct msock *s)
{
	s->rcv_shut = true;
	s->done = true;
	if (s->watched && pipe_holds_of(s))
		cover(COVER_FIN_PIPE_BYTES);
	trace("  FIN arrives at %c%d (fd %d), unread %u", s->side == 1 ? 's' : 'c', s->index, s->fd,
	      msock_unread(s));
	mfile_wake(s->fd, 0);
}

/* ---- begin ---- */

void msock_established(struct msock *s, int result)
{
	struct msock *p = s->peer;

	if (s->state != SOCK_CONNECTING)
		return;
	if (result == 0) {
		s->state = SOCK_OPEN;
		if (p != NULL)
			p->state = SOCK_OPEN;
	} else {
		s->state = SOCK_CLOSED;
		s->err = -result;
		s->rcv_shut = true;
		s->snd_shut = true;
	}
	trace("  connect of fd %d ends: %d", s->fd, result);
	mfile_wake(s->fd, 0);
}

int msock_listen(bool tcp, bool oobinline)
{
	const int fd = mfile_open(FILE_LISTENER);
	struct mlistener *l;

	if (fd < 0)
		return fd;
	if (model.listener_top == MODEL_LISTENERS)
		sim_fail("the model has no more listeners");
	l = &model.listeners[model.listener_top++];
	memset(l, 0, sizeof(*l));
	l->tcp = tcp;
	l->oobinline = oobinline;
	l->fd = fd;
	l->fds = 1;
	model.files[fd].listener = l;
	return fd;
}

int msock_dup(int fd)
{
	const struct mfile *f = mfile_get(fd);
	struct mlistener *l = f->listener;
	int more;

	if (f->kind != FILE_LISTENER)
		sim_fail("dup of descriptor %d, which does not listen", fd);
	more = mfile_open(FILE_LISTENER);
	if (more < 0)
		return more;
	model.files[more].listener = l;
	l->fds++;
	return more;
}

struct msock *msock_connect_to(int listener_fd)
{
	struct mlistener *l = mfile_get(listener_fd)->listener;
	struct msock *outside;
	struct msock *inside;

	if (l->count == MODEL_BACKLOG || model.sock_top + 2 > MODEL_SOCKS)
		return NULL;
	/* Otherwise the handshake was in flight when the listener went deaf. */
	if (l->deaf && (model.now_ns - l->deaf_ns > MODEL_FLIGHT_NS || prng_chance(&model.rng, 50)))
		return NULL;
	outside = msock_new(l->tcp);
	inside = msock_new(l->tcp);
	msock_pair(outside, inside);
	outside->state = SOCK_OPEN;
	inside->state = SOCK_OPEN;
	inside->watched = true;
	inside->oobinline = l->tcp && l->oobinline; /* Unix accept inherits nothing */
	inside->deaf = l->deaf;
	l->queue[(l->head + l->count++) % MODEL_BACKLOG] = inside;
	mfile_wake(listener_fd, EPOLLIN);
	return outside;
}

int msock_accept(int fd)
{
	struct mfile *f = mfile_get(fd);
	struct mlistener *l = f->listener;
	struct msock *s;
	int new_fd;

	if (f->kind != FILE_LISTENER)
		sim_fail("accept on descriptor %d, which does not listen", fd);
	if (l->count == 0)
		return -EAGAIN;
	if (site(SITE_ACCEPT_EMFILE)) {
		cover(COVER_ACCEPT_ERROR);
		l->failed = true;
		return -EMFILE;
	}
	new_fd = mfile_open(FILE_SOCK);
	if (new_fd < 0)
		return new_fd;
	s = l->queue[l->head];
	l->head = (l->head + 1) % MODEL_BACKLOG;
	l->count--;
	model.files[new_fd].sock = s;
	s->fd = new_fd;
	s->unspliceable = site(SITE_UNSPLICEABLE);
	return new_fd;
}

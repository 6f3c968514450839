/* SPDX-License-Identifier: MIT
 *
 * model_wire.c - bytes between two ends: send queue, wire, acknowledgement, receive queue, recv.
 *
 * Owns the counters of a connection's two streams. A Unix socket has no wire: what is sent lies in
 * the peer's queue at once, and its memory is the sender's until it is read. Follows
 * tcp_recvmsg_locked, unix_stream_read_generic and sk_stream_write_space. One thread. Tests only.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "cover.h"
#include "model.h"
#include "stream.h"

#define UNIX_FRAG_COST 256u

uint32_t msock_unread(const struct msock *s)
{
	return s->rx_total - s->rx_read;
}

/* ---- sending ---- */

uint32_t msock_send_used(const struct msock *s)
{
	if (s->tcp)
		return s->tx_total - s->tx_acked;
	if (s->peer == NULL || s->peer->rx_lost)
		return 0;
	return msock_unread(s->peer) + s->peer->frag_count * UNIX_FRAG_COST;
}

bool msock_writable(const struct msock *s)
{
	const uint32_t used = msock_send_used(s);

	/* sk_stream_min_wspace: a third must be free; unix_writable: three quarters. */
	if (s->tcp)
		return s->sndbuf >= used && s->sndbuf - used >= used / 2;
	return used * 4 <= s->sndbuf;
}

static ssize_t send_room_unix(struct msock *s, size_t len)
{
	const struct msock *p = s->peer;
	const uint32_t used = msock_send_used(s);

	if (s->state != SOCK_OPEN)
		return -ENOTCONN;
	if (s->snd_shut || p == NULL || p->rx_lost) {
		if (s->watched)
			cover(COVER_UNIX_EPIPE);
		return -EPIPE;
	}
	if (s->watched && site_fatal(SITE_SEND_NOBUFS, s))
		return -ENOBUFS;
	if (used >= s->sndbuf || p->frag_count == MODEL_FRAGS)
		return -EAGAIN;
	if (len > s->sndbuf / 2)
		len = s->sndbuf / 2;
	return (ssize_t)len;
}

ssize_t msock_send_room(struct msock *s, size_t len)
{
	const uint32_t used = msock_send_used(s);
	int err;

	if (!s->tcp)
		return send_room_unix(s, len);
	if (s->err || s->snd_shut || s->state == SOCK_NEW) {
		err = msock_take_error(s);
		if (err && s->watched)
			cover(COVER_RST_WRITE_FIRST);
		return err ? -err : -EPIPE;
	}
	if (s->state == SOCK_CONNECTING)
		return -EAGAIN;
	if (used >= s->sndbuf || (used > 0 && s->watched && site(SITE_SEND_EAGAIN))) {
		s->nospace = true;
		return -EAGAIN;
	}
	if (len > s->sndbuf - used) {
		len = s->sndbuf - used;
		s->nospace = true;
	}
	return (ssize_t)len;
}

static void add_frag(struct msock *to, uint32_t len)
{
	to->frags[(to->frag_head + to->frag_count++) % MODEL_FRAGS] = len;
	to->rx_total += len;
}

static void mark_arrives(struct msock *to, uint32_t seq)
{
	to->urg_valid = true;
	to->urg_seq = seq;
}

void msock_sent(struct msock *s, uint32_t len, bool urgent)
{
	struct msock *p = s->peer;
	uint32_t left = len;

	s->tx_total += len;
	if (s->tcp) {
		if (urgent && s->urgent_count < MODEL_URGENTS)
			s->urgents[s->urgent_count++] = s->tx_total - 1;
		if (model.auto_wire)
			wire_flush(s);
		return;
	}
	s->tx_wired = s->tx_total;
	s->tx_acked = s->tx_total;
	p->rx_key = s->tx_key;
	while (left > 0) {
		const uint32_t n = left < model_frag_bytes() ? left : model_frag_bytes();

		/* Out of places: the last one grows, which the queue's limit makes rare. */
		if (p->frag_count < MODEL_FRAGS) {
			add_frag(p, n);
		} else {
			p->frags[(p->frag_head + p->frag_count - 1) % MODEL_FRAGS] += n;
			p->rx_total += n;
		}
		left -= n;
	}
	if (urgent)
		mark_arrives(p, p->rx_total - 1);
	mfile_wake(p->fd, EPOLLIN | EPOLLPRI);
}

/* ---- the wire ---- */

static bool window_open(const struct msock *to)
{
	return to->rx_lost || (msock_unread(to) < to->rcvbuf && to->frag_count < MODEL_FRAGS);
}

bool wire_can_step(const struct msock *from)
{
	const bool alive = from->state == SOCK_OPEN && from->peer != NULL;

	if (!from->tcp || !alive || from->peer->deaf)
		return false;
	if (from->tx_wired == from->tx_total && (!from->snd_shut || from->fin_sent))
		return false;
	return window_open(from->peer);
}

/* The segment with an urgent byte overtakes those before it: the mark is there, and its byte is not. */
static bool mark_comes_ahead(struct msock *from)
{
	struct msock *to = from->peer;

	if (from->urgent_count == 0 || to->urg_valid || !site(SITE_MARK_AHEAD))
		return false;
	mark_arrives(to, from->urgents[0]);
	if (to->watched && msock_unread(to) == 0)
		cover(COVER_MARK_AHEAD);
	trace("  a mark at %u comes ahead to fd %d, unread %u", to->urg_seq, to->fd, msock_unread(to));
	mfile_wake(to->fd, EPOLLIN | EPOLLPRI);
	return true;
}

static void wire_data(struct msock *from, uint32_t max)
{
	struct msock *to = from->peer;
	const uint32_t room = to->rcvbuf - msock_unread(to);
	uint32_t n = from->tx_total - from->tx_wired;
	bool urgent = false;

	n = n < max ? n : max;
	n = n < room ? n : room;
	n = n < model_frag_bytes() ? n : model_frag_bytes();
	if (from->urgent_count > 0 && from->urgents[0] < from->tx_wired + n) {
		n = from->urgents[0] - from->tx_wired + 1;
		urgent = true;
		from->urgent_count--;
		memmove(from->urgents, from->urgents + 1, from->urgent_count * sizeof(from->urgents[0]));
	}
	from->tx_wired += n;
	to->rx_key = from->tx_key;
	add_frag(to, n);
	if (urgent)
		mark_arrives(to, to->rx_total - 1);
	mfile_wake(to->fd, EPOLLIN | EPOLLPRI);
	if (from->tx_wired < from->tx_total && !window_open(to) && to->watched)
		cover(COVER_WINDOW_CLOSED);
}

bool wire_step(struct msock *from, uint32_t max)
{
	struct msock *to = from->peer;

	if (!wire_can_step(from))
		return false;
	if (from->tx_wired < from->tx_total) {
		if (to->rx_lost) {
			/* Bytes for a socket that its owner has closed. */
			trace("  bytes for a closed socket: RST to %c%d", from->side == 1 ? 's' : 'c',
			      from->index);
			to->linger0 = false;
			msock_send_reset(to);
		} else if (!mark_comes_ahead(from)) {
			wire_data(from, max);
		}
		return true;
	}
	from->fin_sent = true;
	if (to->state == SOCK_OPEN)
		msock_fin_arrives(to);
	return true;
}

bool wire_ack(struct msock *from, uint32_t max)
{
	uint32_t n = from->tx_wired - from->tx_acked;

	if (!from->tcp || n == 0 || from->state != SOCK_OPEN || from->deaf)
		return false;
	n = n < max ? n : max;
	from->tx_acked += n;
	if (from->nospace && msock_writable(from)) {
		from->nospace = false;
		if (from->watched && from->fd >= 0) {
			cover(COVER_WAKE_OUT);
			if (from->sndbuf < 4096 && from->tx_acked < from->tx_total)
				cover(COVER_ALMOST_ACKED);
		}
		mfile_wake(from->fd, EPOLLOUT);
	}
	return true;
}

void wire_flush(struct msock *from)
{
	while (wire_step(from, model_frag_bytes()))
		;
	while (wire_ack(from, UINT32_MAX))
		;
}

/* ---- receiving ---- */

void msock_consume(struct msock *s, uint32_t len)
{
	struct msock *p = s->peer;
	uint32_t left = len;

	while (left > 0) {
		uint32_t *f = &s->frags[s->frag_head];
		const uint32_t n = left < *f ? left : *f;

		*f -= n;
		left -= n;
		if (*f == 0) {
			s->frag_head = (s->frag_head + 1) % MODEL_FRAGS;
			s->frag_count--;
		}
	}
	s->rx_read += len;
	s->vain = 0;
	if (s->urg_valid && s->rx_read > s->urg_seq) {
		s->urg_valid = false;
		if (s->watched)
			cover(COVER_MARK_PASSED);
	}
	if (p == NULL || len == 0)
		return;
	if (!s->tcp) {
		if (p->fd >= 0 && msock_writable(p))
			mfile_wake(p->fd, EPOLLOUT); /* unix_write_space asks for no SOCK_NOSPACE */
	} else if (model.auto_wire) {
		wire_flush(p);
	}
}

/* Nothing to read: what recv says, in the order of tcp_recvmsg_locked and its Unix fellow. */
static ssize_t recv_nothing(struct msock *s)
{
	int err;

	if (s->tcp && s->done)
		return 0;
	err = msock_take_error(s);
	if (err) {
		if (s->watched)
			cover(COVER_RST_READ_FIRST);
		return -err;
	}
	if (s->rcv_shut)
		return 0;
	if (s->state == SOCK_NEW || s->state == SOCK_CLOSED)
		return -ENOTCONN;
	return -EAGAIN;
}

static void recv_copy(struct msock *s, uint8_t *out, uint32_t off, uint32_t len)
{
	if (out != NULL)
		stream_fill(s->rx_key, off, out, len);
}

/* How far from `at` a read may go before the mark stops it; the mark's own byte begins a read. */
static uint32_t until_mark(const struct msock *s, uint32_t n)
{
	if (s->urg_valid && s->urg_seq > s->rx_read && s->urg_seq - s->rx_read < n)
		return s->urg_seq - s->rx_read;
	return n;
}

ssize_t msock_recv(struct msock *s, void *data, size_t len, int flags)
{
	const bool peek = (flags & MSG_PEEK) != 0;
	uint8_t *out = data;
	uint32_t n;

	/* Without SO_OOBINLINE the urgent byte is dropped in silence. */
	if (!s->oobinline && msock_has_mark(s) && msock_unread(s) > 0 && !peek) {
		trace("  the urgent byte at %u is dropped", s->rx_read);
		msock_consume(s, 1);
	}
	n = msock_unread(s);
	if (n == 0)
		return recv_nothing(s);
	n = n < len ? n : (uint32_t)len;
	/* Unix stops after the marked byte too: it is a piece of its own, read alone. */
	if (!s->tcp && msock_has_mark(s))
		n = 1;
	else if (until_mark(s, n) < n) {
		n = until_mark(s, n);
		if (s->watched)
			cover(COVER_MARK_STOPPED_RECV);
	}
	recv_copy(s, out, s->rx_read, n);
	if (!peek)
		msock_consume(s, n);
	return (ssize_t)n;
}

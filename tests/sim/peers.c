/* SPDX-License-Identifier: MIT
 *
 * peers.c - clients and servers: their scripts, and what they do step by step.
 *
 * Owns the outside's ends. A step is random while faults last, and everything possible in the
 * liveness phase. One thread. Tests only.
 */
#include "peers.h"

#include <errno.h>
#include <string.h>

#include "cover.h"
#include "rig.h"

struct peers peers;

static const uint32_t frag_sizes[] = {1, 1, 296, 1448, 4096, 32768, 65536, 0};

/* ---- scripts ---- */

static uint32_t random_total(void)
{
	struct prng *r = &model.rng;

	switch (prng_below(r, 8)) {
	case 0:
		return 0;
	case 1:
	case 2:
		return prng_range(r, 1, 100);
	case 3:
	case 4:
		return prng_range(r, 100, 5000);
	case 5:
	case 6:
		return prng_range(r, 5000, 70000);
	default:
		return prng_range(r, 70000, 400000);
	}
}

static void write_script(struct peer *p)
{
	struct prng *r = &model.rng;
	const uint32_t kind = prng_below(r, 10);

	p->total = random_total();
	if (p->total > peers.most_bytes)
		p->total %= peers.most_bytes;
	p->frag = frag_sizes[prng_below(r, 8)];
	if (p->frag == 1 && p->total > 600)
		p->total = 600;
	p->urgent = prng_chance(r, 15) ? prng_range(r, 1, 40) : 0;
	p->read_chance = prng_chance(r, 50) ? 100 : prng_range(r, 1, 50);
	p->read_max = prng_chance(r, 50) ? 1u << 20 : prng_range(r, 1, 9000);
	p->stall_at = prng_chance(r, 25) ? prng_below(r, 100000) : UINT32_MAX;
	p->reads_first = prng_chance(r, 20);
	p->end = kind < 6 ? PEER_FIN : kind < 7 ? PEER_CLOSE : PEER_RST;
	p->end_at = p->end == PEER_RST ? prng_below(r, p->total + 1) : p->total;
	p->vanishes = prng_chance(r, 15);
}

struct peer *peer_new(bool client)
{
	struct peer *p;

	if (peers.count == PEERS_MAX)
		return NULL;
	p = &peers.all[peers.count];
	memset(p, 0, sizeof(*p));
	p->client = client;
	p->index = peers.count++;
	p->key = (uint32_t)p->index + 1;
	write_script(p);
	return p;
}

void peers_reset(void)
{
	peers.count = 0;
	peers.live = false;
	peers.excuse_all = false;
	peers.no_more = false;
	peers.stopped = false;
	peers.in_turn = false;
	peers.most_bytes = UINT32_MAX;
}

/* ---- beginning ---- */

static void own(struct peer *p, struct msock *s)
{
	p->s = s;
	s->tx_key = p->key;
	s->oobinline = true;
	s->side = p->client ? 0 : 1;
	s->index = p->index;
	s->peer->rx_key = p->key;
	s->peer->side = s->side;
	s->peer->index = p->index;
	if (prng_chance(&model.rng, 30)) {
		s->rcvbuf = prng_range(&model.rng, 1000, 20000);
		s->peer->sndbuf = prng_range(&model.rng, 4000, 20000);
	}
	if (prng_chance(&model.rng, 20))
		s->peer->rcvbuf = prng_range(&model.rng, 2000, 20000);
}

/* A deaf listener still gets clients whose handshake is in flight, but over the loopback none is. */
static bool is_deaf(const struct endpoint *ep)
{
	return addr_is_loopback(&ep->addr) && mfile_get(ep->fd)->listener->deaf;
}

void peer_arrive(struct peer *p)
{
	const struct endpoint *ep = rig_endpoint((unsigned)p->index);
	const bool is_late = rig.engine.drain == DRAIN_WORKERS || ep == NULL || is_deaf(ep);
	struct msock *s = is_late ? NULL : msock_connect_to(ep->fd);

	if (s == NULL)
		return;
	if (rig.engine.drain != DRAIN_NONE)
		cover(COVER_LATE_CLIENT);
	own(p, s);
	p->connected = true;
	trace("client %d connects", p->index);
}

static struct peer *peer_of(const struct msock *s)
{
	return s->index >= 0 ? &peers.all[s->index] : NULL;
}

static void note_client_meanwhile(const struct peer *c)
{
	if (c->was_reset)
		cover(COVER_CLIENT_RST_CONNECTING);
	else if (c->fin_sent)
		cover(COVER_CLIENT_FIN_CONNECTING);
}

static int begin_tcp(struct peer *p, struct msock *s)
{
	static const int errors[] = {-ECONNREFUSED, -ETIMEDOUT, -EHOSTUNREACH, -ECONNREFUSED};

	s->state = SOCK_CONNECTING;
	p->connect_result = 0;
	if (site(SITE_CONNECT_LATER)) {
		p->connect_result = errors[prng_below(&model.rng, 4)];
		cover(COVER_CONNECT_REFUSED);
		p->black_hole = rig.connect_timeout_ns > 0 && prng_chance(&model.rng, 30);
		p->other->excused |= p->black_hole;
	}
	/* Loopback is done before connect(2) returns. */
	p->answer_in = prng_chance(&model.rng, 50) ? 0 : prng_range(&model.rng, 1, 12);
	if (p->answer_in == 0 && p->connect_result == 0) {
		msock_established(s, 0);
		p->connected = true;
	}
	return -EINPROGRESS;
}

static int begin_unix(struct peer *p, struct msock *s)
{
	if (site(SITE_CONNECT_LATER)) {
		/* Nothing has come of it: both ends are forgotten, they were the last to be made. */
		s->peer = NULL;
		p->other->other = NULL;
		p->other->excused = true;
		msock_unmake(p->s);
		peers.count--;
		if (prng_chance(&model.rng, 60))
			return -EAGAIN;
		cover(COVER_CONNECT_REFUSED);
		return -ECONNREFUSED;
	}
	s->state = SOCK_OPEN;
	s->peer->state = SOCK_OPEN;
	p->connected = true;
	return 0;
}

int peers_on_connect(struct msock *s, const struct sockaddr *sa)
{
	const int client_fd = rig_other_fd(s->fd);
	struct msock *outside;
	struct peer *p;
	struct peer *c;

	(void)sa; /* both servers are alike */
	if (client_fd < 0 && model.on_wake != NULL)
		return -ECONNREFUSED; /* its session has ended since: a cancel stands behind it in the ring */
	if (client_fd < 0)
		sim_fail("fd %d connects, and belongs to no session", s->fd);
	outside = msock_new(s->tcp);
	p = peer_new(false);
	if (outside == NULL || p == NULL)
		sim_fail("the world has no more servers");
	c = peer_of(mfile_sock(client_fd));
	msock_pair(s, outside);
	own(p, outside);
	p->other = c;
	c->other = p;
	s->tx_key = c->key;
	c->s->peer->tx_key = p->key;
	p->s->rx_key = c->key;
	c->s->rx_key = p->key;
	if (!c->was_reset)
		c->excused = false;
	return s->tcp ? begin_tcp(p, s) : begin_unix(p, s);
}

static void answer(struct peer *p)
{
	struct msock *inside = p->s->peer;

	if (p->black_hole || inside->state != SOCK_CONNECTING)
		return;
	if (p->answer_in > 0 && !peers.live) {
		p->answer_in--;
		return;
	}
	cover(COVER_CONNECT_LATE);
	note_client_meanwhile(p->other);
	if (p->connect_result != 0) {
		p->other->excused = true;
		msock_established(inside, p->connect_result);
		p->closed = true;
		return;
	}
	msock_established(inside, 0);
	p->connected = true;
}

/* ---- hooks ---- */

void peers_on_excuse(struct msock *s)
{
	const int other = s != NULL ? rig_other_fd(s->fd) : -1;

	if (s == NULL) {
		peers.excuse_all = true;
		return;
	}
	if (peer_of(s) != NULL)
		peer_of(s)->excused = true;
	if (other >= 0 && peer_of(mfile_sock(other)) != NULL)
		peer_of(mfile_sock(other))->excused = true;
	if (other < 0 && peer_of(s) == NULL)
		peers.excuse_all = true;
}

/* ---- acts ---- */

/* Nothing from here is on its way: the other side must hear of a reset at once, even when it does not
 * read. */
static void promise(struct peer *p)
{
	const struct msock *in = p->s->peer;
	const struct peer *o = p->other;

	if (!in->tcp || peers.in_turn || o == NULL || o->closed || o->was_reset || !rig_is_forwarding(in->fd))
		return;
	if (in->rx_total != o->s->peer->tx_total || msock_send_used(o->s->peer) > 0)
		return;
	p->promised_turn = rig.turns + peers.patience_turns;
	p->promised_ns = model.now_ns + peers.patience_ns;
	cover(COVER_RESET_AT_ONCE);
}

/* What this end has done counts as a reset: a RST, or leaving while bytes were still to come. */
static void leave(struct peer *p, bool hard)
{
	struct msock *s = p->s;
	/* The kernel gives up on a peer after seconds, never on one that has just answered. */
	const bool vanishes = hard && p->vanishes && rig_is_forwarding(s->peer->fd);

	trace("%s %d leaves%s: sent %u, got %u", p->client ? "client" : "server", p->index,
	      hard ? " by RST" : "", s->tx_total, p->got);
	/* A client that leaves before a server has answered is owed nothing. */
	if (hard && p->client && !rig_is_forwarding(s->peer->fd))
		p->excused = true;
	/* And one whose server does so may find no other one: control takes servers away. */
	if (hard && !p->client && rig.worker_count > 1 && !rig_is_forwarding(s->peer->fd))
		p->other->excused = true;
	if (hard)
		promise(p);
	if (hard && s->tcp && rig_is_blocked(s->peer->fd))
		cover(COVER_RESET_BLOCKED);
	if (hard && s->tcp)
		s->linger0 = true;
	if (hard || !p->eof)
		p->was_reset = true;
	if (!hard)
		p->fin_sent = true;
	/* A Unix socket can only close; it is a reset when it leaves bytes unread. */
	if (!s->tcp && hard && msock_unread(s) == 0)
		p->fin_sent = true;
	msock_close(s);
	if (vanishes && s->peer->err == ECONNRESET) {
		s->peer->err = ETIMEDOUT;
		cover(COVER_VANISHED);
	}
	p->closed = true;
}

static bool wants_more(const struct peer *p)
{
	return p->s->tx_total < p->end_at && !p->fin_sent;
}

static bool finish_sending(struct peer *p)
{
	if (p->fin_sent || wants_more(p))
		return false;
	if (p->end == PEER_RST || p->end == PEER_CLOSE) {
		leave(p, p->end == PEER_RST);
		return true;
	}
	trace("%s %d sends FIN after %u bytes", p->client ? "client" : "server", p->index, p->s->tx_total);
	msock_shutdown_wr(p->s);
	p->fin_sent = true;
	return true;
}

static bool send_some(struct peer *p)
{
	const uint32_t left = p->end_at - p->s->tx_total;
	const bool urgent = p->urgent > 0 && !peers.live && prng_chance(&model.rng, p->urgent);
	uint32_t n = p->frag ? p->frag : prng_range(&model.rng, 1, 20000);
	ssize_t room;

	if (p->reads_first && p->got == 0 && !peers.live)
		return false;
	n = urgent ? 1 : n < left ? n : left;
	room = msock_send_room(p->s, n);
	if (room < 0) {
		if (room == -EAGAIN)
			return false;
		p->end_at = p->s->tx_total; /* the end will be read */
		p->error_taken = p->s->tcp;
		return true;
	}
	if (urgent && p->s->urgent_count >= MODEL_URGENTS)
		return false;
	msock_sent(p->s, (uint32_t)room, urgent);
	return true;
}

static bool read_some(struct peer *p, uint32_t max)
{
	const ssize_t n = msock_recv(p->s, NULL, max, 0);

	if (n > 0) {
		p->got += (uint32_t)n;
		return true;
	}
	if (n == -EAGAIN || (n == 0 && p->eof && !p->error_taken))
		return false;
	if (n == 0 && !p->error_taken) {
		p->eof = true;
		judge_eof(p);
		if (!p->fin_sent && wants_more(p))
			cover(COVER_HALF_CLOSED);
		return true;
	}
	judge_reset(p);
	p->s->state = SOCK_CLOSED;
	p->closed = true;
	msock_close(p->s);
	return true;
}

static bool both_ended(struct peer *p)
{
	if (!p->eof || !p->fin_sent || p->closed)
		return false;
	msock_close(p->s);
	p->closed = true;
	return true;
}

static bool is_out(const struct peer *p)
{
	return p->s == NULL || p->closed || !p->connected;
}

static uint32_t random_frag(const struct peer *p)
{
	return p->frag ? p->frag : frag_sizes[prng_below(&model.rng, 7)];
}

static void act_on_wire(struct peer *p)
{
	struct msock *in = p->s->peer;

	switch (prng_below(&model.rng, 4)) {
	case 0:
	case 1:
		(void)wire_step(p->s, random_frag(p)); /* or nothing was there */
		break;
	case 2:
		(void)wire_step(in, 65536);
		break;
	default:
		(void)wire_ack(in, prng_range(&model.rng, 1, 70000));
		(void)wire_ack(p->s, UINT32_MAX);
		break;
	}
}

void peer_act(struct peer *p)
{
	if (p->s == NULL) {
		if (p->client && !p->connected)
			peer_arrive(p);
		return;
	}
	if (!p->client && !p->connected && !p->closed)
		answer(p);
	if (p->s->peer != NULL && p->s->tcp && prng_chance(&model.rng, 60))
		act_on_wire(p);
	if (is_out(p))
		return;
	if (prng_chance(&model.rng, 50) && wants_more(p))
		(void)send_some(p); /* or there was no room */
	else if (prng_chance(&model.rng, 10))
		(void)finish_sending(p);
	if (is_out(p))
		return;
	if (p->got < p->stall_at && prng_chance(&model.rng, p->read_chance))
		(void)read_some(p, p->read_max);
	if (!is_out(p))
		(void)both_ended(p);
}

static bool push_wire(struct peer *p)
{
	struct msock *in = p->s->peer;
	bool moved = false;

	if (in == NULL || !p->s->tcp)
		return false;
	while (wire_step(p->s, 65536))
		moved = true;
	while (wire_step(in, 65536))
		moved = true;
	/* The very last acknowledgement is late: a reset that waits for it must look again. */
	if (in->tx_wired - in->tx_acked > 2000)
		moved |= wire_ack(in, in->tx_wired - in->tx_acked - 1000);
	else
		moved |= wire_ack(in, UINT32_MAX);
	return wire_ack(p->s, UINT32_MAX) || moved;
}

bool peer_push(struct peer *p)
{
	bool moved = false;

	if (p->s == NULL) {
		if (p->client && !p->connected)
			peer_arrive(p);
		return p->s != NULL;
	}
	if (!p->client && !p->connected && !p->closed) {
		answer(p);
		moved = p->connected || p->closed;
	}
	moved |= push_wire(p);
	if (is_out(p))
		return moved;
	while (wants_more(p) && send_some(p))
		moved = true;
	if (!is_out(p))
		moved |= finish_sending(p);
	while (!is_out(p) && read_some(p, 1u << 20))
		moved = true;
	if (!is_out(p))
		moved |= both_ended(p);
	return moved;
}

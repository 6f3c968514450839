/* SPDX-License-Identifier: MIT
 *
 * judge.c - what the TCP contract of reliability.md promises to a peer, when its connection ends.
 *
 * Owns nothing. The order and value of every byte were checked when the program sent it; here it is
 * the count, and the kind of the end. One thread. Tests only.
 */
#include "cover.h"
#include "peers.h"
#include "rig.h"

static const char *name(const struct peer *p)
{
	return p->client ? "client" : "server";
}

static bool is_excused(const struct peer *p)
{
	const struct peer *o = p->other;

	return peers.excuse_all || p->excused || o == NULL || o->excused;
}

/* The bytes that the program's kernel had received from the other side. */
static uint32_t received_from(const struct peer *o)
{
	return o->s->peer->rx_total;
}

/* Reset first, then read all: every byte that had arrived from the other side is owed. */
static void check_delivered(const struct peer *p, const char *how)
{
	const struct peer *o = p->other;

	if (p->was_reset)
		return;
	if (p->got < received_from(o))
		sim_fail("%s %d sees %s after %u bytes; %u had been received from the other side (R10)",
			 name(p), p->index, how, p->got, received_from(o));
}

void judge_eof(const struct peer *p)
{
	const struct peer *o = p->other;

	trace("  %s %d reads end of file after %u bytes", name(p), p->index, p->got);
	if (is_excused(p))
		return;
	if (o->was_reset && !p->s->tcp) {
		check_delivered(p, "the close that a Unix socket has for RST");
		return;
	}
	if (o->was_reset && !o->fin_sent)
		sim_fail("%s %d sees FIN, but the other side has reset", name(p), p->index);
	if (!o->fin_sent)
		sim_fail("%s %d sees FIN after %u bytes, but the other side has sent none (R6, R7)", name(p),
			 p->index, p->got);
	if (o->was_reset) {
		check_delivered(p, "FIN");
		return;
	}
	if (p->got != o->s->tx_total)
		sim_fail("%s %d sees FIN after %u bytes of %u (R9)", name(p), p->index, p->got,
			 o->s->tx_total);
	cover(COVER_FIN_DELIVERED);
}

void judge_reset(const struct peer *p)
{
	const struct peer *o = p->other;

	trace("  %s %d reads ECONNRESET after %u bytes", name(p), p->index, p->got);
	if (rig.has_timeouts && o != NULL && !o->was_reset)
		cover(COVER_TIMED_OUT);
	if (is_excused(p) || p->was_reset)
		return;
	if (!o->was_reset)
		sim_fail("%s %d sees RST after %u bytes, and nobody has reset", name(p), p->index, p->got);
	check_delivered(p, "RST");
	if (p->got > 0)
		cover(COVER_RST_DELIVERED);
}

void judge_promises(void)
{
	for (int i = 0; i < peers.count; i++) {
		struct peer *p = &peers.all[i];

		if (p->promised_turn == 0 || rig.turns < p->promised_turn ||
		    model.now_ns < p->promised_ns)
			continue;
		p->promised_turn = 0;
		if (p->other->s->peer->fd >= 0 && !p->other->closed)
			sim_fail("%s %d has reset with nothing on its way, and the other side was not told",
				 name(p), p->index);
	}
}

void judge_resets(void)
{
	for (int i = 0; i < peers.count; i++) {
		struct peer *p = &peers.all[i];
		const struct msock *in = p->s != NULL ? p->s->peer : NULL;

		if (in == NULL || !in->rst_seen || !rig_trusts(in->fd))
			continue;
		if (p->unheard_turns++ == 0)
			p->unheard_ns = model.now_ns;
		if (p->unheard_turns > peers.patience_turns &&
		    model.now_ns - p->unheard_ns >= peers.patience_ns)
			sim_fail("%s %d has reset %u turns ago, and the program goes on (R5)", name(p),
				 p->index, p->unheard_turns);
	}
}

void judge_all(void)
{
	for (int i = 0; i < peers.count; i++) {
		const struct peer *p = &peers.all[i];

		if (p->s != NULL && !p->closed && p->connected)
			sim_fail("%s %d is still open after %u bytes, and nothing moves", name(p), p->index,
				 p->got);
	}
}

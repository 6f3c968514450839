/* SPDX-License-Identifier: MIT
 *
 * session.c - one client connection, one server connection, two flows: their life and their end.
 *
 * Owns both sockets, the timer and the decision how each side is closed. Never moves a byte: that
 * is flow.c; never picks a server: that is connect.c. A worker's thread.
 */
#include "session.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/last_words.h"
#include "weir/engine/endpoint.h"
#include "weir/engine/record.h"
#include "weir/engine/source_wait.h"
#include "weir/net/sock.h"
#include "weir/sys/sys.h"
#include "admission.h"
#include "extra.h"
#include "handshake.h"
#include "queueing.h"
#include "slots.h"
#include "source_leave.h"
#include "worker.h"

void session_set_state(struct session *s, enum session_state state)
{
	/* One row a state: which may follow. */
	static const uint16_t next[] = {
		[SESSION_FREE] = 1 << SESSION_ACCEPTED,
		[SESSION_ACCEPTED] = 1 << SESSION_HANDSHAKE | 1 << SESSION_HELD | 1 << SESSION_QUEUED |
				     1 << SESSION_CONNECTING | 1 << SESSION_WAITING | 1 << SESSION_CLOSING,
		[SESSION_HANDSHAKE] = 1 << SESSION_HELD | 1 << SESSION_QUEUED | 1 << SESSION_CONNECTING |
				      1 << SESSION_WAITING | 1 << SESSION_CLOSING,
		[SESSION_HELD] = 1 << SESSION_QUEUED | 1 << SESSION_CONNECTING | 1 << SESSION_WAITING |
				 1 << SESSION_CLOSING,
		[SESSION_QUEUED] = 1 << SESSION_QUEUED | 1 << SESSION_CONNECTING | 1 << SESSION_WAITING |
				   1 << SESSION_CLOSING,
		[SESSION_CONNECTING] = 1 << SESSION_QUEUED | 1 << SESSION_WAITING | 1 << SESSION_CONNECTING |
				       1 << SESSION_FORWARDING | 1 << SESSION_CLOSING,
		[SESSION_WAITING] = 1 << SESSION_QUEUED | 1 << SESSION_CONNECTING | 1 << SESSION_WAITING |
				    1 << SESSION_CLOSING,
		[SESSION_FORWARDING] = 1 << SESSION_CLOSING,
		[SESSION_CLOSING] = 1 << SESSION_FREE,
	};

	check(next[s->state] & 1 << state);
	s->state = (uint8_t)state;
}

/* ---- deadlines ---- */

static const struct config_timeouts *client_timeouts(const struct session *s)
{
	return &s->endpoint->frontend->config->timeouts;
}

static const struct config_timeouts *server_timeouts(const struct session *s)
{
	return &s->backend->config->timeouts;
}

static int64_t after(int64_t since_ns, int64_t timeout_ns)
{
	return timeout_ns > 0 ? since_ns + timeout_ns : CLOCK_NEVER;
}

static void sooner(int64_t *deadline_ns, enum close_reason *why, int64_t other_ns, enum close_reason reason)
{
	if (other_ns < *deadline_ns) {
		*deadline_ns = other_ns;
		*why = reason;
	}
}

/* One side was reset: what it sent is delivered for so long, if the other side takes it. */
static int64_t delivery_deadline(const struct session *s, enum close_reason *why)
{
	const enum side_name left = s->failed == 1 + SIDE_CLIENT ? SIDE_SERVER : SIDE_CLIENT;
	const int64_t idle_ns = left == SIDE_CLIENT ? client_timeouts(s)->client_ns
						    : server_timeouts(s)->server_ns;
	int64_t deadline_ns = s->fixed_ns;

	*why = (enum close_reason)s->reason;
	sooner(&deadline_ns, why, after(s->last_ns, idle_ns), (enum close_reason)s->reason);
	sooner(&deadline_ns, why, after(s->accepted_ns, client_timeouts(s)->max_lifetime_ns), CLOSE_LIFETIME);
	return deadline_ns;
}

/* When a forwarding session ends for want of life, and why. A side that does not take what is
 * held for it is the one that is late. */
static int64_t forwarding_deadline(const struct session *s, enum close_reason *why)
{
	const struct flow *to_client = &s->flows[FLOW_TO_CLIENT];
	const struct flow *to_server = &s->flows[FLOW_TO_SERVER];
	/* With equal timeouts the side is late that got the last bytes and does not answer. One
	 * nanosecond decides. */
	const int64_t is_server_late = s->last_dir == FLOW_TO_SERVER ? 1 : 0;
	int64_t deadline_ns = CLOCK_NEVER;

	*why = CLOSE_CLIENT_TIMEOUT;
	if (s->failed)
		return delivery_deadline(s, why);
	if (!flow_is_blocked(to_server) || flow_is_blocked(to_client))
		sooner(&deadline_ns, why, after(s->last_ns, client_timeouts(s)->client_ns),
		       CLOSE_CLIENT_TIMEOUT);
	if (!flow_is_blocked(to_client) || flow_is_blocked(to_server))
		sooner(&deadline_ns, why, after(s->last_ns - is_server_late, server_timeouts(s)->server_ns),
		       CLOSE_SERVER_TIMEOUT);
	if (to_client->state == FLOW_DONE || to_server->state == FLOW_DONE)
		sooner(&deadline_ns, why,
		       after(s->last_ns, client_timeouts(s)->half_closed_ns), CLOSE_HALF_CLOSED_TIMEOUT);
	if (s->looked_at && deadline_ns < s->fixed_ns)
		deadline_ns = s->fixed_ns;
	sooner(&deadline_ns, why, after(s->accepted_ns, client_timeouts(s)->max_lifetime_ns), CLOSE_LIFETIME);
	return deadline_ns;
}

static int64_t session_deadline(const struct session *s, enum close_reason *why)
{
	int64_t deadline_ns = s->fixed_ns;

	*why = s->state == SESSION_QUEUED ? CLOSE_QUEUE_TIMEOUT : CLOSE_CONNECT_TIMEOUT;
	if (s->state == SESSION_FORWARDING)
		return forwarding_deadline(s, why);
	if (s->state == SESSION_CLOSING)
		return delivery_deadline(s, why);
	sooner(&deadline_ns, why, after(s->accepted_ns, client_timeouts(s)->max_lifetime_ns), CLOSE_LIFETIME);
	return deadline_ns;
}

void session_rearm(struct session *s)
{
	struct timer_heap *timers = &s->worker->loop.timers;
	enum close_reason why;
	const int64_t deadline_ns = session_deadline(s, &why);

	if (deadline_ns == CLOCK_NEVER) {
		timer_cancel(timers, &s->timer);
		return;
	}
	/* A later deadline needs no work now: the timer finds it when it fires early. */
	if (timer_is_set(&s->timer) && timer_deadline(timers, &s->timer) <= deadline_ns)
		return;
	if (timer_set(timers, &s->timer, deadline_ns) && s->state != SESSION_CLOSING)
		session_close(s, CLOSE_NO_RESOURCE);
}

static struct flow *flow_to(struct session *s, enum side_name side)
{
	return &s->flows[side == SIDE_CLIENT ? FLOW_TO_CLIENT : FLOW_TO_SERVER];
}

static struct io_op *side_op(struct session *s, enum side_name side)
{
	return &flow_to(s, side)->wr;
}

void session_hurry(struct session *s)
{
	int i;

	if (s->halted)
		return;
	s->halted = true;
	for (i = 0; i < 2; i++)
		io_cancel(&s->worker->loop, side_op(s, (enum side_name)i));
}

static void note_unacked(struct session *s, enum side_name side)
{
	s->unacked[side] = io_unacked(&s->sides[side].sock);
}

/* At the close. What a Unix socket has taken, its peer has. */
static void note_left_over(struct session *s, enum side_name side)
{
	if ((s->sides[side].sock.bits & IO_TCP) && flow_to(s, side)->bytes_out > 0)
		note_unacked(s, side);
}

/* Nothing has moved through us for a whole timeout. But a slow reader empties the kernel's queue, of
 * which no event tells until a third of it is free: while acknowledgements come, the session lives.
 * So what is not acknowledged is noted, and looked at again half a timeout later. */
static bool is_still_moving(struct session *s)
{
	const int64_t now_ns = s->worker->loop.now_ns;
	const uint32_t before[2] = {s->unacked[SIDE_CLIENT], s->unacked[SIDE_SERVER]};

	note_unacked(s, SIDE_CLIENT);
	note_unacked(s, SIDE_SERVER);
	if (s->unacked[SIDE_CLIENT] + s->unacked[SIDE_SERVER] == 0 || s->failed)
		return false;
	if (s->looked_at) {
		s->looked_at = false;
		if (memcmp(before, s->unacked, sizeof(before)) == 0)
			return false;
		s->last_ns = now_ns;
		return true;
	}
	s->looked_at = true;
	s->fixed_ns = now_ns + (now_ns - s->last_ns) / 2;
	return true;
}

static void session_fire(struct timer *t)
{
	struct session *s = container_of(t, struct session, timer);
	enum close_reason why;

	last_words_session(s->number);
	s->last_ns = io_late_ns(&s->worker->loop, s->last_ns);
	if (session_deadline(s, &why) > s->worker->loop.now_ns) {
		s->looked_at = false; /* bytes moved since */
		session_rearm(s);
		return;
	}
	if (session_is_forwarding(s) && why != CLOSE_LIFETIME && is_still_moving(s)) {
		session_rearm(s);
		return;
	}
	if (s->state == SESSION_CLOSING)
		session_hurry(s);
	else if (s->state == SESSION_HELD)
		admission_held_no_more(s, source_wait_end(s));
	else if (s->state == SESSION_FORWARDING || s->state == SESSION_QUEUED || why == CLOSE_LIFETIME)
		session_close(s, why);
	else
		session_connect_timer(s);
}

/* ---- the beginning ---- */

static void session_refuse(struct worker *w, struct endpoint *ep, int fd)
{
	counter_add(&w->counters.accept_errors, 1);
	sys_close(fd);
	atomic_fetch_sub(&w->load, 1);
	slots_release_rate(w->engine, ep->frontend, w->loop.now_ns);
	slots_release(w->engine, ep->frontend);
}

void session_start(struct worker *w, struct endpoint *ep, int fd, const struct addr_brief *client)
{
	struct session *s = session_slab_get(&w->slab);
	const bool tcp = client->family != AF_UNIX;

	if (s == NULL) {
		session_refuse(w, ep, fd);
		return;
	}
	s->worker = w;
	s->endpoint = ep;
	s->backend = ep->frontend->backend;
	s->client = *client;
	s->number = w->next_number++;
	last_words_session(s->number);
	s->accepted_ns = w->loop.now_ns;
	s->fixed_ns = CLOCK_NEVER;
	s->judged = true; /* by the listener; handshake.c asks for another address */
	s->sides[SIDE_SERVER].sock.fd = -1;
	session_set_state(s, SESSION_ACCEPTED);
	timer_init(&s->timer, session_fire);
	list_push_back(&w->live, &s->link);
	w->sessions++;
	tally_session_began(s);
	io_sock_init(&s->sides[SIDE_CLIENT].sock, fd, tcp);
	flow_init(&s->flows[FLOW_TO_SERVER], FLOW_TO_SERVER);
	flow_init(&s->flows[FLOW_TO_CLIENT], FLOW_TO_CLIENT);
	if (!tcp)
		sock_accepted_unix(fd);
	else if (unlikely(ep->mptcp))
		endpoint_accepted(ep, fd);
	if (io_attach(&w->loop, &s->sides[SIDE_CLIENT].sock))
		session_close(s, CLOSE_NO_RESOURCE);
	else if (likely(!handshake_start(s)))
		session_begin(s);
}

void session_begin(struct session *s)
{
	if (admission_admit(s))
		session_admitted(s);
}

void session_admitted(struct session *s)
{
	tally_backend_entered(s);
	session_connect(s);
}

/* ---- what the sides do ---- */

static enum close_reason failure_reason(enum side_name side, int err)
{
	/* ENOTCONN is what shutdown(2) says of a socket that was reset. */
	if (err == -ECONNRESET || err == -EPIPE || err == -ECONNABORTED || err == -ENOTCONN)
		return side == SIDE_CLIENT ? CLOSE_CLIENT_RESET : CLOSE_SERVER_RESET;
	return side == SIDE_CLIENT ? CLOSE_CLIENT_LOST : CLOSE_SERVER_LOST;
}

void session_side_failed(struct session *s, enum side_name side, int err)
{
	struct flow *from = &s->flows[side == SIDE_CLIENT ? FLOW_TO_SERVER : FLOW_TO_CLIENT];
	struct flow *toward = &s->flows[side == SIDE_CLIENT ? FLOW_TO_CLIENT : FLOW_TO_SERVER];

	if (!session_is_forwarding(s) || s->failed == 1 + side)
		return;
	if (s->failed) {
		session_close(s, (enum close_reason)s->reason); /* nobody is left to deliver to */
		return;
	}
	source_leave_soon(s);
	s->failed = (uint8_t)(1 + side);
	s->reason = (uint8_t)failure_reason(side, err);
	s->fixed_ns = after(s->worker->loop.now_ns, client_timeouts(s)->half_closed_ns);
	flow_kill(toward);
	flow_source_failed(from);
	if (session_is_forwarding(s))
		session_rearm(s);
}

void session_flow_ended(struct session *s, const struct flow *f)
{
	if (f->dir == FLOW_TO_SERVER)
		source_leave_soon(s);
	if (s->flows[!f->dir].state == FLOW_OPEN)
		s->half_mark = (uint32_t)s->flows[!f->dir].bytes_out;
}

void session_flow_done(struct session *s, struct flow *f)
{
	if (s->flows[!f->dir].state != FLOW_DONE) {
		session_rearm(s); /* timeout-half-closed counts from now */
		return;
	}
	session_close(s, CLOSE_NORMAL);
	/* Who takes this flow had ended its own side before, and may not have all of it yet: from now on the
	 * kernel goes on without us, and is free to drop it (tcp_mem, tcp_max_orphans). Who ended its side
	 * when it had everything costs no look. */
	if (unlikely((uint32_t)f->bytes_out != s->half_mark))
		note_left_over(s, f->dir == FLOW_TO_CLIENT ? SIDE_CLIENT : SIDE_SERVER);
}

void session_flow_delivered(struct session *s)
{
	const enum side_name failed = (enum side_name)(s->failed - 1);

	check(s->failed != 0);
	if (s->state == SESSION_CLOSING)
		return;
	session_close(s, (enum close_reason)s->reason);
	s->ends[failed] = SIDE_CLOSE;
	s->ends[!failed] = SIDE_DELIVER_RESET;
}

/* ---- the end ---- */

/* An op of a closing session came back. */
static void op_back(struct session *s)
{
	last_words_session(s->number);
	check(s->state == SESSION_CLOSING);
	list_remove(&s->link);
	list_push_back(&s->worker->closing, &s->link);
}

static void rd_back(struct io_op *op, int result)
{
	(void)result;
	op_back(flow_session(container_of(op, struct flow, rd)));
}

static void wr_back(struct io_op *op, int result)
{
	struct flow *f = container_of(op, struct flow, wr);

	(void)result;
	flow_drop_buf(f);
	op_back(flow_session(f));
}

static void end_flow(struct flow *f)
{
	flow_kill(f);
	f->rd.done = rd_back;
	f->wr.done = wr_back;
}

void session_close(struct session *s, enum close_reason reason)
{
	const enum side_end end = reason == CLOSE_NORMAL ? SIDE_CLOSE : SIDE_RESET;

	if (s->state == SESSION_CLOSING)
		return;
	s->log_state = s->state;
	s->reason = (uint8_t)reason;
	s->ends[SIDE_CLIENT] = (uint8_t)end;
	s->ends[SIDE_SERVER] = (uint8_t)end;
	s->unacked[SIDE_CLIENT] = 0;
	s->unacked[SIDE_SERVER] = 0;
	session_set_state(s, SESSION_CLOSING);
	timer_cancel(&s->worker->loop.timers, &s->timer);
	if (s->extra != NULL) {
		queueing_leave(s);
		handshake_drop(s);
		(void)source_wait_end(s); /* a place that it was given is left with the session */
		source_leave_soon(s);
	}
	/* rate-limit counted it before it was accepted, which must cost nobody a place who is let in. */
	if (unlikely(!s->backend_counted))
		slots_release_rate(s->worker->engine, s->endpoint->frontend, s->accepted_ns);
	end_flow(&s->flows[FLOW_TO_SERVER]);
	end_flow(&s->flows[FLOW_TO_CLIENT]);
	list_remove(&s->link);
	list_push_back(&s->worker->closing, &s->link);
}

static bool has_pending(const struct session *s)
{
	return io_is_pending(&s->flows[0].rd) || io_is_pending(&s->flows[0].wr) ||
	       io_is_pending(&s->flows[1].rd) || io_is_pending(&s->flows[1].wr);
}

static void close_side(struct session *s, enum side_name side)
{
	struct io_op *op = side_op(s, side);
	int r;

	if (s->sides[side].sock.fd < 0)
		return;
	op->kind = s->ends[side] == SIDE_CLOSE ? IO_CLOSE : IO_RESET;
	if (s->worker->stopping)
		s->halted = true;
	op->flags = s->ends[side] == SIDE_DELIVER_RESET && !s->halted ? IO_DRAIN : 0;
	if (s->reason != CLOSE_NORMAL && op->flags == 0)
		note_left_over(s, side);
	r = io_start(&s->worker->loop, op);
	check(r == 0 || r == IO_PENDING); /* closing does not fail */
	if (r == IO_PENDING && op->flags == IO_DRAIN)
		session_rearm(s);
}

static void session_release(struct session *s)
{
	struct worker *w = s->worker;
	struct frontend *fe = s->endpoint->frontend;
	bool is_slot_gone;

	check(s->flows[0].pipe == NULL && s->flows[0].buf == NULL);
	check(s->flows[1].pipe == NULL && s->flows[1].buf == NULL);
	timer_cancel(&w->loop.timers, &s->timer);
	session_leave_server(s);
	tally_session_ended(s);
	if (unlikely(s->unacked[SIDE_CLIENT] | s->unacked[SIDE_SERVER])) {
		counter_add(&w->counters.unacked_closes, 1);
		w->engine->notify(w->engine->notify_arg); /* control looks whether the kernel drops them */
	}
	record_session_end(s);
	is_slot_gone = source_leave(s) || s->slotless;
	if (s->extra != NULL)
		session_extra_put(s);
	session_set_state(s, SESSION_FREE);
	session_slab_put(&w->slab, s);
	w->sessions--;
	atomic_fetch_sub(&w->load, 1);
	if (likely(!is_slot_gone))
		slots_release(w->engine, fe);
}

bool session_reap(struct session *s)
{
	list_remove(&s->link);
	if (!has_pending(s)) {
		close_side(s, SIDE_CLIENT);
		close_side(s, SIDE_SERVER);
	}
	if (has_pending(s)) {
		list_push_back(&s->worker->waiting, &s->link); /* op_back() brings it here again */
		return false;
	}
	session_release(s);
	return true;
}

/* SPDX-License-Identifier: MIT
 *
 * connect.c - from an accepted client to a connected server: the tries, the pauses.
 *
 * After a refused or reset connect, another usable server is tried at once, until there were as many tries as
 * servers; later tries, and those at the same server, follow min(timeout-connect, 1 s). choice.c picks the
 * server; where every place is taken the session waits (queueing.c). No byte of the client is read before a
 * server has answered, so a try costs nothing but time. Our own shortage never counts against a server. A
 * worker's thread.
 */
#include "connect.h"

#include <string.h>

#include "weir/balance/client_key.h"
#include "weir/balance/fallback.h"
#include "weir/balance/outage.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/crash_report.h"
#include "weir/config/server_check.h"
#include "weir/engine/server_sock.h"
#include "weir/net/sock.h"
#include "choice.h"
#include "client_watch.h"
#include "comeback.h"
#include "connect_blame.h"
#include "egress.h"
#include "extra.h"
#include "failing.h"
#include "fallback.h"
#include "greeting.h"
#include "queueing.h"
#include "server_port.h"
#include "session.h"
#include "session_deadline.h"
#include "session_drain.h"
#include "session_end.h"
#include "worker.h"

/* Maximum time for which a server is left alone after a failure. */
#define CONNECT_PAUSE_NS NS_PER_SEC
/* No event reports room in a Unix backlog. */
#define CONNECT_AGAIN_NS (10 * NS_PER_MS)

static void no_socket(struct session *s, int err);
static void on_result(struct session *s, int result);

static const struct config_backend *backend_config(const struct session *s)
{
	return s->back->config;
}

static struct io_op *connect_op(struct session *s)
{
	return &s->flows[FLOW_TO_SERVER].wr;
}

/* Whoever chose the server has already taken the place. */
static void enter_server(struct session *s, struct server *server)
{
	check(server->owner == s->back->backend);
	check(!s->server_counted);
	session_use_server(s, server);
	s->server_counted = true;
	s->evict_mark = s->worker->evict_walk.mark;
	tally_server_entered(s, atomic_load_explicit(&server->sessions, memory_order_relaxed));
}

/* ---- connecting ---- */

/* Time since the client was accepted, without its waits in queues. Limited to about an hour, which is more
 * than it takes. */
static uint32_t busy_us(const struct session *s)
{
	const int64_t waited_ns = s->extra != NULL ? (int64_t)s->extra->wait_ns : 0;
	const int64_t us = (s->worker->loop.now_ns - s->accepted_ns - waited_ns) / NS_PER_US;

	check(us >= 0);
	return (uint32_t)(us < UINT32_MAX - 1 ? us : UINT32_MAX - 1);
}

static void connected(struct session *s)
{
	const struct config_tcp *tcp = &backend_config(s)->tcp;
	const int64_t now_ns = s->worker->loop.now_ns;
	const uint32_t us = busy_us(s);

	check(s->server_counted);
	check(us >= s->before_us);
	session_set_state(s, SESSION_FORWARDING);
	s->connect_us = us - s->before_us + 1;
	s->errors[0] = 0;
	s->fixed_ns = CLOCK_NEVER;
	s->server_nodelay = tcp->nodelay && (s->sides[SIDE_SERVER].sock.bits & IO_TCP);
	s->ack_waits = (s->sides[SIDE_SERVER].sock.bits & IO_TCP) != 0;
	s->last_ns = now_ns;
	atomic_fetch_add_explicit(&s->at->server->total, 1, memory_order_relaxed);
	server_answered(s->at->server);
	comeback_end(s, SERVER_TRIAL_PASSED);
	if (unlikely(s->at->takes_client_port))
		server_port_drop(s);
	if (!greeting_say(s))
		return;
	timer_cancel(&s->worker->loop.timers, &s->timer);
	session_rearm(s);
	if (session_is_forwarding(s))
		flow_open(&s->flows[FLOW_TO_SERVER]);
	flow_ack_server(s);
	if (session_is_forwarding(s) && s->flows[FLOW_TO_CLIENT].state == FLOW_IDLE)
		flow_open(&s->flows[FLOW_TO_CLIENT]);
}

static int64_t connect_deadline(const struct session *s)
{
	const int64_t timeout_ns = backend_config(s)->timeouts.connect_ns;

	return timeout_ns > 0 ? s->last_ns + timeout_ns : CLOCK_NEVER;
}

/* A connect has completed, or the close of a socket whose connect failed. */
static void connect_done(struct io_op *op, int result)
{
	struct session *s = flow_session(container_of(op, struct flow, wr));

	crash_report_session(s->number);
	on_result(s, result);
}

static void connect_socket(struct session *s)
{
	struct io_op *op = connect_op(s);
	int r;

	check(s->server_counted);
	check(!s->connect_again);
	op->kind = IO_CONNECT;
	op->addr = server_port_addr(s);
	r = io_start(&s->worker->loop, op);
	if (r == IO_PENDING)
		session_rearm(s);
	else
		on_result(s, r);
}

/* The session has its place at the server, and an address to go to. */
static void begin_try(struct session *s)
{
	int err;

	check(s->server_counted);
	check(s->sides[SIDE_SERVER].sock.fd < 0);
	check(!io_is_pending(connect_op(s)));
	session_set_state(s, SESSION_CONNECTING);
	if (s->tries++ == 0)
		s->before_us = busy_us(s); /* the time may include a wait for a PROXY header */
	s->server_down = false;
	s->try_failed = false;
	s->last_ns = s->worker->loop.now_ns;
	s->fixed_ns = connect_deadline(s);
	connect_op(s)->done = connect_done;
	counter_add(&s->worker->counters.connects, 1);
	err = server_port_choose(s);
	if (likely(!err))
		err = server_sock_open(s, server_port_addr(s));
	if (unlikely(err)) {
		no_socket(s, err);
		return;
	}
	client_watch(s);
	if (s->state == SESSION_CONNECTING)
		connect_socket(s);
}

static bool has_try(const struct session *s)
{
	return s->tries - egress_skipped(s) <= backend_config(s)->retries;
}

static void try_server(struct session *s, struct server *server)
{
	check(has_try(s));
	enter_server(s, server);
	if (unlikely(s->at->takes_client_name) && !egress_has_next(s))
		egress_ask(s);
	else
		begin_try(s);
}

void connect_resolved(struct session *s)
{
	check(s->state == SESSION_RESOLVING);
	begin_try(s);
}

static void choose_and_try(struct session *s)
{
	struct server *server = choice_take(s, NULL);

	if (server != NULL)
		try_server(s, server);
}

/* The client came in before that. */
static void backend_was_removed(struct session *s)
{
	if (atomic_load(&s->back->backend->closes))
		session_close(s, CLOSE_REMOVED);
	else
		session_drain(s);
}

void connect_begin(struct session *s)
{
	check(!s->backend_counted);
	check(s->tries == 0);
	check(s->at == NULL);
	/* Before it is counted. Nobody would try a server that is out if all clients went past it. */
	if (unlikely(backend_fallback(s->back->backend) != NULL) && !outage_has_trial(s->back->backend))
		(void)fallback_follow(s); /* the choice finds what it finds */
	tally_backend_entered(s);
	if (unlikely(atomic_load_explicit(&s->back->backend->removed, memory_order_relaxed)))
		backend_was_removed(s);
	if (likely(s->state != SESSION_CLOSING))
		choose_and_try(s);
}

/* ---- failing, and the next try ---- */

static enum close_reason connect_reason(int err)
{
	check(err < 0);
	if (server_sock_is_shortage(err))
		return CLOSE_NO_RESOURCE;
	switch (err) {
	case -ECONNREFUSED:
	case -ECONNRESET:
	case -EPIPE:
		return CLOSE_CONNECT_REFUSED;
	case -ETIMEDOUT:
		return CLOSE_CONNECT_TIMEOUT;
	case -ECANCELED:
		return CLOSE_SERVER_DOWN;
	default:
		return CLOSE_CONNECT_FAILED;
	}
}

static void wait_before(struct session *s, int64_t pause_ns)
{
	check(pause_ns > 0);
	check(!s->server_counted); /* a waiting session takes no place from others */
	session_set_state(s, SESSION_WAITING);
	s->fixed_ns = s->worker->loop.now_ns + pause_ns;
	client_watch(s);
	if (s->state == SESSION_WAITING)
		session_rearm(s);
}

/* How long a server that failed is left alone. */
static int64_t pause_ns(const struct session *s)
{
	const int64_t timeout_ns = backend_config(s)->timeouts.connect_ns;

	return timeout_ns > 0 && timeout_ns < CONNECT_PAUSE_NS ? timeout_ns : CONNECT_PAUSE_NS;
}

/* The first try, or a later one. */
static void retry_at(struct session *s, struct server *server)
{
	if (s->tries > 0 && server != s->at->server) {
		s->redispatched = true;
		counter_add(&s->worker->counters.redispatches, 1);
		tally_redispatched(s);
	}
	try_server(s, server);
}

/* `reason`: why the session ends, if this was its last try, which failed with `err`. Another server would not
 * help against a shortage of our own. */
static void next_try(struct session *s, enum close_reason reason, int err)
{
	const bool skips = egress_skips(s, err), shortage = !skips && server_sock_is_shortage(err);
	struct worker *w = s->worker;
	struct server *last = s->at->server;
	uint32_t servers;

	check(reason != CLOSE_NORMAL);
	check(s->server_counted);
	check(s->sides[SIDE_SERVER].sock.fd < 0);
	if (client_watch_left(s)) {
		session_close(s, CLOSE_CLIENT_GONE);
		return;
	}
	if (unlikely(skips))
		s->extra->skipped++;
	if (!has_try(s)) {
		session_close(s, reason);
		return;
	}
	counter_add(&w->counters.retries, 1);
	tally_retried(s);
	session_leave_server(s);
	servers = atomic_load_explicit(&s->back->backend->size, memory_order_relaxed);
	/* As many tries as there are servers follow at once, each avoiding the server that failed last; the
	 * others after a pause. */
	if (unlikely(egress_has_next(s)) && !shortage) {
		choose_and_try(s); /* of the only server: its name has another address */
		return;
	}
	if (backend_config(s)->redispatch && s->tries < servers && !shortage) {
		struct server *next = choice_take(s, last);

		if (next == NULL)
			return;
		if (next != last) {
			retry_at(s, next);
			return;
		}
		server_leave(next); /* the only one: tried after the pause */
	}
	wait_before(s, pause_ns(s));
}

/* -ECANCELED: the server was marked down meanwhile, which is neither news nor the fault of this try. */
static void connect_failed(struct session *s, int err)
{
	struct io_op *op = connect_op(s);

	check(s->state == SESSION_CONNECTING);
	check(err < 0);
	check(err >= INT16_MIN); /* it must fit in s->errors */
	counter_add(&s->worker->counters.connect_failures, 1);
	if (err != -ECANCELED && !egress_skips(s, err)) {
		if (!server_sock_is_shortage(err))
			connect_blame_server(s);
		connect_log_failure(s, err);
		failing_connect(s, err, connect_reason(err));
	}
	if (s->sides[SIDE_SERVER].sock.fd >= 0) {
		op->kind = IO_CLOSE;
		if (io_start(&s->worker->loop, op) == IO_PENDING) {
			s->fixed_ns = CLOCK_NEVER; /* the close completes without a deadline */
			s->errors[0] = (int16_t)err;
			return;
		}
	}
	next_try(s, connect_reason(err), err);
}

/* No packet was sent: whatever failed is on our side. Another server may not need such a socket. */
static void no_socket(struct session *s, int err)
{
	const bool shortage = server_sock_is_shortage(err);
	const enum close_reason reason = shortage ? CLOSE_NO_RESOURCE : CLOSE_NO_SOCKET;

	check(s->state == SESSION_CONNECTING);
	check(err < 0);
	counter_add(&s->worker->counters.connect_failures, 1);
	if (shortage && !egress_skips(s, err))
		connect_log_failure(s, err);
	failing_connect(s, err, reason);
	next_try(s, reason, err);
}

static void on_result(struct session *s, int result)
{
	struct io_op *op = connect_op(s);

	check(s->state == SESSION_CONNECTING);
	check(!io_is_pending(op));
	if (op->kind == IO_CLOSE) {
		next_try(s, connect_reason(s->errors[0]), s->errors[0]);
		return;
	}
	check(result <= 0);
	if (unlikely(s->server_down)) {
		connect_failed(s, -ECANCELED); /* nothing was sent: even a success can be given up */
	} else if (result == 0 && unlikely(server_sock_met_itself(s, op->addr))) {
		connect_failed(s, -ECONNREFUSED); /* as on any other port of ours */
	} else if (result == 0) {
		connected(s);
	} else if (result == -EAGAIN) {
		check(s->sides[SIDE_SERVER].sock.fd >= 0);
		/* The Unix backlog is full: the same socket may try again, until timeout-connect. */
		s->connect_again = true;
		s->fixed_ns = s->worker->loop.now_ns + CONNECT_AGAIN_NS;
		session_rearm(s);
	} else if (unlikely(result == -EADDRNOTAVAIL) && !egress_has_next(s) && server_sock_spill(s)) {
		connect_socket(s); /* from the next source: recursion as deep as there are sources */
	} else {
		connect_failed(s, result == -ECANCELED ? -ETIMEDOUT : result);
	}
}

void connect_server_down(struct session *s)
{
	struct io_op *op = connect_op(s);

	if (s->state != SESSION_CONNECTING) {
		session_close(s, CLOSE_SERVER_DOWN);
		return;
	}
	s->server_down = true;
	check(s->connect_again != io_is_pending(op)); /* exactly one of the two moves it on */
	if (s->connect_again) {
		s->connect_again = false; /* nothing is pending in this pause */
		connect_failed(s, -ECANCELED);
	} else if (op->kind == IO_CONNECT) {
		io_cancel(&s->worker->loop, op); /* completes in connect_done() */
	}
}

/* Meanwhile another server may have become usable, or the client may have left. */
static void try_after_pause(struct session *s)
{
	struct server *next;

	check(s->at != NULL);
	check(!s->server_counted);
	if (client_watch_left(s)) {
		session_close(s, CLOSE_CLIENT_GONE);
		return;
	}
	next = backend_config(s)->redispatch ? choice_take(s, NULL) : choice_take_again(s);
	if (next != NULL)
		retry_at(s, next);
}

/* The backend has no server any more: its fallback has, or knows what to do. */
static void leave_queue(struct session *s)
{
	check(s->tries == 0);
	if (client_watch_left(s))
		session_close(s, CLOSE_CLIENT_GONE);
	else
		choose_and_try(s);
}

void connect_granted(struct session *s, struct server *server)
{
	const int64_t again_ns = s->last_ns + pause_ns(s);

	check(s->state == SESSION_QUEUED);
	check(!s->server_counted);
	if (server == NULL) {
		leave_queue(s);
		return;
	}
	check(server->owner == s->back->backend);
	if (client_watch_left(s)) {
		queueing_give_back(s->worker, server);
		session_close(s, CLOSE_CLIENT_GONE);
	} else if (!choice_holds(s, server)) {
		queueing_give_back(s->worker, server); /* no longer usable by the time the news arrived */
		choose_and_try(s);
	} else if (s->tries > 0 && server == s->at->server && s->worker->loop.now_ns < again_ns &&
		   !egress_has_next(s)) {
		/* It has just failed: another session may have more luck. */
		queueing_give_back(s->worker, server);
		wait_before(s, again_ns - s->worker->loop.now_ns);
	} else {
		retry_at(s, server);
	}
}

void connect_timer(struct session *s)
{
	if (s->state == SESSION_WAITING) {
		try_after_pause(s);
		return;
	}
	check(s->state == SESSION_CONNECTING);
	check(s->connect_again != io_is_pending(connect_op(s))); /* exactly one of the two moves it on */
	if (s->connect_again) {
		s->connect_again = false;
		s->fixed_ns = connect_deadline(s);
		if (s->worker->loop.now_ns < s->fixed_ns)
			connect_socket(s);
		else
			connect_failed(s, -ETIMEDOUT);
		return;
	}
	io_cancel(&s->worker->loop, connect_op(s)); /* completes as -ECANCELED */
}

/* SPDX-License-Identifier: MIT
 *
 * probe.c - one health check of one server: connect, send, receive, judge, close cleanly.
 *
 * Owns the socket. A check that gets no socket, port or memory has learnt nothing about the server and
 * reports SOCKERR. probe_steps.c decides what is sent and received. Main thread.
 */
#include "probe.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/config/copy.h"
#include "weir/config/same.h"
#include "weir/config/server_check.h"
#include "weir/engine/server_sock.h"
#include "weir/entry/endpoint.h"
#include "weir/net/self_connect.h"
#include "weir/sys/low_fds.h"
#include "weir/sys/sys.h"
#include "probe_exec.h"
#include "probe_steps.h"

/* No event reports room in a Unix backlog. */
#define AGAIN_NS (10 * NS_PER_MS)

static void on_probe_io(struct ev_loop *loop, struct ev_io *io, int revents);
static void on_phase_over(struct ev_loop *loop, struct ev_timer *timer, int revents);

/* ---- time, events and the end ---- */

static int64_t whole_ns(const struct probe *p)
{
	return p->check->timeout_ns > 0 ? p->check->timeout_ns : p->check->interval_ns;
}

/* As in HAProxy: a connect has min(timeout-connect, interval), and never more than the whole check. */
static int64_t connect_limit_ns(const struct probe *p)
{
	const int64_t connect_ns = p->server->backend->timeouts.connect_ns;
	int64_t limit_ns = whole_ns(p);

	if (p->check->interval_ns < limit_ns)
		limit_ns = p->check->interval_ns;
	return connect_ns > 0 && connect_ns < limit_ns ? connect_ns : limit_ns;
}

void probe_wake(struct probe *p, int64_t ns)
{
	p->end_ns = clock_mono_ns() + ns;
	ev_timer_stop(p->loop, &p->timer);
	ev_timer_set(&p->timer, ns > 0 ? (double)ns / (double)NS_PER_SEC : 0., 0.);
	ev_timer_start(p->loop, &p->timer);
}

/* Ends the phase `limit_ns` after the start of the check. */
static void limit_to(struct probe *p, int64_t limit_ns)
{
	probe_wake(p, p->began_ns + limit_ns - clock_mono_ns());
}

void probe_limit(struct probe *p)
{
	limit_to(p, whole_ns(p));
}

void probe_rest(struct probe *p)
{
	ev_io_stop(p->loop, &p->io);
	ev_timer_stop(p->loop, &p->timer);
}

void probe_watch(struct probe *p, int events)
{
	if (ev_is_active(&p->io) && (p->io.events & (EV_READ | EV_WRITE)) == events)
		return;
	ev_io_stop(p->loop, &p->io);
	ev_io_set(&p->io, p->fd, events);
	ev_io_start(p->loop, &p->io);
}

static void hang_up(struct probe *p)
{
	probe_wire_end(p);
	ev_io_stop(p->loop, &p->io);
	if (p->fd >= 0)
		low_fds_close(p->fd);
	p->fd = -1;
}

void probe_stop(struct probe *p)
{
	hang_up(p);
	exec_client_stop(&p->exec);
	ev_timer_stop(p->loop, &p->timer);
	p->phase = PROBE_PHASE_IDLE;
}

/* Reads what still arrives until the server closes its side. */
static void hear_out(struct probe *p)
{
	ssize_t n = 1;

	while (n > 0 && p->received < PROBE_BYTES_MAX) {
		n = sys_recv(p->fd, p->in, sizeof(p->in), 0);
		p->received += n > 0 ? (size_t)n : 0;
	}
	if (n == -EAGAIN)
		probe_watch(p, EV_READ);
	else
		probe_stop(p);
}

static void part(struct probe *p)
{
	const bool connected = p->phase >= PROBE_PHASE_SECURING && p->phase <= PROBE_PHASE_LISTENING;

	if (connected)
		probe_steps_say_goodbye(p);
	probe_wire_end(p);
	if (!connected || sys_shutdown(p->fd, SHUT_WR) != 0) {
		probe_stop(p);
		return;
	}
	p->phase = PROBE_PHASE_PARTING;
	p->received = 0;
	probe_wake(p, PROBE_BYE_NS);
	hear_out(p);
}

/* Deferred to the loop, because the caller is still examining its input. */
void probe_renew(struct probe *p)
{
	hang_up(p);
	probe_steps_reset(p);
	p->again = true;
	p->phase = PROBE_PHASE_RENEWING;
	probe_wake(p, 0);
}

void probe_tell(struct probe *p, enum probe_code code, const char *detail)
{
	struct probe_result r = {
		.code = code,
		.status = p->http.status,
		.duration_ms = (clock_mono_ns() - p->began_ns) / NS_PER_MS,
		.met_itself = p->met_itself,
	};

	check(p->phase != PROBE_PHASE_IDLE);
	check(p->phase != PROBE_PHASE_PARTING);
	if (probe_code_outcome(code) == PROBE_OUTCOME_FAILED && !p->again &&
	    clock_mono_ns() - p->end_ns > PROBE_LATE_NS) {
		probe_renew(p);
		return;
	}
	(void)snprintf(r.detail, sizeof(r.detail), "%s", detail); /* may be truncated */
	part(p);
	p->done(p->arg, &r);
}

/* "connection refused": the C library's text as part of a sentence. */
void probe_tell_error(struct probe *p, enum probe_code code, int err)
{
	const char *words = strerrordesc_np(-err);
	char text[PROBE_DETAIL_MAX];

	(void)snprintf(text, sizeof(text), "%s", words != NULL ? words : "unknown error"); /* cut is fine */
	if (text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a' && text[1] <= 'z')
		text[0] = (char)(text[0] - 'A' + 'a');
	probe_tell(p, server_sock_is_shortage(err) ? PROBE_SOCKERR : code, text);
}

/* ---- connecting ---- */

static void connect_failed(struct probe *p, int err)
{
	if (err == -ETIMEDOUT)
		probe_tell(p, PROBE_L4TOUT, "no answer to the connect");
	else
		probe_tell_error(p, PROBE_L4CON, err);
}

/* Nothing listens, and yet the connect succeeded. */
static void met_itself(struct probe *p)
{
	sock_harden(p->fd); /* TIME_WAIT would hold the server's port */
	p->met_itself = true;
	probe_tell(p, PROBE_L4CON, "connection refused (connected to itself)");
}

static void connected(struct probe *p)
{
	int err;

	if (self_connect_happened(p->fd, &p->to)) {
		met_itself(p);
		return;
	}
	p->phase = PROBE_PHASE_SAYING;
	if (!addr_is_unix(&p->to))
		sock_nodelay(p->fd);
	probe_limit(p);
	err = probe_put_header(p);
	if (err)
		probe_tell_error(p, PROBE_SOCKERR, err);
	else
		probe_steps_run(p);
}

/* 0, or -errno of the connect. If even the socket failed, `fd` stays -1. */
static int connect_from(struct probe *p, const struct addr *source)
{
	const struct sock_tcp tcp = sock_tcp_of(&p->server->backend->tcp);
	const int fd = low_fds_take(sock_open(&p->to, source, &tcp));

	if (fd < 0)
		return fd;
	p->fd = fd;
	return sys_connect(fd, &p->to.sa, p->to.len);
}

static int connect_from_some(struct probe *p)
{
	static const struct addr none;
	const struct config_sources *s = &p->server->config->source;
	int err;

	if (s->count == 0)
		return connect_from(p, &none);
	if (p->source_at >= s->count)
		p->source_at = 0; /* there were more when the check began */
	/* This source may have run out of ports; try the next. */
	while ((err = connect_from(p, &s->list[p->source_at])) == -EADDRNOTAVAIL &&
	       p->source_at + 1 < s->count) {
		hang_up(p);
		p->source_at++;
	}
	return err;
}

static void try_connect(struct probe *p)
{
	int err;

	p->phase = PROBE_PHASE_CONNECTING;
	limit_to(p, connect_limit_ns(p));
	err = connect_from_some(p);
	if (err == 0) {
		connected(p);
	} else if (err == -EINPROGRESS) {
		probe_watch(p, EV_WRITE);
	} else if (err == -EAGAIN && addr_is_unix(&p->to)) {
		hang_up(p);
		p->phase = PROBE_PHASE_PAUSING;
		probe_wake(p, AGAIN_NS);
	} else if (p->fd < 0) {
		probe_tell_error(p, PROBE_SOCKERR, err); /* one of our socket options or addresses */
	} else {
		connect_failed(p, err);
	}
}

static void finish_connect(struct probe *p)
{
	socklen_t len = sizeof(int);
	int value = 0;
	int err = sys_getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &value, &len);

	if (err == 0)
		err = -value;
	if (err == 0)
		connected(p);
	else
		connect_failed(p, err);
}

/* ---- events ---- */

static void tell_timeout(struct probe *p)
{
	const bool heard = p->received > 0;

	if (p->phase == PROBE_PHASE_CONNECTING)
		connect_failed(p, -ETIMEDOUT);
	else if (p->phase == PROBE_PHASE_SECURING || p->check->kind == CONFIG_CHECK_TLS)
		probe_tell(p, PROBE_L6TOUT, "TLS handshake not complete in time");
	else if (p->phase == PROBE_PHASE_SAYING)
		probe_tell(p, p->check->kind == CONFIG_CHECK_TCP ? PROBE_L4TOUT : PROBE_L7TOUT,
			   "the server does not read the request");
	else
		probe_tell(p, PROBE_L7TOUT,
			   heard ? "expected answer not received in time" : "no answer");
}

static bool is_connect_over(const struct probe *p)
{
	struct pollfd pfd = {.fd = p->fd, .events = POLLOUT};

	return poll(&pfd, 1, 0) > 0; /* a failure means "not yet" */
}

/* Time is up. If control is late, the answer may have been in the socket for a while, so report a timeout
 * only if there is none. */
static void look_once_more(struct probe *p)
{
	if (p->phase == PROBE_PHASE_CONNECTING) {
		if (is_connect_over(p))
			finish_connect(p); /* has the remaining time of the check */
		else
			tell_timeout(p);
		return;
	}
	probe_steps_run(p);
	if (p->phase >= PROBE_PHASE_SECURING && p->phase <= PROBE_PHASE_LISTENING)
		tell_timeout(p);
}

static void start(struct probe *p)
{
	p->began_ns = clock_mono_ns();
	p->source_at = 0;
	p->met_itself = false;
	probe_steps_reset(p);
	try_connect(p);
}

static void on_phase_over(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct probe *p = timer->data;

	(void)loop;
	(void)revents;
	check(p->phase != PROBE_PHASE_IDLE);
	if (p->phase == PROBE_PHASE_PARTING) {
		probe_stop(p);
	} else if (p->phase == PROBE_PHASE_RENEWING) {
		start(p);
	} else if (p->phase == PROBE_PHASE_WAITING) {
		probe_wire_enter(p);
	} else if (p->phase == PROBE_PHASE_PAUSING) {
		if (clock_mono_ns() - p->began_ns < connect_limit_ns(p))
			try_connect(p);
		else
			probe_tell(p, PROBE_L4TOUT, "backlog full");
	} else {
		look_once_more(p);
	}
}

static void on_probe_io(struct ev_loop *loop, struct ev_io *io, int revents)
{
	struct probe *p = io->data;

	(void)loop;
	(void)revents;
	if (p->phase == PROBE_PHASE_CONNECTING)
		finish_connect(p);
	else if (p->phase == PROBE_PHASE_PARTING)
		hear_out(p);
	else
		probe_steps_run(p);
}

/* What is to be asked now; `say` is lent to it. */
static struct config_check question_of(const struct probe *p, struct config_check_step *say)
{
	const struct server *s = p->server;

	if (p->line != NULL)
		return config_server_agent_check(s->backend, s->config, say);
	return config_server_check(s->backend, s->config);
}

/* Copies what to ask, unless it is the same as before. 0 or -ENOMEM. */
static int prepare_question(struct probe *p)
{
	struct config_check_step say;
	const struct config_check now = question_of(p, &say);
	int err;

	if (p->check != NULL && config_check_same(p->check, &now) && probe_steps_fit(p))
		return 0;
	probe_forget(p);
	p->check = config_check_copy(&now);
	if (p->check == NULL)
		return -ENOMEM;
	err = probe_steps_init(p);
	if (err)
		probe_forget(p);
	return err;
}

void probe_start(struct probe *p, const struct addr *to)
{
	int err;

	check(p->phase == PROBE_PHASE_IDLE || p->phase == PROBE_PHASE_PARTING);
	probe_stop(p);
	p->to = *to;
	p->again = false;
	err = prepare_question(p);
	if (err == 0) {
		if (p->check->kind == CONFIG_CHECK_EXEC)
			probe_exec_start(p);
		else
			start(p);
		return;
	}
	p->began_ns = clock_mono_ns();
	p->met_itself = false;
	probe_steps_reset(p);
	p->phase = PROBE_PHASE_CONNECTING;
	probe_tell_error(p, PROBE_SOCKERR, err);
}

/* ---- life ---- */

void probe_init(struct probe *p, struct ev_loop *loop, const struct server *s)
{
	memset(p, 0, sizeof(*p));
	p->loop = loop;
	p->server = s;
	p->phase = PROBE_PHASE_IDLE;
	p->fd = -1;
	probe_wire_init(p);
	probe_exec_init(p);
	ev_init(&p->io, on_probe_io);
	p->io.data = p;
	ev_init(&p->timer, on_phase_over);
	p->timer.data = p;
}

void probe_init_agent(struct probe *p, struct ev_loop *loop, const struct server *s,
		      struct agent_line *line)
{
	probe_init(p, loop, s);
	p->line = line;
}

void probe_forget(struct probe *p)
{
	probe_stop(p);
	probe_steps_free(p);
	config_check_copy_free(p->check);
	p->check = NULL;
}

void probe_free(struct probe *p)
{
	probe_forget(p);
	exec_client_free(&p->exec);
}

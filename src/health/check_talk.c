/* SPDX-License-Identifier: MIT
 *
 * check_talk.c - one check of one server: connect, say, listen, judge, and part in peace.
 *
 * Owns the socket. A check that gets no socket, no port or no memory has learnt nothing of the server and
 * says so (SOCKERR). What is said and heard is check_steps.c's. Main thread.
 */
#include "check_talk.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/engine/endpoint.h"
#include "weir/engine/server_sock.h"
#include "weir/net/self_connect.h"
#include "weir/sys/low_fds.h"
#include "weir/sys/sys.h"
#include "check_steps.h"

/* No event tells of room in a Unix backlog. */
#define AGAIN_NS (10 * NS_PER_MS)

static void on_io(struct ev_loop *loop, struct ev_io *io, int revents);
static void on_timer(struct ev_loop *loop, struct ev_timer *timer, int revents);

/* ---- time, events and the end ---- */

static int64_t whole_ns(const struct check_talk *t)
{
	return t->check->timeout_ns > 0 ? t->check->timeout_ns : t->check->interval_ns;
}

/* HAProxy: a connect has min(timeout-connect, interval), and never more than the check. */
static int64_t connect_limit_ns(const struct check_talk *t)
{
	int64_t limit_ns = whole_ns(t);

	if (t->check->interval_ns < limit_ns)
		limit_ns = t->check->interval_ns;
	return t->connect_ns > 0 && t->connect_ns < limit_ns ? t->connect_ns : limit_ns;
}

static void wake_in(struct check_talk *t, int64_t ns)
{
	t->end_ns = clock_mono_ns() + ns;
	ev_timer_stop(t->loop, &t->timer);
	ev_timer_set(&t->timer, ns > 0 ? (double)ns / (double)NS_PER_SEC : 0., 0.);
	ev_timer_start(t->loop, &t->timer);
}

/* The timer ends the phase when `limit_ns` have gone by since the check began. */
static void limit_to(struct check_talk *t, int64_t limit_ns)
{
	wake_in(t, t->began_ns + limit_ns - clock_mono_ns());
}

void check_talk_watch(struct check_talk *t, int events)
{
	if (ev_is_active(&t->io) && (t->io.events & (EV_READ | EV_WRITE)) == events)
		return;
	ev_io_stop(t->loop, &t->io);
	ev_io_set(&t->io, t->fd, events);
	ev_io_start(t->loop, &t->io);
}

static void hang_up(struct check_talk *t)
{
	ev_io_stop(t->loop, &t->io);
	if (t->fd >= 0)
		low_fds_close(t->fd);
	t->fd = -1;
}

void check_talk_stop(struct check_talk *t)
{
	hang_up(t);
	ev_timer_stop(t->loop, &t->timer);
	t->phase = CHECK_IDLE;
}

/* Reads what still comes, for as long as the server means to speak. */
static void hear_out(struct check_talk *t)
{
	ssize_t n = 1;

	while (n > 0 && t->received < CHECK_BYTES_MAX) {
		n = sys_recv(t->fd, t->in, sizeof(t->in), 0);
		t->received += n > 0 ? (size_t)n : 0;
	}
	if (n == -EAGAIN)
		check_talk_watch(t, EV_READ);
	else
		check_talk_stop(t);
}

static void part(struct check_talk *t)
{
	const bool connected = t->phase == CHECK_SAYING || t->phase == CHECK_LISTENING;

	if (!connected || sys_shutdown(t->fd, SHUT_WR) != 0) {
		check_talk_stop(t);
		return;
	}
	t->phase = CHECK_PARTING;
	t->received = 0;
	wake_in(t, CHECK_BYE_NS);
	hear_out(t);
}

/* On the loop, not here: who found the verdict is still looking at what came. */
static void begin_again(struct check_talk *t)
{
	hang_up(t);
	check_steps_reset(t);
	t->again = true;
	t->phase = CHECK_RENEWING;
	wake_in(t, 0);
}

void check_talk_tell(struct check_talk *t, enum check_code code, const char *detail)
{
	struct check_result r = {
		.code = code,
		.status = t->check->kind == CONFIG_CHECK_HTTP ? t->http.status : 0,
		.duration_ms = (clock_mono_ns() - t->began_ns) / NS_PER_MS,
		.met_itself = t->met_itself,
	};

	check(t->phase != CHECK_IDLE);
	check(t->phase != CHECK_PARTING);
	if (check_code_outcome(code) == CHECK_FAILED && !t->again &&
	    clock_mono_ns() - t->end_ns > CHECK_LATE_NS) {
		begin_again(t);
		return;
	}
	(void)snprintf(r.detail, sizeof(r.detail), "%s", detail); /* a cut one is still a detail */
	part(t);
	t->done(t->arg, &r);
}

/* "connection refused": the C library's words, as a part of a sentence. */
void check_talk_tell_error(struct check_talk *t, enum check_code code, int err)
{
	const char *words = strerrordesc_np(-err);
	char text[CHECK_DETAIL_MAX];

	(void)snprintf(text, sizeof(text), "%s", words != NULL ? words : "unknown error"); /* cut is fine */
	if (text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a' && text[1] <= 'z')
		text[0] = (char)(text[0] - 'A' + 'a');
	check_talk_tell(t, server_sock_is_shortage(err) ? CHECK_SOCKERR : code, text);
}

/* ---- connecting ---- */

static void connect_failed(struct check_talk *t, int err)
{
	if (err == -ETIMEDOUT)
		check_talk_tell(t, CHECK_L4TOUT, "no answer to the connect");
	else
		check_talk_tell_error(t, CHECK_L4CON, err);
}

/* HAProxy's checks: who gets a header from clients gets one from checks, but at a port of their own. */
static enum config_send_proxy header_version(const struct check_talk *t)
{
	switch (t->check->proxy) {
	case CONFIG_CHECK_PROXY_AUTO:
		break;
	case CONFIG_CHECK_PROXY_OFF:
		return CONFIG_SEND_PROXY_OFF;
	case CONFIG_CHECK_PROXY_V1:
		return CONFIG_SEND_PROXY_V1;
	case CONFIG_CHECK_PROXY_V2:
		return CONFIG_SEND_PROXY_V2;
	}
	if (t->check->port != 0 || t->server->check_port != 0)
		return CONFIG_SEND_PROXY_OFF;
	return t->server->send_proxy;
}

/* HAProxy's checks: a v2 header says LOCAL, a v1 header the real addresses of the check's own connection. */
static int put_header(struct check_talk *t)
{
	const enum config_send_proxy version = header_version(t);
	struct proxy_send send = {.version = 2, .local = true};
	struct addr src = {.len = sizeof(src.un)};
	ssize_t n;

	if (version == CONFIG_SEND_PROXY_OFF)
		return 0;
	if (version == CONFIG_SEND_PROXY_V1) {
		send.version = 1;
		send.local = false;
		const int err = sys_getsockname(t->fd, &src.sa, &src.len);

		if (err)
			return err;
		addr_to_brief(&src.sa, src.len, &send.src);
		addr_to_brief(&t->to.sa, t->to.len, &send.dst);
	}
	n = proxy_make(&send, t->header, sizeof(t->header));
	if (n < 0)
		return (int)n;
	t->out = t->header;
	t->out_len = (size_t)n;
	return 0;
}

/* Nobody listens, and the connect succeeded all the same. */
static void met_itself(struct check_talk *t)
{
	sock_harden(t->fd); /* in TIME_WAIT it would hold the server's port */
	t->met_itself = true;
	check_talk_tell(t, CHECK_L4CON, "connection refused (connected to itself)");
}

static void connected(struct check_talk *t)
{
	int err;

	if (self_connect_happened(t->fd, &t->to)) {
		met_itself(t);
		return;
	}
	t->phase = CHECK_SAYING;
	if (!addr_is_unix(&t->to))
		sock_nodelay(t->fd);
	limit_to(t, whole_ns(t));
	err = put_header(t);
	if (err)
		check_talk_tell_error(t, CHECK_SOCKERR, err);
	else
		check_steps_run(t);
}

/* 0, or -errno of the connect; without even a socket `fd` stays -1. */
static int connect_from(struct check_talk *t, const struct addr *source)
{
	const int fd = low_fds_take(sock_open(&t->to, source, &t->tcp));

	if (fd < 0)
		return fd;
	t->fd = fd;
	return sys_connect(fd, &t->to.sa, t->to.len);
}

static int connect_from_some(struct check_talk *t)
{
	static const struct addr none;
	const struct config_sources *s = &t->server->source;
	int err;

	if (s->count == 0)
		return connect_from(t, &none);
	/* The ports of one may have run out. */
	while ((err = connect_from(t, &s->list[t->source_at])) == -EADDRNOTAVAIL &&
	       t->source_at + 1 < s->count) {
		hang_up(t);
		t->source_at++;
	}
	return err;
}

static void try_connect(struct check_talk *t)
{
	int err;

	t->phase = CHECK_CONNECTING;
	limit_to(t, connect_limit_ns(t));
	err = connect_from_some(t);
	if (err == 0) {
		connected(t);
	} else if (err == -EINPROGRESS) {
		check_talk_watch(t, EV_WRITE);
	} else if (err == -EAGAIN && addr_is_unix(&t->to)) {
		hang_up(t);
		t->phase = CHECK_PAUSING;
		wake_in(t, AGAIN_NS);
	} else if (t->fd < 0) {
		check_talk_tell_error(t, CHECK_SOCKERR, err); /* an option or an address of ours */
	} else {
		connect_failed(t, err);
	}
}

static void finish_connect(struct check_talk *t)
{
	socklen_t len = sizeof(int);
	int value = 0;
	int err = sys_getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &value, &len);

	if (err == 0)
		err = -value;
	if (err == 0)
		connected(t);
	else
		connect_failed(t, err);
}

/* ---- events ---- */

static void tell_timeout(struct check_talk *t)
{
	const bool heard = t->received > 0;

	if (t->phase == CHECK_CONNECTING)
		connect_failed(t, -ETIMEDOUT);
	else if (t->phase == CHECK_SAYING)
		check_talk_tell(t, t->check->kind == CONFIG_CHECK_TCP ? CHECK_L4TOUT : CHECK_L7TOUT,
				"it takes no bytes");
	else
		check_talk_tell(t, CHECK_L7TOUT,
				heard ? "what is expected has not come in time" : "no answer");
}

static bool is_connect_over(const struct check_talk *t)
{
	struct pollfd p = {.fd = t->fd, .events = POLLOUT};

	return poll(&p, 1, 0) > 0; /* a failure is "not yet" */
}

/* Time is over. But where control comes late, the answer may be in the socket for long: what is there
 * counts, and the timer only when there is nothing. */
static void look_once_more(struct check_talk *t)
{
	if (t->phase == CHECK_CONNECTING) {
		if (is_connect_over(t))
			finish_connect(t); /* from now on it has the time of the whole check */
		else
			tell_timeout(t);
		return;
	}
	check_steps_run(t);
	if (t->phase == CHECK_SAYING || t->phase == CHECK_LISTENING)
		tell_timeout(t);
}

static void start(struct check_talk *t)
{
	t->began_ns = clock_mono_ns();
	t->source_at = 0;
	t->met_itself = false;
	check_steps_reset(t);
	try_connect(t);
}

static void on_timer(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct check_talk *t = timer->data;

	(void)loop;
	(void)revents;
	check(t->phase != CHECK_IDLE);
	if (t->phase == CHECK_PARTING) {
		check_talk_stop(t);
	} else if (t->phase == CHECK_RENEWING) {
		start(t);
	} else if (t->phase == CHECK_PAUSING) {
		if (clock_mono_ns() - t->began_ns < connect_limit_ns(t))
			try_connect(t);
		else
			check_talk_tell(t, CHECK_L4TOUT, "its backlog is full");
	} else {
		look_once_more(t);
	}
}

static void on_io(struct ev_loop *loop, struct ev_io *io, int revents)
{
	struct check_talk *t = io->data;

	(void)loop;
	(void)revents;
	if (t->phase == CHECK_CONNECTING)
		finish_connect(t);
	else if (t->phase == CHECK_PARTING)
		hear_out(t);
	else
		check_steps_run(t);
}

void check_talk_start(struct check_talk *t, const struct addr *to)
{
	check(t->phase == CHECK_IDLE || t->phase == CHECK_PARTING);
	check_talk_stop(t);
	t->to = *to;
	t->again = false;
	start(t);
}

/* ---- life ---- */

int check_talk_init(struct check_talk *t, struct ev_loop *loop, const struct config_backend *b,
		    const struct config_server *s)
{
	int err;

	check(b->check.kind != CONFIG_CHECK_OFF);
	memset(t, 0, sizeof(*t));
	t->loop = loop;
	t->check = &b->check;
	t->server = s;
	t->tcp = sock_tcp_of(&b->tcp);
	t->connect_ns = b->timeouts.connect_ns;
	t->phase = CHECK_IDLE;
	t->fd = -1;
	ev_init(&t->io, on_io);
	t->io.data = t;
	ev_init(&t->timer, on_timer);
	t->timer.data = t;
	err = check_steps_init(t, s);
	if (err)
		check_talk_free(t);
	return err;
}

void check_talk_free(struct check_talk *t)
{
	check_talk_stop(t);
	check_steps_free(t);
}

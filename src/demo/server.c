/* SPDX-License-Identifier: MIT
 *
 * server.c - a server of the demo: a process of its own, with a libev loop.
 *
 * Leaving disturbs nobody: new SYNs are dropped while handshakes in progress complete; then the queue is
 * emptied and the listener closed.
 */
#include "server.h"

#include <errno.h>
#include <ev.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/base/counters.h"
#include "talk.h"

/* A handshake over loopback takes microseconds, but the proxy completes its own with the first bytes it
 * sends, or after 200 ms. This is a little more, as timers are late on a busy machine. */
#define DEAF_S	      0.3
#define VISITOR_S     10.
#define LEAVING_S     2. /* the same as VISITOR_S, while the server is leaving */
#define VISITOR_BYTES 4096u
#define ACCEPT_BATCH  16

/* The state of a connection. */
enum conn_state {
	CONN_NEW,     /* of unknown kind until its first byte */
	CONN_TALK,    /* a client of the demo */
	CONN_VISITOR, /* anyone else: reads a request, answers once */
};

struct server {
	struct ev_loop *loop; /* owns */
	const char *name;
	struct server_stats *stats; /* shared with the parent */
	struct ev_io accepting;
	struct ev_io signals;
	struct ev_timer deaf;
	struct conn *strangers; /* list: a server that leaves does not wait for them */
	bool leaving;
};

struct conn {
	struct ev_io io;
	struct ev_timer patience; /* for a stranger */
	struct server *server;
	struct conn *next; /* next stranger: a visitor, or not known yet */
	enum conn_state state;
	uint32_t window; /* the last four bytes of a visitor's request */
	size_t seen;
	struct talk talk;
};

static void maybe_leave(struct server *s)
{
	bool listening = ev_is_active(&s->accepting);

	if (s->leaving && !listening && atomic_load_explicit(&s->stats->open, memory_order_relaxed) == 0)
		ev_break(s->loop, EVBREAK_ALL);
}

static void forget_stranger(struct conn *c)
{
	for (struct conn **p = &c->server->strangers; *p != NULL; p = &(*p)->next) {
		if (*p == c) {
			*p = c->next;
			break;
		}
	}
	ev_timer_stop(c->server->loop, &c->patience);
}

static void end_conn(struct conn *c)
{
	struct server *s = c->server;

	if (c->state != CONN_TALK)
		forget_stranger(c);
	ev_io_stop(s->loop, &c->io);
	(void)close(c->io.fd);
	free(c);
	atomic_fetch_sub_explicit(&s->stats->open, 1, memory_order_relaxed);
	maybe_leave(s);
}

static void fail_conn(struct conn *c, int err)
{
	struct server_stats *stats = c->server->stats;

	if (atomic_load_explicit(&stats->errors, memory_order_relaxed) == 0)
		(void)snprintf(stats->first_error, sizeof(stats->first_error), "%s",
			       err == -EBADMSG ? "a wrong byte arrived" : strerror(-err));
	counter_add_shared(&stats->errors, 1);
	end_conn(c);
}

static void want(struct conn *c, int events)
{
	if (c->io.events == events)
		return;
	ev_io_stop(c->server->loop, &c->io);
	ev_io_set(&c->io, c->io.fd, events);
	ev_io_start(c->server->loop, &c->io);
}

/* One talk after another, until the client ends or we have to wait for it. */
static void go_on(struct conn *c)
{
	uint64_t moved = 0;
	int need;

	while ((need = talk_go(&c->talk, c->io.fd, &moved)) == TALK_NEED_NOTHING) {
		bool heard = c->talk.steps[0] == TALK_STEP_RECV_HELLO;
		int err = heard ? talk_answer(&c->talk) : 0;

		if (err) {
			fail_conn(c, err);
			return;
		}
		if (!heard && c->talk.what == TALK_UP) {
			end_conn(c);
			return;
		}
		if (!heard)
			talk_begin_server(&c->talk);
	}
	if (need == TALK_NEED_CLOSE)
		end_conn(c);
	else if (need < 0)
		fail_conn(c, need);
	else
		want(c, need == TALK_NEED_READ ? EV_READ : EV_WRITE);
}

static void greet(struct conn *c)
{
	const struct server_stats *stats = c->server->stats;
	char line[160], reply[320];
	int n = snprintf(line, sizeof(line),
			 "hello from %s (pid %d). You are visitor %llu among %llu connections.\n",
			 c->server->name, (int)getpid(),
			 (unsigned long long)atomic_load_explicit(&stats->visitors, memory_order_relaxed),
			 (unsigned long long)atomic_load_explicit(&stats->connections, memory_order_relaxed));

	check(n > 0 && (size_t)n < sizeof(line));
	n = snprintf(reply, sizeof(reply),
		     "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n"
		     "Connection: close\r\n\r\n%s",
		     n, line);
	check(n > 0 && (size_t)n < sizeof(reply));
	/* A new socket has room for a line; a visitor who is gone does not need it. */
	(void)send(c->io.fd, reply, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
	end_conn(c);
}

/* A request ends with an empty line. If it is not HTTP (nc), it ends with its first line. */
static void hear_visitor(struct conn *c)
{
	unsigned char bytes[512];
	ssize_t n = recv(c->io.fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		end_conn(c);
		return;
	}
	c->seen += (size_t)n;
	for (ssize_t i = 0; i < n; i++) {
		c->window = c->window << 8 | bytes[i];
		if (c->window == 0x0d0a0d0a || (c->window & 0xffff) == 0x0a0a) {
			greet(c);
			return;
		}
	}
	if (c->seen > VISITOR_BYTES)
		greet(c);
}

static void give_time(struct conn *c, double seconds)
{
	ev_timer_stop(c->server->loop, &c->patience);
	ev_timer_set(&c->patience, seconds, 0.);
	ev_timer_start(c->server->loop, &c->patience);
}

static bool has_spoken(const struct conn *c)
{
	char byte;

	return recv(c->io.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Timers run before sockets in a turn of the loop. On a busy machine it may be us who are late: a stranger
 * who has long since sent a request would be reset. A visitor's bytes are limited, so this ends. */
static void on_impatience(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct conn *c = timer->data;

	(void)loop;
	(void)revents;
	if (has_spoken(c))
		give_time(c, LEAVING_S);
	else
		end_conn(c);
}

/* Distinguishes a client of the demo from a visitor. */
static bool recognise(struct conn *c)
{
	struct server *s = c->server;
	unsigned char first;
	ssize_t n = recv(c->io.fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) { /* someone checked whether the port is open */
		end_conn(c);
		return false;
	}
	if (talk_is_hello(first)) {
		forget_stranger(c);
		c->state = CONN_TALK;
		counter_add_shared(&s->stats->connections, 1);
		talk_begin_server(&c->talk);
		return true;
	}
	c->state = CONN_VISITOR;
	counter_add_shared(&s->stats->visitors, 1);
	return true;
}

static void on_conn_io(struct ev_loop *loop, struct ev_io *io, int revents)
{
	struct conn *c = io->data;

	(void)loop;
	(void)revents;
	if (c->state == CONN_NEW && !recognise(c))
		return;
	if (c->state == CONN_TALK)
		go_on(c);
	else
		hear_visitor(c);
}

static void set_min_ttl(int fd, int ttl)
{
	/* Cannot fail with these values. If it did, a client might see a reset and report it. */
	(void)setsockopt(fd, IPPROTO_IP, IP_MINTTL, &ttl, sizeof(ttl));
}

/* -EAGAIN if nobody is waiting. */
static int accept_one(struct server *s)
{
	int fd = accept4(s->accepting.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct conn *c;

	if (fd < 0)
		return -errno;
	c = calloc(1, sizeof(*c));
	if (c == NULL) {
		(void)close(fd);
		return -ENOMEM;
	}
	if (s->leaving)
		set_min_ttl(fd, 0); /* inherited from the listener */
	c->server = s;
	ev_io_init(&c->io, on_conn_io, fd, EV_READ);
	c->io.data = c;
	ev_io_start(s->loop, &c->io);
	ev_init(&c->patience, on_impatience);
	c->patience.data = c;
	give_time(c, VISITOR_S);
	c->next = s->strangers;
	s->strangers = c;
	counter_add_shared(&s->stats->open, 1);
	return 0;
}

static void on_accept(struct ev_loop *loop, struct ev_io *io, int revents)
{
	(void)loop;
	(void)revents;
	for (int i = 0; i < ACCEPT_BATCH; i++)
		if (accept_one(io->data) != 0)
			return;
}

/* From now on the kernel drops each SYN, because no packet arrives with the TTL required here, the highest.
 * Packets of a handshake in progress pass: they belong to the pending request, not to the listener. A socket
 * filter would do the same, but a kernel may refuse one to unprivileged users. The proxy's connect times out,
 * and it tries another server. */
static void deafen(struct server *s)
{
	set_min_ttl(s->accepting.fd, UINT8_MAX);
}

static void on_deaf(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct server *s = timer->data;
	int err;

	(void)revents;
	do
		err = accept_one(s);
	while (err == 0 || err == -EINTR || err == -ECONNABORTED);
	ev_io_stop(loop, &s->accepting);
	(void)close(s->accepting.fd);
	ev_now_update(loop); /* count from now, not from the start of this turn */
	for (struct conn *c = s->strangers; c != NULL; c = c->next)
		give_time(c, LEAVING_S);
	maybe_leave(s);
}

static void on_server_signal(struct ev_loop *loop, struct ev_io *io, int revents)
{
	struct server *s = io->data;
	struct signalfd_siginfo info;

	(void)revents;
	if (read(io->fd, &info, sizeof(info)) != (ssize_t)sizeof(info) || s->leaving)
		return;
	s->leaving = true;
	deafen(s);
	ev_timer_init(&s->deaf, on_deaf, DEAF_S, 0.);
	s->deaf.data = s;
	ev_now_update(loop);
	ev_timer_start(loop, &s->deaf);
}

int server_run(const char *name, int listener, struct server_stats *stats)
{
	struct server s = {.name = name, .stats = stats};
	sigset_t set;
	int fd;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return 1;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	s.loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOENV);
	if (fd < 0 || s.loop == NULL)
		return 1;
	ev_io_init(&s.accepting, on_accept, listener, EV_READ);
	s.accepting.data = &s;
	ev_io_start(s.loop, &s.accepting);
	ev_io_init(&s.signals, on_server_signal, fd, EV_READ);
	s.signals.data = &s;
	ev_io_start(s.loop, &s.signals);
	(void)ev_run(s.loop, 0);
	ev_io_stop(s.loop, &s.signals);
	(void)close(fd);
	ev_loop_destroy(s.loop);
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * bare_relay.c - the yardstick: what a relay costs that does nothing but relay.
 *
 *     bare_relay PORT SERVER [PORT SERVER]...        SERVER is a port of 127.0.0.1 or a path
 *
 * One thread, edge-triggered epoll, one ADD for each socket. Small reads go through one buffer on the
 * stack; a flow that fills it twice in a row is spliced through a pipe of 256 KiB until it is small
 * again. It relays ends of file and resets, and it survives a full destination. It has no timeouts,
 * counters, balancing, logs, retries, limits or urgent data, and dies when memory or descriptors
 * run out: a proxy that comes near it pays little for all of that.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define COPY_BYTES 32768u
#define PIPE_BYTES (256 * 1024)
#define SPLICE_MAX (1u << 30)
#define FULL_READS 2u         /* in a row, and the flow is spliced */
#define SMALL_BYTES 8192u     /* less than this SMALL_READS times in a row, and it is copied again */
#define SMALL_READS 3u
#define ROUNDS 16             /* of one flow before the others' turn */
#define EVENTS 256
#define PAIRS 8

enum verdict { FLOW_IDLE, FLOW_AGAIN, FLOW_DEAD };

struct pipe_ends {
	int in;  /* where bytes go in; -1: no pipe */
	int out;
};

struct session;

struct end {
	struct session *session;
	int fd;
	bool readable;
	bool writable;
	bool hung_up; /* the last byte is in the receive queue already */
};

struct flow {
	struct pipe_ends pipe;
	size_t piped;      /* bytes in the pipe */
	char *kept;        /* bytes that the destination did not take; NULL: none */
	uint32_t kept_at;
	uint32_t kept_end;
	uint8_t streak;    /* full reads in a row, or small ones when splicing */
	bool splicing;
	bool ended;        /* the source has sent its last byte */
	bool finished;     /* and the destination knows */
};

struct session {
	struct end ends[2];
	struct flow flows[2]; /* flows[i] leaves ends[i] */
	struct session *next; /* in the list of those that are to go on, or of those that are free */
	bool server_delays;   /* TCP_NODELAY is still to be set on the server's side */
	bool sent_before, queued, dead;
};

struct door {
	struct end end; /* session is NULL: that is how an event tells a door from an end */
	struct sockaddr_storage server;
	socklen_t server_len;
};

static struct door doors[PAIRS];
static struct session *again, *dead, *spare;
static struct pipe_ends *pipes;
static size_t pipes_count, pipes_room;
static int epoll;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void *grow(void *old, size_t bytes)
{
	old = realloc(old, bytes);
	if (old == NULL)
		die("memory");
	return old;
}

/* ---- pipes ------------------------------------------------------------------------------------- */

static struct pipe_ends pipe_take(void)
{
	int fds[2];

	if (pipes_count > 0)
		return pipes[--pipes_count];
	if (pipe2(fds, O_NONBLOCK | O_CLOEXEC) < 0)
		die("pipe2");
	(void)fcntl(fds[1], F_SETPIPE_SZ, PIPE_BYTES); /* a smaller pipe works too */
	return (struct pipe_ends){.in = fds[1], .out = fds[0]};
}

static void pipe_give(struct flow *f)
{
	if (f->pipe.in < 0)
		return;
	if (f->piped > 0) {
		close(f->pipe.in);
		close(f->pipe.out);
	} else {
		if (pipes_count == pipes_room) {
			pipes_room = pipes_room ? pipes_room * 2 : 64;
			pipes = grow(pipes, pipes_room * sizeof(*pipes));
		}
		pipes[pipes_count++] = f->pipe;
	}
	f->pipe.in = -1;
	f->piped = 0;
}

/* ---- one flow ---------------------------------------------------------------------------------- */

static void keep(struct flow *f, const char *bytes, size_t count)
{
	f->kept = grow(NULL, count);
	memcpy(f->kept, bytes, count);
	f->kept_at = 0;
	f->kept_end = (uint32_t)count;
}

/* The second send in a row to a server could wait for the first one's acknowledgement. */
static void before_send(const struct end *dst)
{
	struct session *s = dst->session;
	const int on = 1;

	if (!s->server_delays || dst != &s->ends[1])
		return;
	if (s->sent_before) {
		s->server_delays = false;
		(void)setsockopt(dst->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	}
	s->sent_before = true;
}

/* Sends; returns how much was taken, or -1 when the destination is dead. */
static ssize_t send_some(struct end *dst, const char *bytes, size_t count)
{
	ssize_t sent;

	before_send(dst);
	sent = send(dst->fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (sent < 0) {
		if (errno != EAGAIN)
			return -1;
		sent = 0;
	}
	if ((size_t)sent < count)
		dst->writable = false;
	return sent;
}

/* Hands on what an earlier turn left behind; false when the destination is dead. */
static bool flush(struct flow *f, struct end *dst)
{
	ssize_t n;

	if (f->kept != NULL) {
		n = send_some(dst, f->kept + f->kept_at, f->kept_end - f->kept_at);
		if (n < 0)
			return false;
		f->kept_at += (uint32_t)n;
		if (f->kept_at == f->kept_end) {
			free(f->kept);
			f->kept = NULL;
		}
	}
	while (f->piped > 0 && dst->writable) {
		before_send(dst);
		/* Exactly what is in the pipe: a greater length corks the last part for 200 ms. */
		n = splice(f->pipe.out, NULL, dst->fd, NULL, f->piped, SPLICE_F_NONBLOCK);
		if (n < 0 && errno != EAGAIN)
			return false;
		if (n < 0)
			dst->writable = false;
		else
			f->piped -= (size_t)n;
	}
	return true;
}

static void count_read(struct flow *f, bool notable, unsigned limit)
{
	f->streak = notable ? (uint8_t)(f->streak + 1) : 0;
	if (f->streak == limit) {
		f->splicing = !f->splicing;
		f->streak = 0;
	}
}

static bool read_failed(struct end *src)
{
	if (errno != EAGAIN)
		return true;
	src->readable = false;
	return false;
}

/* One read through the stack; false when an end is dead. */
static bool copy_some(struct flow *f, struct end *src, struct end *dst)
{
	char buf[COPY_BYTES];
	const ssize_t got = recv(src->fd, buf, sizeof(buf), MSG_DONTWAIT);
	ssize_t sent;

	if (got < 0)
		return !read_failed(src);
	if (got == 0) {
		f->ended = true;
		return true;
	}
	if ((size_t)got < sizeof(buf)) {
		/* A short read has emptied the queue, which the FIN had entered before it. */
		src->readable = false;
		f->ended = src->hung_up;
	}
	count_read(f, (size_t)got == sizeof(buf), FULL_READS);
	sent = send_some(dst, buf, (size_t)got);
	if (sent < 0)
		return false;
	if (sent < got)
		keep(f, buf + sent, (size_t)(got - sent));
	return true;
}

static bool splice_some(struct flow *f, struct end *src)
{
	ssize_t got;

	if (f->pipe.in < 0)
		f->pipe = pipe_take();
	/* The pipe is empty here, so that EAGAIN speaks of the socket. */
	got = splice(src->fd, NULL, f->pipe.in, NULL, SPLICE_MAX, SPLICE_F_NONBLOCK);
	if (got < 0)
		return !read_failed(src);
	if (got == 0) {
		f->ended = true;
		return true;
	}
	f->piped = (size_t)got;
	count_read(f, f->piped < SMALL_BYTES, SMALL_READS);
	return true;
}

static enum verdict flow_run(struct flow *f, struct end *src, struct end *dst)
{
	for (int round = 0; round < ROUNDS; round++) {
		if (f->kept != NULL || f->piped > 0) {
			if (!dst->writable)
				return FLOW_IDLE;
			if (!flush(f, dst))
				return FLOW_DEAD;
			if (f->kept != NULL || f->piped > 0)
				return FLOW_IDLE;
			if (!f->splicing)
				pipe_give(f);
		}
		if (f->ended) {
			/* Where the other flow is over already, close() says it. */
			if (!f->finished && !dst->session->flows[dst - dst->session->ends].finished)
				(void)shutdown(dst->fd, SHUT_WR); /* fails when dst is gone */
			f->finished = true;
			return FLOW_IDLE;
		}
		if (!src->readable || !dst->writable)
			return FLOW_IDLE;
		if (f->splicing ? !splice_some(f, src) : !copy_some(f, src, dst))
			return FLOW_DEAD;
	}
	return FLOW_AGAIN;
}

/* ---- sessions ---------------------------------------------------------------------------------- */

static void session_end(struct session *s, bool reset)
{
	const struct linger now = {.l_onoff = 1, .l_linger = 0};

	for (int i = 0; i < 2; i++) {
		pipe_give(&s->flows[i]);
		free(s->flows[i].kept);
		s->flows[i].kept = NULL;
		if (reset)
			(void)setsockopt(s->ends[i].fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		close(s->ends[i].fd);
	}
	s->dead = true;
	/* Events of this turn may still name it; one in the list of the busy goes from there. */
	if (!s->queued) {
		s->next = dead;
		dead = s;
	}
}

static void session_run(struct session *s)
{
	enum verdict a, b;

	a = flow_run(&s->flows[0], &s->ends[0], &s->ends[1]);
	b = a == FLOW_DEAD ? a : flow_run(&s->flows[1], &s->ends[1], &s->ends[0]);
	if (b == FLOW_DEAD) {
		session_end(s, true);
		return;
	}
	if (s->flows[0].finished && s->flows[1].finished) {
		session_end(s, false);
		return;
	}
	if ((a == FLOW_AGAIN || b == FLOW_AGAIN) && !s->queued) {
		s->queued = true;
		s->next = again;
		again = s;
	}
}

/* Edge-triggered, once, for everything; what is ready now comes as the first event. */
static void end_watch(struct session *s, int i, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET};

	s->ends[i] = (struct end){.session = s, .fd = fd};
	s->flows[i] = (struct flow){.pipe = {.in = -1}};
	ev.data.ptr = &s->ends[i];
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &ev) < 0)
		die("epoll_ctl");
}

static void session_begin(const struct door *d, int client)
{
	const int family = d->server.ss_family;
	const int server = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct session *s = spare;

	if (server < 0)
		die("socket");
	if (connect(server, (const struct sockaddr *)&d->server, d->server_len) < 0 &&
	    errno != EINPROGRESS) {
		close(server);
		close(client);
		return;
	}
	if (s != NULL)
		spare = s->next;
	else
		s = grow(NULL, sizeof(*s));
	s->dead = false;
	s->queued = false;
	s->server_delays = family == AF_INET;
	s->sent_before = false;
	end_watch(s, 1, server);
	end_watch(s, 0, client);
}

static void door_open(struct door *d)
{
	for (;;) {
		const int fd = accept4(d->end.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0)
			session_begin(d, fd);
		else if (errno == EAGAIN)
			return;
		else if (errno != ECONNABORTED)
			die("accept4");
	}
}

static void end_event(struct end *e, uint32_t events)
{
	if (e->session == NULL) {
		door_open((struct door *)e); /* the end is its first member */
		return;
	}
	if (e->session->dead)
		return;
	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		e->readable = true;
	if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
		e->writable = true;
	if (events & EPOLLRDHUP)
		e->hung_up = true;
	session_run(e->session);
}

/* Those that had more to do than one turn allows. */
static void run_busy(void)
{
	struct session *s = again;

	again = NULL;
	while (s != NULL) {
		struct session *next = s->next;

		s->queued = false;
		if (s->dead) {
			s->next = dead;
			dead = s;
		} else {
			session_run(s);
		}
		s = next;
	}
}

/* ---- the process ------------------------------------------------------------------------------- */

static void door_make(struct door *d, const char *port, const char *server)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data = {.ptr = &d->end}};
	const int on = 1;

	in.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	d->end.session = NULL;
	d->end.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (d->end.fd < 0 || setsockopt(d->end.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    setsockopt(d->end.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ||
	    bind(d->end.fd, (const struct sockaddr *)&in, sizeof(in)) < 0 || listen(d->end.fd, 4096) < 0 ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, d->end.fd, &ev) < 0)
		die(port);
	if (server[0] == '/') {
		struct sockaddr_un un = {.sun_family = AF_UNIX};

		(void)snprintf(un.sun_path, sizeof(un.sun_path), "%s", server); /* cut: connect() fails */
		memcpy(&d->server, &un, sizeof(un));
		d->server_len = sizeof(un);
	} else {
		in.sin_port = htons((uint16_t)strtoul(server, NULL, 10));
		memcpy(&d->server, &in, sizeof(in));
		d->server_len = sizeof(in);
	}
}

static void serve(void)
{
	struct epoll_event events[EVENTS];

	for (;;) {
		const int count = epoll_wait(epoll, events, EVENTS, again != NULL ? 0 : -1);

		if (count < 0 && errno != EINTR)
			die("epoll_wait");
		for (int i = 0; i < count; i++)
			end_event(events[i].data.ptr, events[i].events);
		run_busy();
		while (dead != NULL) {
			struct session *s = dead;

			dead = s->next;
			s->next = spare;
			spare = s;
		}
	}
}

int main(int argc, char **argv)
{
	struct rlimit files;

	if (argc < 3 || argc % 2 == 0 || argc > 1 + 2 * PAIRS) {
		fprintf(stderr, "usage: bare_relay PORT SERVER [PORT SERVER]...\n");
		return 2;
	}
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files); /* the limit that we have may do */
	}
	(void)signal(SIGPIPE, SIG_IGN); /* splice has no MSG_NOSIGNAL */
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (epoll < 0)
		die("epoll_create1");
	for (int i = 1; i < argc; i += 2)
		door_make(&doors[i / 2], argv[i], argv[i + 1]);
	serve();
}

/* SPDX-License-Identifier: MIT
 *
 * backend.c - the server behind every contender: cheap enough not to be what is measured.
 *
 *     backend ADDRESS...        an ADDRESS is a port of 127.0.0.1 or a path; ends with its stdin
 *
 * The first byte of a connection chooses:
 *   G  HTTP: GET /1k /16k /128k /1m answers so many bytes; with "Connection: close" it closes first.
 *      Requests may be pipelined and split, but must fit into one read of 4 KiB.
 *   E  echo: whatever comes goes back, this byte included.
 *   U  upload: reads to the end of file, then answers the count of bytes in 20 digits.
 *   D  download: sends until the client shuts its side down, then 20 digits with the count of bytes
 *      that went before them.
 *   0x16  a TLS record: answers HELLO_REPLY bytes and closes, without reading what is in it.
 * Level-triggered epoll, one thread. A client that breaks these rules is reset.
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

#define EVENTS 256
#define READ_BYTES (256u * 1024u)
#define REQUEST_BYTES 4096u
#define BULK_BYTES (256u * 1024u)
#define DIGITS 20
#define HELLO_REPLY 1024
#define HEAD_BYTES 128

struct reply {
	const char *path;
	size_t body;
	char *bytes[2];  /* own, for the life of the process; [1] says that we close */
	size_t count[2];
};

static struct reply replies[] = {
	{.path = "/1k", .body = 1024},
	{.path = "/16k", .body = 16384},
	{.path = "/128k", .body = 131072},
	{.path = "/1m", .body = 1048576},
};

enum kind { KIND_UNKNOWN, KIND_HTTP, KIND_ECHO, KIND_UPLOAD, KIND_DOWNLOAD, KIND_HELLO };

struct conn {
	int fd;
	enum kind kind;
	bool listens;
	bool closes;        /* once everything is sent */
	bool waits;         /* for room: EPOLLOUT is armed */
	bool trailer;       /* of a download: the digits are being sent */
	uint64_t bytes;     /* received by an upload, sent by a download */
	const char *out;    /* borrows from a reply or from own */
	size_t out_count;
	char *own;          /* owns; what an echo or a request left behind; NULL: nothing */
	size_t own_count;
	struct conn *next;  /* in the list of the dead of this turn */
};

static char bulk[BULK_BYTES];
static char in[READ_BYTES];
static int epoll;
static struct conn *dead;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void *need(void *memory)
{
	if (memory == NULL)
		die("memory");
	return memory;
}

static void reply_make(struct reply *r, bool closes)
{
	char *bytes = need(malloc(HEAD_BYTES + r->body));
	const int head = snprintf(bytes, HEAD_BYTES, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n%s\r\n",
	                          r->body, closes ? "Connection: close\r\n" : "");

	memset(bytes + head, 'x', r->body);
	r->bytes[closes] = bytes;
	r->count[closes] = (size_t)head + r->body;
}

static void replies_make(void)
{
	for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
		reply_make(&replies[i], false);
		reply_make(&replies[i], true);
	}
}

static void conn_end(struct conn *c, bool reset)
{
	const struct linger now = {.l_onoff = 1, .l_linger = 0};

	if (reset)
		(void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(c->fd);
	c->fd = -1;
	free(c->own);
	c->own = NULL;
	c->next = dead;
	dead = c;
}

static void watch(struct conn *c, bool room)
{
	struct epoll_event ev = {.events = room ? EPOLLIN | EPOLLOUT : EPOLLIN, .data = {.ptr = c}};

	/* A writer does not read meanwhile, except for a download, which waits for the end of file. */
	if (room && c->kind != KIND_DOWNLOAD)
		ev.events = EPOLLOUT;
	if (room != c->waits && epoll_ctl(epoll, EPOLL_CTL_MOD, c->fd, &ev) < 0)
		die("epoll_ctl");
	c->waits = room;
}

/* Sends what is due; false when there is no room, or when the connection has ended. */
static bool flush(struct conn *c)
{
	while (c->out_count > 0) {
		const ssize_t n = send(c->fd, c->out, c->out_count, MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN) {
			watch(c, true);
			return false;
		}
		if (n < 0) {
			conn_end(c, true);
			return false;
		}
		c->out += n;
		c->out_count -= (size_t)n;
		if (c->kind == KIND_DOWNLOAD && !c->trailer)
			c->bytes += (uint64_t)n;
	}
	if (c->closes) {
		conn_end(c, false);
		return false;
	}
	return true;
}

static const struct reply *reply_find(const char *request, size_t count)
{
	for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
		const size_t path = strlen(replies[i].path);

		if (count > 5 + path && memcmp(request, "GET ", 4) == 0 &&
		    memcmp(request + 4, replies[i].path, path) == 0 && request[4 + path] == ' ')
			return &replies[i];
	}
	return NULL;
}

static void keep(struct conn *c, const char *bytes, size_t count)
{
	char *fresh = count > 0 ? need(malloc(count)) : NULL;

	if (fresh != NULL)
		memcpy(fresh, bytes, count);
	free(c->own);
	c->own = fresh;
	c->own_count = count;
}

/* Answers every whole request in `bytes`, keeps the rest. */
static void http(struct conn *c, const char *bytes, size_t count)
{
	while (count > 0) {
		const char *end = memmem(bytes, count, "\r\n\r\n", 4);
		const struct reply *r;

		if (end == NULL)
			break;
		r = reply_find(bytes, (size_t)(end - bytes));
		if (r == NULL) {
			conn_end(c, true);
			return;
		}
		c->closes = memmem(bytes, (size_t)(end - bytes), "ion: close", 10) != NULL;
		c->out = r->bytes[c->closes];
		c->out_count = r->count[c->closes];
		count -= (size_t)(end + 4 - bytes);
		bytes = end + 4;
		if (!flush(c)) {
			if (c->fd < 0)
				return;
			break;
		}
	}
	if (count > REQUEST_BYTES)
		conn_end(c, true);
	else if (count > 0 || c->own != NULL)
		keep(c, bytes, count);
}

static void http_read(struct conn *c, size_t count)
{
	char whole[2 * REQUEST_BYTES];

	if (c->own == NULL) {
		http(c, in, count);
		return;
	}
	if (c->own_count + count > sizeof(whole)) {
		conn_end(c, true);
		return;
	}
	memcpy(whole, c->own, c->own_count);
	memcpy(whole + c->own_count, in, count);
	http(c, whole, c->own_count + count);
}

static void echo_read(struct conn *c, size_t count)
{
	c->out = in;
	c->out_count = count;
	if (flush(c) || c->fd < 0)
		return;
	/* `in` is for the next reader, the rest is this one's. */
	keep(c, c->out, c->out_count);
	c->out = c->own;
}

static void bulk_send(struct conn *c)
{
	/* A few blocks, then the others' turn; EPOLLOUT stays armed. */
	for (int i = 0; i < 4; i++) {
		if (c->out_count == 0) {
			c->out = bulk;
			c->out_count = sizeof(bulk);
		}
		if (!flush(c))
			return;
	}
	watch(c, true);
}

static void hello_read(struct conn *c)
{
	if (c->closes)
		return;
	c->out = bulk;
	c->out_count = HELLO_REPLY;
	c->closes = true;
	(void)flush(c); /* false: it is over */
}

/* The client has shut down its side: what it may still want to know. */
static void conn_ended(struct conn *c)
{
	char digits[DIGITS + 1];

	c->closes = true;
	if (c->trailer)
		return;
	if (c->kind == KIND_UPLOAD || c->kind == KIND_DOWNLOAD) {
		(void)snprintf(digits, sizeof(digits), "%0*llu", DIGITS, (unsigned long long)c->bytes);
		keep(c, digits, DIGITS);
		c->out = c->own;
		c->out_count = DIGITS;
		c->trailer = true;
	}
	(void)flush(c); /* false: it is over, or goes on when there is room */
}

static enum kind kind_of(char first)
{
	switch (first) {
	case 'G': return KIND_HTTP;
	case 'E': return KIND_ECHO;
	case 'U': return KIND_UPLOAD;
	case 'D': return KIND_DOWNLOAD;
	case 0x16: return KIND_HELLO;
	default: return KIND_UNKNOWN;
	}
}

static void conn_read(struct conn *c)
{
	const ssize_t n = recv(c->fd, in, c->kind == KIND_HTTP ? REQUEST_BYTES : sizeof(in), 0);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n < 0) {
		conn_end(c, true);
		return;
	}
	if (n == 0) {
		conn_ended(c);
		return;
	}
	if (c->kind == KIND_UNKNOWN)
		c->kind = kind_of(in[0]);
	switch (c->kind) {
	case KIND_HTTP: http_read(c, (size_t)n); break;
	case KIND_ECHO: echo_read(c, (size_t)n); break;
	case KIND_UPLOAD: c->bytes += (uint64_t)n; break;
	case KIND_DOWNLOAD: bulk_send(c); break;
	case KIND_HELLO: hello_read(c); break;
	case KIND_UNKNOWN: conn_end(c, true); break;
	}
}

static void conn_room(struct conn *c)
{
	if (c->kind == KIND_DOWNLOAD && !c->trailer) {
		bulk_send(c);
		return;
	}
	if (!flush(c))
		return;
	watch(c, false);
	if (c->kind == KIND_HTTP && c->own != NULL) {
		http_read(c, 0);
		return;
	}
	free(c->own);
	c->own = NULL;
}

static void accept_all(const struct conn *listener)
{
	for (;;) {
		const int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct epoll_event ev = {.events = EPOLLIN};
		struct conn *c;

		if (fd < 0 && errno == EAGAIN)
			return;
		if (fd < 0 && errno == ECONNABORTED)
			continue;
		if (fd < 0)
			die("accept4");
		c = need(calloc(1, sizeof(*c)));
		c->fd = fd;
		ev.data.ptr = c;
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &ev) < 0)
			die("epoll_ctl");
	}
}

static void listen_at(const char *address)
{
	const int family = address[0] == '/' ? AF_UNIX : AF_INET;
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	struct sockaddr_in tcp = {.sin_family = AF_INET};
	struct epoll_event ev = {.events = EPOLLIN};
	struct conn *c = need(calloc(1, sizeof(*c)));
	const int on = 1;
	int err;

	c->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	c->listens = true;
	ev.data.ptr = c;
	if (c->fd < 0)
		die("socket");
	if (family == AF_UNIX) {
		(void)snprintf(un.sun_path, sizeof(un.sun_path), "%s", address); /* cut: nobody finds it */
		err = bind(c->fd, (const struct sockaddr *)&un, sizeof(un));
	} else {
		tcp.sin_port = htons((uint16_t)strtoul(address, NULL, 10));
		tcp.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		(void)setsockopt(c->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)); /* else bind() says so */
		(void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* slower, not wrong */
		err = bind(c->fd, (const struct sockaddr *)&tcp, sizeof(tcp));
	}
	if (err < 0 || listen(c->fd, 4096) < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &ev) < 0)
		die(address);
}

static void conn_event(struct conn *c, uint32_t events)
{
	if (c->fd < 0)
		return;
	if (c->listens) {
		accept_all(c);
		return;
	}
	if (events & EPOLLERR) {
		conn_end(c, true);
		return;
	}
	if (events & (EPOLLIN | EPOLLHUP) && !(c->waits && c->kind != KIND_DOWNLOAD))
		conn_read(c);
	if (c->fd >= 0 && events & EPOLLOUT && c->waits)
		conn_room(c);
}

static void serve(void)
{
	struct epoll_event events[EVENTS];

	for (;;) {
		const int count = epoll_wait(epoll, events, EVENTS, -1);

		if (count < 0 && errno != EINTR)
			die("epoll_wait");
		for (int i = 0; i < count; i++) {
			if (events[i].data.ptr == NULL)
				return; /* whoever started us has gone */
			conn_event(events[i].data.ptr, events[i].events);
		}
		while (dead != NULL) {
			struct conn *c = dead;

			dead = c->next;
			free(c);
		}
	}
}

int main(int argc, char **argv)
{
	struct epoll_event ev = {.events = EPOLLIN, .data = {.ptr = NULL}};
	struct rlimit files;

	if (argc < 2) {
		fprintf(stderr, "usage: backend ADDRESS...\n");
		return 2;
	}
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files); /* the limit that we have may do */
	}
	(void)signal(SIGPIPE, SIG_IGN);
	replies_make();
	memset(bulk, 'b', sizeof(bulk));
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (epoll < 0)
		die("epoll_create1");
	for (int i = 1; i < argc; i++)
		listen_at(argv[i]);
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &ev) < 0)
		die("stdin is no pipe");
	printf("ready\n");
	(void)fflush(stdout);
	serve();
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * echo.c - servers of the test: each sends back what it gets, and ends when its client has ended.
 *
 * Owns a thread, its listeners and its connections.
 */
#include "echo.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/base/list.h"

#define ECHO_BYTES 16384u
#define ECHO_EVENTS 64
/* The last of them are Unix sockets. */
#define ECHO_UNIX_SERVERS 2u

struct echo_conn {
	struct list link;
	int fd; /* owns */
	bool ended; /* the client sends no more */
	size_t at, len;
	char bytes[ECHO_BYTES];
};

static struct addr addrs[ECHO_SERVERS];
static int listeners[ECHO_SERVERS];
static int epfd, stop_fd;
static pthread_t thread;
static struct list conns; /* the thread's, while it runs */
static atomic_uint open_conns;

static void watch(int fd, uint32_t events, void *what)
{
	struct epoll_event ev = {.events = events, .data.ptr = what};

	check(epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &ev) == 0);
}

static void take_clients(int fd)
{
	for (;;) {
		const int one = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct echo_conn *c;

		if (one < 0)
			return;
		c = malloc(sizeof(*c));
		check(c != NULL);
		*c = (struct echo_conn){.fd = one};
		list_push_back(&conns, &c->link);
		atomic_fetch_add(&open_conns, 1);
		watch(one, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, c);
	}
}

/* False when nothing more can be done now, or at all. */
static bool step(struct echo_conn *c, bool *over)
{
	const bool reads = c->at == c->len;
	const ssize_t n = reads ? recv(c->fd, c->bytes, ECHO_BYTES, 0)
				: send(c->fd, c->bytes + c->at, c->len - c->at, MSG_NOSIGNAL);

	if (n < 0) {
		*over = errno != EAGAIN;
		return errno == EINTR;
	}
	if (n == 0) {
		*over = true;
		return false;
	}
	if (reads) {
		c->at = 0;
		c->len = (size_t)n;
	} else {
		c->at += (size_t)n;
	}
	return true;
}

static void drop(struct echo_conn *c)
{
	list_remove(&c->link);
	close(c->fd);
	free(c);
	atomic_fetch_sub(&open_conns, 1);
}

static void turn_conn(struct echo_conn *c)
{
	bool over = false;

	while (step(c, &over))
		continue;
	if (over)
		drop(c);
}

static void *run(void *arg)
{
	struct epoll_event events[ECHO_EVENTS];

	for (;;) {
		const int n = epoll_wait(epfd, events, ECHO_EVENTS, -1);

		for (int i = 0; i < n; i++) {
			int *const listener = events[i].data.ptr;

			if (listener == &stop_fd)
				return arg;
			if (listener >= listeners && listener < listeners + ECHO_SERVERS)
				take_clients(*listener);
			else
				turn_conn(events[i].data.ptr);
		}
	}
}

static void open_one(unsigned i, const char *folder)
{
	struct addr *a = &addrs[i];
	struct addr_spec spec;
	char text[128] = "127.0.0.1:1";

	if (i >= ECHO_SERVERS - ECHO_UNIX_SERVERS)
		(void)snprintf(text, sizeof(text), "unix:%s/echo%u", folder, i); /* fits */
	check(addr_parse(text, &spec, NULL, NULL) == 0);
	*a = spec.addr;
	if (!addr_is_unix(a))
		a->in.sin_port = 0;
	listeners[i] = socket(a->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	check(listeners[i] >= 0);
	check(bind(listeners[i], &a->sa, a->len) == 0);
	check(listen(listeners[i], 4096) == 0);
	if (a->sa.sa_family == AF_INET)
		check(getsockname(listeners[i], &a->sa, &a->len) == 0);
	watch(listeners[i], EPOLLIN, &listeners[i]);
}

void echo_start(const char *folder)
{
	epfd = epoll_create1(EPOLL_CLOEXEC);
	stop_fd = eventfd(0, EFD_CLOEXEC);
	check(epfd >= 0 && stop_fd >= 0);
	watch(stop_fd, EPOLLIN, &stop_fd);
	list_init(&conns);
	for (unsigned i = 0; i < ECHO_SERVERS; i++)
		open_one(i, folder);
	check(pthread_create(&thread, NULL, run, NULL) == 0);
}

const struct addr *echo_addr(unsigned server)
{
	return &addrs[server];
}

unsigned echo_open(void)
{
	return atomic_load(&open_conns);
}

void echo_stop(void)
{
	const uint64_t one = 1;

	check(write(stop_fd, &one, sizeof(one)) == sizeof(one));
	check(pthread_join(thread, NULL) == 0);
	/* Those whose end the thread has not seen yet. */
	while (!list_empty(&conns))
		drop(list_entry(conns.next, struct echo_conn, link));
	for (unsigned i = 0; i < ECHO_SERVERS; i++) {
		if (addr_is_unix(&addrs[i]))
			(void)unlink(addrs[i].un.sun_path);
		close(listeners[i]);
	}
	close(stop_fd);
	close(epfd);
}

/* SPDX-License-Identifier: MIT
 *
 * storm_load.c - clients that notice anything a reload does to them, and the server behind the proxy.
 *
 *   storm_load echo [HOST:]PORT...             answers each byte with itself; HOST is 127.0.0.1 if unset
 *   storm_load clients PORT RATE STREAMS MS    until stdin ends
 *
 * The clients begin RATE short sessions a second (connect, 64 keyed bytes there and back, end) and keep
 * STREAMS long ones that send 512 keyed bytes every 100 ms; each stream lives for a time drawn between 1 and
 * 60 s, and another one takes its place, so that they begin in different generations. A byte that is not the
 * one that was sent is counted as wrong. Each connect that takes longer than MS is a line "slow AT TOOK" and
 * each failure a line "failed AT WHAT ERROR", in milliseconds of the monotonic clock. The last line is a JSON
 * object with all counts.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SHORT_BYTES   64u
#define CHUNK_BYTES   512u
#define CHUNK_MS      100
#define LIFE_MIN_MS   1000u
#define LIFE_MAX_MS   60000u
#define CLIENTS_MAX   8192u
#define GIVE_UP_MS    15000 /* for a connect, or an answer */
#define EVENTS_MAX    256
#define ECHO_BYTES    16384u

enum client_state { FREE, CONNECTING, TALKING, ENDING };

struct client {
	enum client_state state;
	bool stream;
	int fd;
	uint64_t key;
	uint64_t sent, due, received; /* bytes */
	int64_t began_ms, moved_ms, chunk_ms, end_ms;
};

static struct {
	int epoll;
	struct sockaddr_in to;
	struct client clients[CLIENTS_MAX];
	unsigned free_list[CLIENTS_MAX];
	unsigned free_count;
	uint64_t seed;
	int64_t slow_ms;
	uint64_t begun, done, streams_begun, streams_done, bytes;
	uint64_t refused, reset, timed_out, cut_off, wrong, other, skipped;
	int64_t slowest_ms;
	unsigned streams;
} load;

static int64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static uint64_t draw(void)
{
	load.seed ^= load.seed << 13;
	load.seed ^= load.seed >> 7;
	load.seed ^= load.seed << 17;
	return load.seed;
}

static unsigned char byte_of(uint64_t key, uint64_t offset)
{
	return (unsigned char)(((offset + 1) * UINT64_C(0x9E3779B97F4A7C15) ^ key) >> 53);
}

static void give_up(const char *what)
{
	fprintf(stderr, "storm_load: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* ---- clients ---- */

static void end(struct client *c)
{
	(void)close(c->fd);
	if (c->stream)
		load.streams--;
	c->state = FREE;
	load.free_list[load.free_count++] = (unsigned)(c - load.clients);
}

static void fail(struct client *c, const char *what, int err)
{
	uint64_t *count = &load.other;

	if (err == ECONNREFUSED)
		count = &load.refused;
	else if (err == ECONNRESET || err == EPIPE)
		count = &load.reset;
	else if (err == ETIMEDOUT)
		count = &load.timed_out;
	else if (err == 0)
		count = &load.cut_off;
	(*count)++;
	printf("failed %" PRId64 " %s %s of %s after %" PRIu64 " bytes\n", now_ms(), what,
	       err != 0 ? strerrorname_np(err) : "END", c->stream ? "stream" : "session", c->received);
	end(c);
}

static void begin(bool stream)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET};
	struct client *c;
	int one = 1;

	if (load.free_count == 0) {
		load.skipped++;
		return;
	}
	c = &load.clients[load.free_list[--load.free_count]];
	*c = (struct client){.state = CONNECTING, .stream = stream, .key = draw(), .began_ms = now_ms()};
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		give_up("socket");
	(void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	c->moved_ms = c->began_ms;
	c->due = stream ? CHUNK_BYTES : SHORT_BYTES;
	c->chunk_ms = c->began_ms + CHUNK_MS;
	c->end_ms = c->began_ms + LIFE_MIN_MS + (int64_t)(draw() % (LIFE_MAX_MS - LIFE_MIN_MS));
	if (stream) {
		load.streams++;
		load.streams_begun++;
	} else {
		load.begun++;
	}
	if (connect(c->fd, (struct sockaddr *)&load.to, sizeof(load.to)) != 0 && errno != EINPROGRESS) {
		fail(c, "connect", errno);
		return;
	}
	event.data.ptr = c;
	if (epoll_ctl(load.epoll, EPOLL_CTL_ADD, c->fd, &event) != 0)
		give_up("epoll_ctl");
}

static void connected(struct client *c)
{
	int err = 0;
	socklen_t len = sizeof(err);
	const int64_t took = now_ms() - c->began_ms;

	(void)getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &err, &len);
	if (err != 0) {
		fail(c, "connect", err);
		return;
	}
	c->state = TALKING;
	if (took > load.slowest_ms)
		load.slowest_ms = took;
	if (took > load.slow_ms)
		printf("slow %" PRId64 " %" PRId64 "\n", c->began_ms, took);
}

static void send_due(struct client *c)
{
	unsigned char bytes[CHUNK_BYTES];

	while (c->state == TALKING && c->sent < c->due) {
		const size_t want = c->due - c->sent < CHUNK_BYTES ? c->due - c->sent : CHUNK_BYTES;
		ssize_t n;

		for (size_t i = 0; i < want; i++)
			bytes[i] = byte_of(c->key, c->sent + i);
		n = send(c->fd, bytes, want, MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			fail(c, "send", errno);
			return;
		}
		c->sent += (uint64_t)n;
	}
}

static bool is_finished(const struct client *c)
{
	return c->received == c->due && (!c->stream || now_ms() >= c->end_ms);
}

static void receive(struct client *c)
{
	unsigned char bytes[ECHO_BYTES];

	while (c->state == TALKING || c->state == ENDING) {
		const ssize_t n = recv(c->fd, bytes, sizeof(bytes), 0);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			fail(c, "recv", errno);
			return;
		}
		if (n == 0 && c->state == ENDING) {
			*(c->stream ? &load.streams_done : &load.done) += 1;
			end(c);
			return;
		}
		if (n == 0) {
			fail(c, "recv", 0);
			return;
		}
		for (ssize_t i = 0; i < n; i++)
			load.wrong += bytes[i] != byte_of(c->key, c->received + (uint64_t)i);
		c->received += (uint64_t)n;
		load.bytes += (uint64_t)n;
		load.wrong += c->received > c->sent;
		c->moved_ms = now_ms();
		if (is_finished(c) && c->state == TALKING) {
			c->state = ENDING;
			(void)shutdown(c->fd, SHUT_WR);
		}
	}
}

static void on_event(struct client *c, uint32_t events)
{
	if (c->state == CONNECTING && (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0)
		connected(c);
	if (c->state == TALKING)
		send_due(c);
	if (c->state == TALKING || c->state == ENDING)
		receive(c);
}

static void look_at_all(int64_t now)
{
	for (unsigned i = 0; i < CLIENTS_MAX; i++) {
		struct client *c = &load.clients[i];

		if (c->state == FREE)
			continue;
		if (c->stream && c->state == TALKING && now >= c->chunk_ms && c->received == c->due) {
			c->chunk_ms = now + CHUNK_MS;
			c->moved_ms = now;
			if (now < c->end_ms)
				c->due += CHUNK_BYTES;
			send_due(c);
			if (c->state == TALKING && is_finished(c)) {
				c->state = ENDING;
				(void)shutdown(c->fd, SHUT_WR);
			}
		} else if (now - c->moved_ms > GIVE_UP_MS) {
			fail(c, c->state == CONNECTING ? "connect" : "answer", ETIMEDOUT);
		}
	}
}

static bool stdin_ended(void)
{
	char c;
	const ssize_t n = read(STDIN_FILENO, &c, 1);

	return n == 0;
}

static unsigned in_use(void)
{
	return CLIENTS_MAX - load.free_count;
}

/* Begins what is due until `stop`, then waits for those that are open. */
static void run_clients(unsigned rate, unsigned streams)
{
	struct epoll_event events[EVENTS_MAX];
	const int64_t began = now_ms();
	int64_t looked = began;
	uint64_t due = 0;
	bool stopping = false;

	while (!stopping || in_use() > 0) {
		const int n = epoll_wait(load.epoll, events, EVENTS_MAX, 1);
		const int64_t now = now_ms();

		for (int i = 0; i < n; i++)
			on_event(events[i].data.ptr, events[i].events);
		if (now - looked >= 10) {
			looked = now;
			look_at_all(now);
			if (!stopping && stdin_ended()) {
				stopping = true;
				for (unsigned i = 0; i < CLIENTS_MAX; i++)
					load.clients[i].end_ms = now;
			}
		}
		if (stopping)
			continue;
		for (const uint64_t all = (uint64_t)(now - began) * rate / 1000; due < all; due++)
			begin(false);
		for (unsigned more = 0; load.streams < streams && more < 20; more++)
			begin(true);
	}
}

static int clients(char **args)
{
	const unsigned rate = (unsigned)strtoul(args[1], NULL, 10);
	const unsigned streams = (unsigned)strtoul(args[2], NULL, 10);

	load.to.sin_family = AF_INET;
	load.to.sin_port = htons((uint16_t)strtoul(args[0], NULL, 10));
	load.to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	load.slow_ms = strtol(args[3], NULL, 10);
	load.seed = UINT64_C(88172645463325252);
	load.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (load.epoll < 0 || fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK) != 0)
		give_up("epoll_create1");
	for (unsigned i = CLIENTS_MAX; i > 0; i--)
		load.free_list[load.free_count++] = i - 1;
	run_clients(rate, streams);
	printf("{\"sessions\": %" PRIu64 ", \"done\": %" PRIu64 ", \"streams\": %" PRIu64
	       ", \"streams_done\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"refused\": %" PRIu64
	       ", \"reset\": %" PRIu64 ", \"timed_out\": %" PRIu64 ", \"cut_off\": %" PRIu64
	       ", \"wrong\": %" PRIu64 ", \"other\": %" PRIu64 ", \"skipped\": %" PRIu64
	       ", \"slowest_ms\": %" PRId64 "}\n",
	       load.begun, load.done, load.streams_begun, load.streams_done, load.bytes, load.refused,
	       load.reset, load.timed_out, load.cut_off, load.wrong, load.other, load.skipped,
	       load.slowest_ms);
	return 0;
}

/* ---- the server ---- */

struct echo {
	int fd;
	bool listening, ended;
	size_t held, sent;
	unsigned char bytes[ECHO_BYTES];
};

static void echo_add(int epoll, int fd, bool listening)
{
	struct echo *e = calloc(1, sizeof(*e));
	struct epoll_event event = {.events = listening ? EPOLLIN : EPOLLIN | EPOLLOUT | EPOLLET};

	if (e == NULL)
		give_up("memory");
	e->fd = fd;
	e->listening = listening;
	event.data.ptr = e;
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
		give_up("epoll_ctl");
}

/* False when it has ended. */
static bool echo_on(struct echo *e)
{
	for (;;) {
		ssize_t n;

		while (e->sent < e->held) {
			n = send(e->fd, e->bytes + e->sent, e->held - e->sent, MSG_NOSIGNAL);
			if (n < 0)
				return errno == EAGAIN;
			e->sent += (size_t)n;
		}
		n = recv(e->fd, e->bytes, sizeof(e->bytes), 0);
		if (n <= 0)
			return n < 0 && errno == EAGAIN;
		e->held = (size_t)n;
		e->sent = 0;
	}
}

/* "9000" or "127.0.0.2:9000". */
static struct sockaddr_in address_of(const char *text)
{
	const char *colon = strchr(text, ':');
	const char *port = colon != NULL ? colon + 1 : text;
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	char host[INET_ADDRSTRLEN];

	if (colon == NULL)
		return at;
	(void)snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text); /* else it is not one */
	if (inet_pton(AF_INET, host, &at.sin_addr) != 1)
		give_up(text);
	return at;
}

static _Noreturn void echo(char **ports)
{
	const int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event events[EVENTS_MAX];
	int one = 1;

	for (char **port = ports; *port != NULL; port++) {
		const struct sockaddr_in at = address_of(*port);
		const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (bind(fd, (const struct sockaddr *)&at, sizeof(at)) != 0 || listen(fd, 4096) != 0)
			give_up(*port);
		echo_add(epoll, fd, true);
	}
	puts("ready");
	(void)fflush(stdout);
	for (;;) {
		const int n = epoll_wait(epoll, events, EVENTS_MAX, -1);

		for (int i = 0; i < n; i++) {
			struct echo *e = events[i].data.ptr;
			int fd;

			if (!e->listening) {
				if (!echo_on(e)) {
					(void)close(e->fd);
					free(e);
				}
				continue;
			}
			while ((fd = accept4(e->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
				(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
				echo_add(epoll, fd, false);
			}
		}
	}
}

int main(int argc, char **argv)
{
	(void)signal(SIGPIPE, SIG_IGN);
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 2 && strcmp(argv[1], "echo") == 0)
		echo(argv + 2);
	if (argc == 6 && strcmp(argv[1], "clients") == 0)
		return clients(argv + 2);
	fprintf(stderr, "usage: storm_load echo [HOST:]PORT... | storm_load clients PORT RATE STREAMS MS\n");
	return 2;
}

/* SPDX-License-Identifier: MIT
 *
 * open_load.c - an open loop: requests start at fixed times and do not wait for earlier replies.
 *
 *     open_load keep ADDRESS CONNECTIONS RATE SECONDS [SEED]    1 KiB replies over kept connections
 *     open_load echo ADDRESS CONNECTIONS RATE SECONDS [SEED]    echoes of 128 bytes over kept connections
 *     open_load close ADDRESS CONNECTIONS RATE SECONDS [SEED]   connect, request, 1 KiB, the server closes
 *     open_load schedule RATE SECONDS [SEED]                    prints the schedule in ns
 *     open_load histogram <NUMBERS                              prints percentiles of numbers, to test them
 *
 * RATE requests start per second, evenly spaced; with a SEED their gaps are random (Poisson), the same for
 * the same seed. Request n belongs to connection n modulo CONNECTIONS. If that connection is busy, the
 * request waits behind it, and its latency still counts from the time at which it was to start: a stall of
 * the proxy counts for each request that was to start in it, and not for one per connection. With `close`
 * a request takes any of CONNECTIONS places.
 *
 * RATE 0 is a closed loop: each connection starts its next request after the reply to the last one. The
 * bench uses it to find the capacity.
 *
 * An ADDRESS is a port of 127.0.0.1. The server is bench/backend. Prints one line of JSON: latencies from
 * the intended start (p50_us ...), for comparison those from the actual start (sent_...), and how late a
 * request left although its connection was free, which is the fault of this program or its CPU (late_...).
 * The first half second is not counted. Any error, wrong byte or missing reply ends it with exit code 1.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "histogram.h"

#define EVENTS 16             /* few, because requests that are due wait for the events before them */
#define SECOND_NS 1000000000u
#define WARM_NS 500000000u
#define DRAIN_NS 10000000000u /* replies must have arrived this long after the last start */
#define CONNECT_S 10
#define BODY 1024u
#define ECHO 128u

struct conn {
	int fd;               /* -1: none */
	bool busy;
	bool unsent;          /* the request has not left, because the connection is not there yet */
	size_t got;           /* bytes of this reply */
	size_t next;          /* kept connections: the next request of the schedule that belongs to it */
	uint64_t intended_ns; /* of the request under way */
	uint64_t sent_ns;
	struct conn *free;    /* places for `close`: the next free one */
};

static struct {
	const char *mode;
	struct sockaddr_in address;
	bool closes;
	double rate;
	uint64_t *at_ns;      /* owns; the schedule, relative to begin_ns */
	size_t total, due;    /* requests of the schedule; those whose time has come */
	size_t taken;         /* close: those that have a place */
	size_t done;
	struct conn *conns;   /* owns */
	size_t count;
	struct conn *free;    /* borrows from conns */
	uint64_t begin_ns, warm_ns, end_ns;
	uint64_t ended_in_time;
	int epoll;
} run;

static struct histogram latency, from_sent, late;
static char request[256], reply[2048];
static size_t request_count, reply_count;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void fail(const char *what)
{
	fprintf(stderr, "open_load: %s\n", what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_MONOTONIC, &ts) < 0)
		die("clock_gettime");
	return (uint64_t)ts.tv_sec * SECOND_NS + (uint64_t)ts.tv_nsec;
}

/* ---- the schedule ------------------------------------------------------------------------------ */

/* splitmix64, as a number above 0 and at most 1 */
static double random_share(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	z ^= z >> 31;
	return ((double)(z >> 11) + 1) / 9007199254740992.0;
}

static void schedule_make(double seconds, const char *seed)
{
	const double end_ns = seconds * SECOND_NS, gap_ns = SECOND_NS / run.rate;
	const size_t room = (size_t)(seconds * run.rate * 2) + 1000;
	uint64_t state = seed != NULL ? strtoull(seed, NULL, 10) : 0;
	double at = seed != NULL ? -log(random_share(&state)) * gap_ns : 0;

	run.at_ns = calloc(room, sizeof(*run.at_ns));
	if (run.at_ns == NULL)
		die("memory");
	while (at < end_ns && run.total < room) {
		run.at_ns[run.total++] = (uint64_t)at;
		at = seed != NULL ? at - log(random_share(&state)) * gap_ns : (double)run.total * gap_ns;
	}
}

static int schedule_print(double seconds, const char *seed)
{
	schedule_make(seconds, seed);
	for (size_t i = 0; i < run.total; i++)
		printf("%llu\n", (unsigned long long)run.at_ns[i]);
	return 0;
}

/* ---- results ----------------------------------------------------------------------------------- */

static void print_histogram(const char *prefix, const struct histogram *h)
{
	static const struct { const char *name; double share; } points[] = {
		{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999},
	};

	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		printf(",\"%s%s_us\":%.3f", prefix, points[i].name,
		       histogram_percentile_ns(h, points[i].share) / 1e3);
	printf(",\"%smax_us\":%.3f,\"%smean_us\":%.3f", prefix, (double)h->max_ns / 1e3, prefix,
	       h->count > 0 ? (double)h->sum_ns / (double)h->count / 1e3 : 0);
}

static int report(void)
{
	const double seconds = (double)(run.end_ns - run.warm_ns) / 1e9;

	if (latency.count == 0)
		fail("not one reply was timed");
	printf("{\"mode\":\"%s\",\"offered\":%.3f,\"seconds\":%.3f,\"ops\":%llu,\"all_ops\":%llu,"
	       "\"achieved\":%.3f",
	       run.mode, run.rate, seconds, (unsigned long long)latency.count,
	       (unsigned long long)run.done, (double)run.ended_in_time / seconds);
	print_histogram("", &latency);
	print_histogram("sent_", &from_sent);
	print_histogram("late_", &late);
	printf("}\n");
	return 0;
}

static int histogram_print(void)
{
	unsigned long long ns;

	while (scanf("%llu", &ns) == 1)
		histogram_add(&latency, ns);
	printf("{\"count\":%llu", (unsigned long long)latency.count);
	print_histogram("", &latency);
	printf("}\n");
	return 0;
}

static void count_reply(const struct conn *c, uint64_t now)
{
	run.done++;
	if (now >= run.warm_ns && now < run.end_ns)
		run.ended_in_time++;
	if (c->intended_ns < run.warm_ns || c->intended_ns >= run.end_ns)
		return;
	histogram_add(&latency, now - c->intended_ns);
	histogram_add(&from_sent, now - c->sent_ns);
}

/* ---- connections ------------------------------------------------------------------------------- */

static void conn_watch(struct conn *c)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data = {.ptr = c}};

	if (c->unsent)
		ev.events |= EPOLLOUT;
	if (epoll_ctl(run.epoll, EPOLL_CTL_ADD, c->fd, &ev) < 0)
		die("epoll_ctl");
}

static void conn_send(struct conn *c)
{
	const ssize_t n = send(c->fd, request, request_count, MSG_NOSIGNAL);

	c->unsent = n < 0 && errno == EAGAIN;
	if (n < 0 && !c->unsent)
		die("send");
	if (!c->unsent && (size_t)n != request_count)
		fail("the socket took a part of a request");
}

/* Kept connections are opened before anything is timed, and may wait. */
static void conn_open(struct conn *c, bool wait)
{
	const struct timeval stall = {.tv_sec = CONNECT_S};
	const int on = 1;

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | (wait ? 0 : SOCK_NONBLOCK), 0);
	if (c->fd < 0)
		die("socket");
	if (wait) {
		(void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* slower, not wrong */
		/* connect() where nobody accepts */
		(void)setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &stall, sizeof(stall));
	}
	if (connect(c->fd, (const struct sockaddr *)&run.address, sizeof(run.address)) < 0 &&
	    errno != EINPROGRESS)
		die("connect");
	if (wait && fcntl(c->fd, F_SETFL, O_NONBLOCK) < 0)
		die("fcntl");
}

static void conns_open(void)
{
	run.conns = calloc(run.count, sizeof(*run.conns));
	run.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (run.conns == NULL || run.epoll < 0)
		die("start");
	for (size_t i = run.count; i-- > 0;) {
		struct conn *c = &run.conns[i];

		c->fd = -1;
		c->next = i;
		c->free = run.free;
		run.free = c;
		if (run.closes)
			continue;
		conn_open(c, true);
		conn_watch(c);
	}
}

static void request_begin(struct conn *c, uint64_t intended_ns)
{
	c->busy = true;
	c->got = 0;
	c->intended_ns = intended_ns;
	c->sent_ns = now_ns();
	if (run.closes)
		conn_open(c, false);
	conn_send(c);
	if (run.closes)
		conn_watch(c);
}

/* The connection was free, so any delay so far is this program's own. */
static void request_begin_free(struct conn *c, uint64_t intended_ns)
{
	request_begin(c, intended_ns);
	if (intended_ns >= run.warm_ns && intended_ns < run.end_ns)
		histogram_add(&late, c->sent_ns - intended_ns);
}

/* ---- which request is next --------------------------------------------------------------------- */

/* Starts each request that is due, unless its connection is busy: request_next() starts it then. */
static void release(uint64_t now)
{
	while (run.due < run.total && run.begin_ns + run.at_ns[run.due] <= now) {
		const uint64_t intended_ns = run.begin_ns + run.at_ns[run.due];
		struct conn *c = run.closes ? run.free : &run.conns[run.due % run.count];

		run.due++;
		if (c == NULL || c->busy)
			continue;
		if (run.closes) {
			run.free = c->free;
			run.taken++;
		}
		request_begin_free(c, intended_ns);
	}
}

/* Starts the next request of a connection, or of a place, if one is waiting. */
static void request_next(struct conn *c, uint64_t now)
{
	c->busy = false;
	if (run.rate == 0) {
		if (now < run.end_ns)
			request_begin(c, now);
	} else if (run.closes && run.taken < run.due) {
		request_begin(c, run.begin_ns + run.at_ns[run.taken++]);
	} else if (run.closes) {
		c->free = run.free;
		run.free = c;
	} else {
		c->next += run.count;
		if (c->next < run.due)
			request_begin(c, run.begin_ns + run.at_ns[c->next]);
	}
}

static void conn_read(struct conn *c)
{
	char in[sizeof(reply)];
	uint64_t now;

	for (;;) {
		const ssize_t n = recv(c->fd, in, sizeof(in), 0);
		const bool whole = c->got == reply_count;

		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			die("recv");
		if (n == 0 && !(run.closes && whole))
			fail("end of file within a reply");
		if (n > 0 && (!c->busy || c->got + (size_t)n > reply_count ||
		              memcmp(in, reply + c->got, (size_t)n) != 0))
			fail("wrong bytes came back");
		c->got += (size_t)n;
		if (run.closes ? n == 0 : c->got == reply_count)
			break;
	}
	if (run.closes) {
		close(c->fd);
		c->fd = -1;
	}
	now = now_ns();
	count_reply(c, now);
	request_next(c, now);
}

/* ---- the loop ---------------------------------------------------------------------------------- */

static bool is_over(uint64_t now)
{
	size_t busy = 0;

	if (run.rate > 0 && run.done < run.total && now < run.end_ns + DRAIN_NS)
		return false;
	if (run.rate > 0 && run.done == run.total)
		return true;
	for (size_t i = 0; i < run.count; i++)
		busy += run.conns[i].busy;
	if (now > run.end_ns + DRAIN_NS && busy > 0)
		fail("a reply did not come");
	return busy == 0;
}

static void wait_and_handle(void)
{
	struct epoll_event events[EVENTS];
	struct timespec timeout = {.tv_nsec = 100000000};
	const uint64_t now = now_ns();
	int count;

	if (run.due < run.total) {
		const uint64_t at = run.begin_ns + run.at_ns[run.due], left = at > now ? at - now : 0;

		timeout.tv_sec = (time_t)(left / SECOND_NS);
		timeout.tv_nsec = (long)(left % SECOND_NS);
	}
	count = epoll_pwait2(run.epoll, events, EVENTS, &timeout, NULL);
	if (count < 0 && errno != EINTR)
		die("epoll_pwait2"); /* Linux 5.11 */
	release(now_ns());
	for (int i = 0; i < count; i++) {
		struct conn *c = events[i].data.ptr;

		if (c->fd >= 0 && c->unsent)
			conn_send(c);
		if (c->fd >= 0 && events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
			conn_read(c);
		release(now_ns());
	}
}

static int run_load(double seconds, const char *seed)
{
	const double all = seconds + (double)WARM_NS / SECOND_NS;

	if (run.rate > 0)
		schedule_make(all, seed);
	conns_open();
	run.begin_ns = now_ns() + 1000000;
	run.warm_ns = run.begin_ns + WARM_NS;
	run.end_ns = run.begin_ns + (uint64_t)(all * SECOND_NS);
	for (size_t i = 0; run.rate == 0 && i < run.count; i++)
		request_begin(&run.conns[i], now_ns());
	while (!is_over(now_ns()))
		wait_and_handle();
	return report();
}

static void words_make(void)
{
	const char *header = run.closes ? "Connection: close\r\n" : "";
	int head;

	request_count = (size_t)snprintf(request, sizeof(request), "GET /1k HTTP/1.1\r\n%s\r\n", header);
	head = snprintf(reply, sizeof(reply), "HTTP/1.1 200 OK\r\nContent-Length: %u\r\n%s\r\n", BODY,
	                header);
	memset(reply + head, 'x', BODY);
	reply_count = (size_t)head + BODY;
	if (strcmp(run.mode, "echo") != 0)
		return;
	memset(request, 'E', ECHO);
	memcpy(reply, request, ECHO);
	request_count = reply_count = ECHO;
}

static int usage(void)
{
	fprintf(stderr, "usage: open_load keep|echo|close PORT CONNECTIONS RATE SECONDS [SEED]\n"
	                "       open_load schedule RATE SECONDS [SEED]\n"
	                "       open_load histogram <NUMBERS\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct rlimit files;
	double seconds;

	run.mode = argc > 1 ? argv[1] : "";
	if (strcmp(run.mode, "histogram") == 0 && argc == 2)
		return histogram_print();
	if (strcmp(run.mode, "schedule") == 0 && (argc == 4 || argc == 5)) {
		run.rate = strtod(argv[2], NULL);
		return run.rate > 0 ? schedule_print(strtod(argv[3], NULL), argv[4]) : usage();
	}
	if (argc != 6 && argc != 7)
		return usage();
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files); /* the limit that we have may do */
	}
	(void)prctl(PR_SET_TIMERSLACK, 1uL); /* late_us shows whether it helped */
	run.closes = strcmp(run.mode, "close") == 0;
	run.address.sin_family = AF_INET;
	run.address.sin_port = htons((uint16_t)strtoul(argv[2], NULL, 10));
	run.address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	run.count = strtoul(argv[3], NULL, 10);
	run.rate = strtod(argv[4], NULL);
	seconds = strtod(argv[5], NULL);
	if ((!run.closes && strcmp(run.mode, "keep") != 0 && strcmp(run.mode, "echo") != 0) ||
	    run.count == 0 || run.rate < 0 || seconds <= 0)
		return usage();
	words_make();
	return run_load(seconds, argv[6]);
}

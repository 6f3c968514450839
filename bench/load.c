/* SPDX-License-Identifier: MIT
 *
 * load.c - clients of bench/backend.c that know what must come back.
 *
 *     load echo ADDRESS CONNECTIONS BYTES SECONDS     closed loop: a message, its echo, the next one
 *     load up|down ADDRESS CONNECTIONS SECONDS        bulk; the server's count must match ours
 *     load down ADDRESS 1 SECONDS MB                  the same, read at so many MB (1e6 bytes) a second
 *     load hello ADDRESS CONNECTIONS SECONDS          closed loop: a connection, a TLS hello, the answer
 *     load idle ADDRESS CONNECTIONS                   holds echoed connections until stdin ends
 *
 * An ADDRESS is a port of 127.0.0.1 or a path. Prints one line of JSON. "ops" and "bytes" are those of
 * the timed seconds, "all_ops" and "all_bytes" those of the whole run, for which CPU time is counted.
 * Whatever is lost, added, altered or reset is an error; exits 1 when there is one.
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
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define EVENTS 256
#define BULK_BYTES (256u * 1024u)
#define CHECKED_BYTES 4096u   /* of longer messages only the ends of each read are looked at */
#define DIGITS 20u
#define WARM_NS 200000000u
#define DRAIN_NS 10000000000u /* what is under way at the end must arrive within this */
#define STALL_S 10
#define HELLO_REPLY 1024 /* of the server */

/* Latencies in ns, 64 steps for each power of two: an error of at most 1.6 %. */
#define STEPS 64u
#define STEP_BITS 6u
#define BUCKETS (STEPS * 40u)

struct conn {
	int fd;
	bool over;
	bool writes;       /* EPOLLOUT is armed */
	bool shut;         /* of bulk: our side is closed */
	uint64_t begin_ns; /* of an echo: when its first byte was sent */
	size_t sent;       /* of this echo */
	size_t got;
	uint64_t bytes;    /* of bulk: all that was sent, or all that came */
	char tail[DIGITS]; /* of bulk: the last that came */
	size_t tail_count;
};

enum mode { MODE_ECHO, MODE_BULK, MODE_HELLO };

static struct {
	const char *mode;
	struct sockaddr_storage address;
	socklen_t address_len;
	bool tcp;
	bool up;
	double pace; /* of a download, in bytes for each ns; 0 = as fast as they come */
	uint64_t begin_ns;
	size_t message;
	struct conn *conns;
	size_t count;
	size_t alive;
	uint64_t warm_ns, end_ns; /* the timed part */
	uint64_t ops, bytes, all_ops, all_bytes, errors, slowest_ns;
	uint64_t buckets[BUCKETS];
	const char *error; /* the first one */
	int epoll;
} run;

static char out[BULK_BYTES], in[BULK_BYTES];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_MONOTONIC, &ts) < 0)
		die("clock_gettime");
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- results ----------------------------------------------------------------------------------- */

static uint32_t bucket_of(uint64_t ns)
{
	uint32_t power, bucket;

	if (ns < STEPS)
		return (uint32_t)ns;
	power = 63u - (uint32_t)__builtin_clzll(ns);
	bucket = (power - STEP_BITS + 1) * STEPS + (uint32_t)((ns >> (power - STEP_BITS)) - STEPS);
	return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

/* The middle of a bucket. */
static double bucket_ns(uint32_t bucket)
{
	const uint32_t power = bucket / STEPS;

	if (power == 0)
		return bucket;
	return ((double)(STEPS + bucket % STEPS) + 0.5) * (double)(UINT64_C(1) << (power - 1));
}

static double percentile_us(double share)
{
	uint64_t seen = 0, wanted = (uint64_t)((double)run.ops * share);

	for (uint32_t i = 0; i < BUCKETS; i++) {
		seen += run.buckets[i];
		if (seen > wanted)
			return bucket_ns(i) / 1e3;
	}
	return 0;
}

static bool timed(uint64_t now)
{
	return now >= run.warm_ns && now < run.end_ns;
}

static void count_op(uint64_t ns, uint64_t now)
{
	run.all_ops++;
	run.all_bytes += run.message;
	if (!timed(now))
		return;
	run.ops++;
	run.bytes += run.message;
	run.buckets[bucket_of(ns)]++;
	if (ns > run.slowest_ns)
		run.slowest_ns = ns;
}

static int report(void)
{
	const double seconds = (double)(run.end_ns - run.warm_ns) / 1e9;

	if (run.error != NULL)
		fprintf(stderr, "load: %llu errors, the first: %s\n", (unsigned long long)run.errors,
		        run.error);
	printf("{\"mode\":\"%s\",\"seconds\":%.6f,\"ops\":%llu,\"bytes\":%llu,\"all_ops\":%llu,"
	       "\"all_bytes\":%llu,\"errors\":%llu",
	       run.mode, seconds, (unsigned long long)run.ops, (unsigned long long)run.bytes,
	       (unsigned long long)run.all_ops, (unsigned long long)run.all_bytes,
	       (unsigned long long)run.errors);
	if (run.ops > 0)
		printf(",\"p50_us\":%.2f,\"p99_us\":%.2f,\"max_us\":%.2f", percentile_us(0.5),
		       percentile_us(0.99), (double)run.slowest_ns / 1e3);
	printf("}\n");
	return run.errors > 0;
}

/* ---- connections ------------------------------------------------------------------------------- */

static void conn_end(struct conn *c, const char *error)
{
	if (error != NULL) {
		run.errors++;
		if (run.error == NULL)
			run.error = error;
	}
	close(c->fd);
	c->over = true;
	run.alive--;
}

static void watch(struct conn *c, bool writes)
{
	struct epoll_event ev = {.events = writes ? EPOLLIN | EPOLLOUT : EPOLLIN, .data = {.ptr = c}};

	if (writes != c->writes && epoll_ctl(run.epoll, EPOLL_CTL_MOD, c->fd, &ev) < 0)
		die("epoll_ctl");
	c->writes = writes;
}

/* Blocking, one after another: loopback's connect takes microseconds. */
static void conn_open(struct conn *c)
{
	const struct timeval stall = {.tv_sec = STALL_S};
	const int on = 1;

	c->fd = socket(run.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		die("socket");
	if (run.tcp)
		(void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* slower, not wrong */
	/* Of the blocking calls: an idle connection's echo, and connect() where nobody accepts. */
	(void)setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &stall, sizeof(stall));
	(void)setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &stall, sizeof(stall));
	if (connect(c->fd, (const struct sockaddr *)&run.address, run.address_len) < 0)
		die("connect");
}

static void conn_watch(struct conn *c)
{
	struct epoll_event ev = {.events = EPOLLIN, .data = {.ptr = c}};

	if (fcntl(c->fd, F_SETFL, O_NONBLOCK) < 0 || epoll_ctl(run.epoll, EPOLL_CTL_ADD, c->fd, &ev) < 0)
		die("epoll_ctl");
}

static void conns_open(void)
{
	run.conns = calloc(run.count, sizeof(*run.conns));
	run.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (run.conns == NULL || run.epoll < 0)
		die("start");
	for (size_t i = 0; i < run.count; i++) {
		struct conn *c = &run.conns[i];

		conn_open(c);
		conn_watch(c);
		run.alive++;
	}
}

/* ---- echo -------------------------------------------------------------------------------------- */

static void echo_send(struct conn *c)
{
	while (c->sent < run.message) {
		const size_t at = c->sent % sizeof(out);
		const size_t left = run.message - c->sent, room = sizeof(out) - at;
		const ssize_t n = send(c->fd, out + at, left < room ? left : room, MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN) {
			watch(c, true);
			return;
		}
		if (n < 0) {
			conn_end(c, "a send failed");
			return;
		}
		c->sent += (size_t)n;
	}
	watch(c, false);
}

static void echo_begin(struct conn *c, uint64_t now)
{
	if (now >= run.end_ns) {
		conn_end(c, NULL);
		return;
	}
	c->sent = 0;
	c->got = 0;
	c->begin_ns = now;
	echo_send(c);
}

static bool echo_is_right(const struct conn *c, size_t count)
{
	const size_t at = c->got % sizeof(out);

	if (c->got + count > c->sent)
		return false;
	if (run.message <= CHECKED_BYTES)
		return memcmp(in, out + at, count) == 0;
	return in[0] == out[at] && in[count - 1] == out[(c->got + count - 1) % sizeof(out)];
}

static void echo_read(struct conn *c)
{
	const ssize_t n = recv(c->fd, in, sizeof(in), 0);
	uint64_t now;

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		conn_end(c, n == 0 ? "end of file within a message" : "a connection was reset");
		return;
	}
	if (!echo_is_right(c, (size_t)n)) {
		conn_end(c, "wrong bytes came back");
		return;
	}
	c->got += (size_t)n;
	if (c->got < run.message)
		return;
	now = now_ns();
	count_op(now - c->begin_ns, now);
	echo_begin(c, now);
}

/* ---- hello ------------------------------------------------------------------------------------- */

/* Like that of OpenSSL, with fewer extensions: for www.example.com, with h2 and http/1.1. */
static const unsigned char hello[] =
	"\x16\x03\x01\x00\x96\x01\x00\x00\x92\x03\x03" "0123456789abcdefghijklmnopqrstuv" "\x00"
	"\x00\x06\x13\x02\x13\x03\x13\x01" "\x01\x00" "\x00\x63"
	"\x00\x00\x00\x14\x00\x12\x00\x00\x0fwww.example.com"
	"\x00\x10\x00\x0e\x00\x0c\x02h2\x08http/1.1"
	"\x00\x2b\x00\x03\x02\x03\x04"
	"\x00\x33\x00\x26\x00\x24\x00\x1d\x00\x20" "0123456789abcdefghijklmnopqrstuv"
	"\x00\x17\x00\x00" "\x00\x16\x00\x00";

static void hello_send(struct conn *c, uint64_t now)
{
	c->got = 0;
	c->begin_ns = now;
	if (send(c->fd, hello, sizeof(hello) - 1, MSG_NOSIGNAL) != (ssize_t)(sizeof(hello) - 1))
		conn_end(c, "a send failed");
}

static void hello_again(struct conn *c)
{
	const uint64_t now = now_ns();

	count_op(now - c->begin_ns, now);
	if (now >= run.end_ns) {
		conn_end(c, NULL);
		return;
	}
	close(c->fd);
	conn_open(c);
	conn_watch(c);
	hello_send(c, now_ns());
}

static void hello_read(struct conn *c)
{
	const ssize_t n = recv(c->fd, in, sizeof(in), 0);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n > 0)
		c->got += (size_t)n;
	else if (n == 0 && c->got == HELLO_REPLY)
		hello_again(c);
	else
		conn_end(c, n == 0 ? "another answer came" : "a connection was reset");
}

/* ---- bulk -------------------------------------------------------------------------------------- */

static void count_bulk(uint64_t bytes)
{
	run.all_bytes += bytes;
	if (timed(now_ns()))
		run.bytes += bytes;
}

static void bulk_shut(struct conn *c)
{
	if (c->shut)
		return;
	if (shutdown(c->fd, SHUT_WR) < 0) {
		conn_end(c, "a connection was reset");
		return;
	}
	c->shut = true;
	watch(c, false);
}

static void bulk_send(struct conn *c)
{
	for (int i = 0; i < 4; i++) {
		const ssize_t n = send(c->fd, out, sizeof(out), MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			conn_end(c, "a send failed");
			return;
		}
		c->bytes += (uint64_t)n;
		count_bulk((uint64_t)n);
	}
}

/* Remembers the last bytes that came, which are the server's count in the end. */
static void bulk_keep_tail(struct conn *c, size_t count)
{
	size_t old;

	if (count >= DIGITS) {
		memcpy(c->tail, in + count - DIGITS, DIGITS);
		c->tail_count = DIGITS;
		return;
	}
	old = c->tail_count + count > DIGITS ? DIGITS - count : c->tail_count;
	memmove(c->tail, c->tail + c->tail_count - old, old);
	memcpy(c->tail + old, in, count);
	c->tail_count = old + count;
}

static void bulk_finish(struct conn *c)
{
	char digits[DIGITS + 1] = "";
	uint64_t said;

	memcpy(digits, c->tail, c->tail_count);
	said = strtoull(digits, NULL, 10);
	if (!c->shut || c->tail_count < DIGITS)
		conn_end(c, "the server ended too early");
	else if (said != (run.up ? c->bytes : c->bytes - DIGITS))
		conn_end(c, "the server counted other bytes than we did");
	else
		conn_end(c, NULL);
}

/* Sleeps until so many bytes are due; there is one connection, so that nobody else waits. */
static void wait_for_pace(uint64_t bytes)
{
	const uint64_t due = run.begin_ns + (uint64_t)((double)bytes / run.pace);
	const struct timespec until = {.tv_sec = (time_t)(due / 1000000000u),
	                               .tv_nsec = (long)(due % 1000000000u)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

static void bulk_read(struct conn *c)
{
	/* What nobody looks at need not be copied; only the last bytes count, and only TCP can do this. */
	const bool skip = run.tcp && !c->shut && !run.up;
	const ssize_t n = recv(c->fd, in, sizeof(in), skip ? MSG_TRUNC : 0);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n < 0) {
		conn_end(c, "a connection was reset");
		return;
	}
	if (n == 0) {
		bulk_finish(c);
		return;
	}
	bulk_keep_tail(c, (size_t)n);
	if (!run.up) {
		c->bytes += (uint64_t)n;
		count_bulk((uint64_t)n);
	}
	if (run.pace > 0)
		wait_for_pace(c->bytes);
}

/* ---- the loop ---------------------------------------------------------------------------------- */

static void conn_event(struct conn *c, uint32_t events, enum mode mode)
{
	if (!c->over && events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
		if (mode == MODE_ECHO)
			echo_read(c);
		else if (mode == MODE_HELLO)
			hello_read(c);
		else
			bulk_read(c);
	}
	if (!c->over && events & EPOLLOUT && c->writes) {
		if (mode == MODE_ECHO)
			echo_send(c);
		else
			bulk_send(c);
	}
}

static void start_all(enum mode mode)
{
	const uint64_t now = now_ns();

	for (size_t i = 0; i < run.count; i++) {
		struct conn *c = &run.conns[i];

		if (mode == MODE_ECHO)
			echo_begin(c, now);
		else if (mode == MODE_HELLO)
			hello_send(c, now);
		if (mode != MODE_BULK)
			continue;
		if (send(c->fd, run.up ? "U" : "D", 1, MSG_NOSIGNAL) != 1)
			die("send");
		c->bytes = run.up ? 1 : 0;
		run.all_bytes += c->bytes;
		watch(c, run.up);
	}
}

static int run_load(double seconds, enum mode mode)
{
	struct epoll_event events[EVENTS];
	bool shut = mode != MODE_BULK;

	memset(out, mode == MODE_ECHO ? 'E' : 'u', sizeof(out));
	for (size_t i = 1; i < sizeof(out); i++)
		out[i] = (char)('a' + i % 251 % 26);
	conns_open();
	run.begin_ns = now_ns();
	run.warm_ns = run.begin_ns + WARM_NS;
	run.end_ns = run.warm_ns + (uint64_t)(seconds * 1e9);
	start_all(mode);
	while (run.alive > 0) {
		const int n = epoll_wait(run.epoll, events, EVENTS, 100);
		const uint64_t now = now_ns();

		if (n < 0 && errno != EINTR)
			die("epoll_wait");
		for (int i = 0; i < n; i++)
			conn_event(events[i].data.ptr, events[i].events, mode);
		for (size_t i = 0; !shut && now >= run.end_ns && i < run.count; i++)
			if (!run.conns[i].over)
				bulk_shut(&run.conns[i]);
		shut = shut || now >= run.end_ns;
		for (size_t i = 0; now >= run.end_ns + DRAIN_NS && i < run.count; i++)
			if (!run.conns[i].over)
				conn_end(&run.conns[i], "the end did not come");
	}
	return report();
}

/* One byte there and back over each of them; errors are counted. */
static void idle_round(void)
{
	for (size_t i = 0; i < run.count; i++) {
		struct conn *c = &run.conns[i];
		char byte = 0;

		if (c->over)
			continue;
		if (send(c->fd, "E", 1, MSG_NOSIGNAL) != 1 || recv(c->fd, &byte, 1, 0) != 1 || byte != 'E')
			conn_end(c, "an idle connection is dead");
		else
			run.all_ops++;
	}
}

static int run_idle(void)
{
	char byte;

	run.conns = calloc(run.count, sizeof(*run.conns));
	if (run.conns == NULL)
		die("start");
	for (size_t i = 0; i < run.count; i++) {
		conn_open(&run.conns[i]);
		run.alive++;
	}
	idle_round();
	printf("ready\n");
	(void)fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	idle_round();
	return report();
}

static void address_parse(const char *text)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	struct sockaddr_in in4 = {.sin_family = AF_INET};

	in4.sin_port = htons((uint16_t)strtoul(text, NULL, 10));
	run.tcp = text[0] != '/';
	in4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	(void)snprintf(un.sun_path, sizeof(un.sun_path), "%s", text); /* cut: connect() fails */
	run.address_len = run.tcp ? sizeof(in4) : sizeof(un);
	memcpy(&run.address, run.tcp ? (const void *)&in4 : (const void *)&un, run.address_len);
}

static int usage(void)
{
	fprintf(stderr, "usage: load echo ADDRESS CONNECTIONS BYTES SECONDS\n"
	                "       load up|down ADDRESS CONNECTIONS SECONDS\n"
	                "       load down ADDRESS 1 SECONDS MB\n"
	                "       load hello ADDRESS CONNECTIONS SECONDS\n"
	                "       load idle ADDRESS CONNECTIONS\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct rlimit files;

	if (argc < 4)
		return usage();
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files); /* the limit that we have may do */
	}
	run.mode = argv[1];
	address_parse(argv[2]);
	run.count = strtoul(argv[3], NULL, 10);
	run.up = strcmp(run.mode, "up") == 0;
	if (run.count == 0)
		return usage();
	if (strcmp(run.mode, "idle") == 0 && argc == 4)
		return run_idle();
	if (strcmp(run.mode, "echo") == 0 && argc == 6) {
		run.message = strtoul(argv[4], NULL, 10);
		return run.message > 0 ? run_load(strtod(argv[5], NULL), MODE_ECHO) : usage();
	}
	if (strcmp(run.mode, "hello") == 0 && argc == 5) {
		run.message = HELLO_REPLY;
		return run_load(strtod(argv[4], NULL), MODE_HELLO);
	}
	if (strcmp(run.mode, "down") == 0 && argc == 6 && run.count == 1)
		run.pace = strtod(argv[5], NULL) * 1e6 / 1e9;
	else if ((!run.up && strcmp(run.mode, "down") != 0) || argc != 5)
		return usage();
	return run_load(strtod(argv[4], NULL), MODE_BULK);
}

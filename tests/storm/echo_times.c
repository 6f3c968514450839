/* SPDX-License-Identifier: MIT
 *
 * echo_times.c - how long one byte takes to an echo server and back, at a steady rate.
 *
 *   echo_times PORT RATE SECONDS
 *
 * One connection to 127.0.0.1. Each time counts from the moment at which the byte was due, so that whatever
 * holds up one byte counts for those behind it, too. Prints a JSON object, in microseconds.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define NS INT64_C(1000000000)

static _Noreturn void give_up(const char *what)
{
	fprintf(stderr, "echo_times: %s: %s\n", what, strerror(errno));
	exit(2);
}

static int64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * NS + t.tv_nsec;
}

static void sleep_until(int64_t at_ns)
{
	const struct timespec at = {.tv_sec = at_ns / NS, .tv_nsec = at_ns % NS};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0)
		continue;
}

static int connected(const char *port)
{
	const struct sockaddr_in to = {.sin_family = AF_INET,
				       .sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int one = 1;

	if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof(to)) != 0)
		give_up("connect");
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static int64_t once(int fd, int64_t due_ns)
{
	char byte = 'x';

	if (send(fd, &byte, 1, MSG_NOSIGNAL) != 1 || recv(fd, &byte, 1, MSG_WAITALL) != 1)
		give_up("echo");
	return now_ns() - due_ns;
}

static int compare(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static double at(const int64_t *times, size_t count, double part)
{
	return (double)times[(size_t)((double)(count - 1) * part)] / 1000.;
}

int main(int argc, char **argv)
{
	const int64_t rate = argc == 4 ? strtol(argv[2], NULL, 10) : 0;
	const int64_t seconds = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
	const size_t count = (size_t)(rate * seconds);
	int64_t *times, begin_ns;
	int fd;

	if (rate <= 0 || seconds <= 0) {
		fprintf(stderr, "usage: echo_times PORT RATE SECONDS\n");
		return 2;
	}
	times = calloc(count, sizeof(*times));
	if (times == NULL)
		give_up("memory");
	fd = connected(argv[1]);
	(void)once(fd, now_ns());
	begin_ns = now_ns();
	for (size_t i = 0; i < count; i++) {
		const int64_t due_ns = begin_ns + (int64_t)i * NS / rate;

		sleep_until(due_ns);
		times[i] = once(fd, due_ns);
	}
	qsort(times, count, sizeof(*times), compare);
	printf("{\"count\": %zu, \"p50_us\": %.1f, \"p99_us\": %.1f, \"p99_9_us\": %.1f, \"most_us\": "
	       "%.1f}\n",
	       count, at(times, count, .5), at(times, count, .99), at(times, count, .999),
	       at(times, count, 1.));
	free(times);
	return 0;
}

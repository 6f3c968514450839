/* SPDX-License-Identifier: MIT
 *
 * echo_times.c - how long one byte takes to an echo server and back, at a steady rate.
 *
 *   echo_times PORT RATE SECONDS
 *
 * One connection to 127.0.0.1. Each time counts from the moment at which the byte was due, so that whatever
 * holds up one byte counts for those behind it, too. Prints when it begins, in seconds of the monotonic
 * clock, and at the end a JSON object, in microseconds: the bytes of the even seconds, and those of the odd
 * ones, in which something else may happen. What this machine does by itself happens in both.
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

static void print(const char *name, int64_t *times, size_t count)
{
	qsort(times, count, sizeof(*times), compare);
	printf("\"%s\": {\"count\": %zu, \"p50_us\": %.1f, \"p99_us\": %.1f, \"p99_9_us\": %.1f, "
	       "\"most_us\": %.1f}",
	       name, count, at(times, count, .5), at(times, count, .99), at(times, count, .999),
	       at(times, count, 1.));
}

static void measure(int fd, int64_t rate, size_t count, int64_t *times[2])
{
	size_t counts[2] = {0, 0};
	const int64_t begin_ns = now_ns();

	printf("%.6f\n", (double)begin_ns / (double)NS);
	(void)fflush(stdout);
	for (size_t i = 0; i < count; i++) {
		const int64_t due_ns = begin_ns + (int64_t)i * NS / rate;
		const size_t odd = i / (size_t)rate % 2;

		sleep_until(due_ns);
		times[odd][counts[odd]++] = once(fd, due_ns);
	}
	printf("{");
	print("even", times[0], counts[0]);
	printf(", ");
	print("odd", times[1], counts[1]);
	printf("}\n");
}

int main(int argc, char **argv)
{
	const int64_t rate = argc == 4 ? strtol(argv[2], NULL, 10) : 0;
	const int64_t seconds = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
	const size_t count = (size_t)(rate * seconds);
	int64_t *times[2];
	int fd;

	if (rate <= 0 || seconds < 2) {
		fprintf(stderr, "usage: echo_times PORT RATE SECONDS (at least two)\n");
		return 2;
	}
	times[0] = calloc(count, sizeof(int64_t));
	times[1] = calloc(count, sizeof(int64_t));
	if (times[0] == NULL || times[1] == NULL)
		give_up("memory");
	fd = connected(argv[1]);
	(void)once(fd, now_ns());
	measure(fd, rate, count, times);
	free(times[0]);
	free(times[1]);
	return 0;
}

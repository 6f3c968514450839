/* SPDX-License-Identifier: MIT
 *
 * slow_core.c - makes a CPU slow: takes a share of it away, in slices too short to be seen as stalls.
 *
 *     slow_core CPU PERCENT PERIOD_US      leaves PERCENT of this CPU to the others; ends with its stdin
 *
 * In each period it runs at a real-time priority for its share and then sleeps. A quota of a control group
 * would stop the proxy for milliseconds once it has used its share, and a tail would show nothing else.
 * Periods vary between half and one and a half of PERIOD_US, so that nothing falls into step with them.
 * Prints `ready` when it has begun; needs the right to use SCHED_FIFO.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000u
#define PRIORITY 50
#define LOOK_NS 100000000u    /* how often it looks at its stdin */

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
	return (uint64_t)ts.tv_sec * SECOND_NS + (uint64_t)ts.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	const struct timespec until = {.tv_sec = (time_t)(ns / SECOND_NS), .tv_nsec = (long)(ns % SECOND_NS)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/* xorshift: between half and one and a half of `mean` */
static uint64_t around(uint64_t mean)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return mean / 2 + state % mean;
}

static void take(uint64_t mean_ns, uint64_t percent)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	uint64_t begin = now_ns(), look = begin + LOOK_NS;

	for (;;) {
		const uint64_t period_ns = around(mean_ns), own_ns = period_ns * percent / 100;
		uint64_t now;

		do
			now = now_ns();
		while (now < begin + own_ns);
		if (now > begin + period_ns)
			begin = now; /* the machine held it up */
		else
			begin += period_ns;
		sleep_until(begin);
		if (now < look)
			continue;
		look = now + LOOK_NS;
		if (poll(&in, 1, 0) != 0)
			return;
	}
}

int main(int argc, char **argv)
{
	const struct sched_param priority = {.sched_priority = PRIORITY};
	uint64_t period_ns, percent;
	cpu_set_t cpus;

	if (argc != 4) {
		fprintf(stderr, "usage: slow_core CPU PERCENT PERIOD_US\n");
		return 2;
	}
	percent = strtoul(argv[2], NULL, 10);
	period_ns = strtoul(argv[3], NULL, 10) * 1000u;
	if (percent < 10 || percent > 100 || period_ns < 50000) {
		fprintf(stderr, "slow_core: 10 to 100 percent, a period of 50 us or more\n");
		return 2;
	}
	CPU_ZERO(&cpus);
	CPU_SET(strtoul(argv[1], NULL, 10), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
		die("sched_setaffinity");
	if (sched_setscheduler(0, SCHED_FIFO, &priority) < 0)
		die("sched_setscheduler");
	printf("ready\n");
	(void)fflush(stdout);
	take(period_ns, 100 - percent);
	return 0;
}

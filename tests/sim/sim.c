/* SPDX-License-Identifier: MIT
 *
 * sim.c - runs seeds: the real engine over a modelled kernel.
 *
 *   sim [--seeds N] [--start S] [--seed X] [-v] [--driver epoll|fake|io_uring]
 *       [--splice auto|on|off] [--crowd] [--workers N] [--full] [--no-cover]
 *
 * Owns the command line. A failing seed ends the run with its number; --seed X -v replays it with a
 * trace. Otherwise the run prints how often each interesting state was met, and one that was never
 * met fails it. --crowd runs several workers of one engine, two or four or N. One thread. Tests only.
 */
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "cover.h"
#include "crowd.h"
#include "fake_driver.h"
#include "model.h"
#include "rig.h"
#include "weir/base/log.h"
#include "weir/io/uring.h"
#include "stream.h"
#include "world.h"

#define SIM_SEEDS 100000u
#define SIM_SEEDS_FULL 1000000u
/* Fewer seeds than this prove nothing about states never met. */
#define SIM_SEEDS_JUDGED 20000u
/* Of CPU time: a busy machine is no fault. The watch looks this often, so a seed gets up to twice as long. */
#define SIM_SEED_WATCH_S 10

struct sim_options {
	uint64_t start;
	uint64_t seeds;
	int drivers; /* COVER_EPOLL, ... */
	int splice;
	bool cover;
	bool crowd;
	unsigned workers;
};

/* The seed at the last look. 0 = none. */
static volatile uint64_t watched_seed;

/* A signal ends the run: say in which seed. The watch does so if the seed is that of its last look. */
static void on_signal(int sig)
{
	char text[96];
	int n;

	if (sig == SIGPROF && sim_seed != watched_seed) {
		watched_seed = sim_seed;
		return;
	}
	n = snprintf(text, sizeof(text), "seed %" PRIu64 ": ended by signal %d%s\n", sim_seed, sig,
		     sig == SIGPROF ? " (it never ends)" : "");
	if (n > 0 && write(STDERR_FILENO, text, (size_t)n) < 0)
		_exit(3);
	_exit(2);
}

static _Noreturn void usage(const char *why)
{
	fprintf(stderr, "sim: %s\n", why);
	exit(2);
}

static int parse_splice(const char *word)
{
	if (strcmp(word, "auto") == 0)
		return CONFIG_SPLICE_AUTO;
	if (strcmp(word, "on") == 0)
		return CONFIG_SPLICE_ON;
	if (strcmp(word, "off") == 0)
		return CONFIG_SPLICE_OFF;
	usage("--splice takes auto, on or off");
}

static int parse_driver(const char *word)
{
	if (strcmp(word, "epoll") == 0)
		return COVER_EPOLL;
	if (strcmp(word, "fake") == 0)
		return COVER_FAKE;
	if (strcmp(word, "io_uring") == 0)
		return COVER_RING;
	usage("--driver takes epoll, fake or io_uring");
}

static void parse_value(struct sim_options *o, const char *name, const char *value)
{
	if (strcmp(name, "--seeds") == 0) {
		o->seeds = strtoull(value, NULL, 10);
	} else if (strcmp(name, "--start") == 0) {
		o->start = strtoull(value, NULL, 10);
	} else if (strcmp(name, "--seed") == 0) {
		o->start = strtoull(value, NULL, 10);
		o->seeds = 1;
	} else if (strcmp(name, "--driver") == 0) {
		o->drivers = parse_driver(value);
	} else if (strcmp(name, "--splice") == 0) {
		o->splice = parse_splice(value);
	} else if (strcmp(name, "--workers") == 0) {
		o->workers = (unsigned)strtoul(value, NULL, 10);
		o->crowd = true;
		if (o->workers < 1 || o->workers > RIG_WORKERS)
			usage("--workers takes 1 to 4");
	} else {
		usage("an option is unknown");
	}
}

static void parse(struct sim_options *o, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-v") == 0) {
			sim_verbose = true;
		} else if (strcmp(argv[i], "--no-cover") == 0) {
			o->cover = false;
		} else if (strcmp(argv[i], "--crowd") == 0) {
			o->crowd = true;
		} else if (strcmp(argv[i], "--full") == 0) {
			o->seeds = SIM_SEEDS_FULL;
		} else if (i + 1 < argc) {
			parse_value(o, argv[i], argv[i + 1]);
			i++;
		} else {
			usage("an option wants a value, or is unknown");
		}
	}
}

/* 0 = no longer. */
static void watch(time_t seconds)
{
	const struct itimerval timer = {.it_value.tv_sec = seconds, .it_interval.tv_sec = seconds};

	watched_seed = 0;
	check(setitimer(ITIMER_PROF, &timer, NULL) == 0);
}

static int run(const struct sim_options *o, const struct io_driver *driver, int bit)
{
	const struct world_options w = {.driver = driver, .splice = o->splice, .workers = o->workers};
	const clock_t begin = clock();
	double seconds;
	int missing;

	memset(cover_counts, 0, sizeof(cover_counts));
	watch(SIM_SEED_WATCH_S);
	for (uint64_t i = 0; i < o->seeds; i++) {
		sim_seed = o->start + i;
		if (o->crowd)
			crowd_run(sim_seed, &w);
		else
			world_run(sim_seed, &w);
	}
	watch(0);
	seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
	printf("driver %s: %" PRIu64 " seeds from %" PRIu64 " passed in %.1f s of CPU\n", driver->name,
	       o->seeds, o->start, seconds);
	if (o->seeds == 1 || !o->cover)
		return 0;
	missing = cover_report(o->crowd ? bit << COVER_CROWD : bit);
	return o->seeds >= SIM_SEEDS_JUDGED && o->splice == RIG_SPLICE_RANDOM ? missing : 0;
}

/* A build without liburing has none. */
static int run_ring(const struct sim_options *o)
{
	const struct io_driver *driver;
	char why[128];

	model_reset(1);
	driver = uring_driver(why, sizeof(why));
	if (driver == NULL) {
		printf("skipped: driver io_uring: %s\n", why);
		return 0;
	}
	return run(o, driver, COVER_RING);
}

int main(int argc, char **argv)
{
	struct sim_options o = {
		.start = 1,
		.seeds = SIM_SEEDS,
		.drivers = COVER_EPOLL | COVER_FAKE | COVER_RING,
		.splice = RIG_SPLICE_RANDOM,
		.cover = true,
	};
	int missing = 0;

	parse(&o, argc, argv);
	/* Each seed takes and frees megabytes: given back to the kernel they cost more than all the rest. */
	(void)mallopt(M_TRIM_THRESHOLD, 64 << 20);
	(void)mallopt(M_MMAP_THRESHOLD, 32 << 20); /* hints */
	(void)signal(SIGABRT, on_signal); /* none of these can fail */
	(void)signal(SIGSEGV, on_signal);
	(void)signal(SIGPROF, on_signal);
	stream_init();
	log_set_level(sim_verbose ? LOG_LEVEL_DEBUG : (enum log_level)0);
	if (o.drivers & COVER_EPOLL)
		missing += run(&o, &io_epoll_driver, COVER_EPOLL);
	if (o.drivers & COVER_FAKE)
		missing += run(&o, &fake_driver, COVER_FAKE);
	if (o.drivers & COVER_RING)
		missing += run_ring(&o);
	if (missing > 0) {
		fprintf(stderr, "sim: %d states were never met\n", missing);
		return 1;
	}
	return 0;
}

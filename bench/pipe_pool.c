/* SPDX-License-Identifier: MIT
 *
 * pipe_pool.c - what a get and a put of the pipe pool cost, against pipe2(2) and close(2).
 *
 *     pipe_pool [ROUNDS]
 *
 * One thread alone, then one on each CPU at once. Each thread's own CPU time is measured, so that
 * other work on the machine does not count; the best of several rounds is alone's figure, the worst
 * thread's best is that of all. "spread" takes 64 pipes and gives 64 back with room for 32, so that
 * batches go over the pool's lock all the time. Prints one line for people and one of JSON; exits 1
 * when the bar of 20 ns is missed.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/io/pipe_pool.h"
#include "weir/sys/sys.h"

#define BAR_NS 20.0
#define THREADS_MAX 256
#define PAIRS 4000000u
#define PAIRS_SPREAD 400000u
#define PAIRS_SYSCALL 20000u
#define HELD 64u

struct thread {
	_Alignas(64) struct pipe_cache cache;
	pthread_t id;
	pthread_barrier_t *barrier;
	int rounds;
	double ns;        /* of one get and put */
	double spread_ns; /* of one get and put in batches */
};

static double cpu_ns(void)
{
	struct timespec ts;

	check(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts) == 0);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static double measure_pairs(struct pipe_cache *c)
{
	const double begin = cpu_ns();

	for (uint32_t i = 0; i < PAIRS; i++) {
		struct pipe *p = pipe_get(c);

		/* The compiler must not see that nothing happens to it. */
		__asm__ __volatile__("" : "+r"(p)::"memory");
		check(p != NULL);
		pipe_put(c, p);
	}
	return (cpu_ns() - begin) / PAIRS;
}

static double measure_spread(struct pipe_cache *c)
{
	struct pipe *held[HELD];
	const double begin = cpu_ns();

	for (uint32_t i = 0; i < PAIRS_SPREAD / HELD; i++) {
		for (uint32_t j = 0; j < HELD; j++) {
			held[j] = pipe_get(c);
			check(held[j] != NULL);
		}
		for (uint32_t j = 0; j < HELD; j++)
			pipe_put(c, held[j]);
	}
	return (cpu_ns() - begin) / (PAIRS_SPREAD / HELD * HELD);
}

static void keep_best(double *best, double ns)
{
	if (*best == 0 || ns < *best)
		*best = ns;
}

static void *run(void *arg)
{
	struct thread *t = arg;
	struct pipe *p = pipe_get(&t->cache);

	check(p != NULL);
	pipe_put(&t->cache, p);
	for (int i = 0; i < t->rounds; i++) {
		(void)pthread_barrier_wait(t->barrier);
		keep_best(&t->ns, measure_pairs(&t->cache));
		(void)pthread_barrier_wait(t->barrier);
		keep_best(&t->spread_ns, measure_spread(&t->cache));
	}
	return NULL;
}

/* `count` threads at once; leaves the figures of the slowest one in `worst`. */
static void measure(int count, int rounds, struct thread *worst)
{
	static struct thread threads[THREADS_MAX];
	pthread_barrier_t barrier;
	struct pipe_pool pool;

	memset(threads, 0, sizeof(threads));
	pipe_pool_init(&pool, (uint32_t)count * 2 * HELD, 65536, UINT64_MAX);
	check(pthread_barrier_init(&barrier, NULL, (unsigned)count) == 0);
	for (int i = 0; i < count; i++) {
		pipe_cache_init(&threads[i].cache, &pool, HELD / 2);
		threads[i].barrier = &barrier;
		threads[i].rounds = rounds;
		check(pthread_create(&threads[i].id, NULL, run, &threads[i]) == 0);
	}
	worst->ns = 0;
	worst->spread_ns = 0;
	for (int i = 0; i < count; i++) {
		check(pthread_join(threads[i].id, NULL) == 0);
		pipe_cache_free(&threads[i].cache);
		if (threads[i].ns > worst->ns)
			worst->ns = threads[i].ns;
		if (threads[i].spread_ns > worst->spread_ns)
			worst->spread_ns = threads[i].spread_ns;
	}
	check(pthread_barrier_destroy(&barrier) == 0);
	pipe_pool_free(&pool);
}

static double measure_syscalls(int rounds)
{
	double best = 0;

	for (int round = 0; round < rounds; round++) {
		const double begin = cpu_ns();

		for (uint32_t i = 0; i < PAIRS_SYSCALL; i++) {
			int fds[2];

			check(sys_pipe(fds) == 0);
			sys_close(fds[0]);
			sys_close(fds[1]);
		}
		keep_best(&best, (cpu_ns() - begin) / PAIRS_SYSCALL);
	}
	return best;
}

int main(int argc, char **argv)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	const int count = cpus < 1 ? 1 : cpus > THREADS_MAX ? THREADS_MAX : (int)cpus;
	const int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 5;
	struct thread alone, all;
	double syscalls;
	bool met;

	if (rounds < 1) {
		fprintf(stderr, "usage: pipe_pool [ROUNDS]\n");
		return 2;
	}
	syscalls = measure_syscalls(rounds);
	measure(1, rounds, &alone);
	measure(count, rounds, &all);
	met = alone.ns <= BAR_NS && all.ns <= BAR_NS;
	printf("pipe pool: get+put %.1f ns alone, %.1f ns on %d threads at once (bar %.0f ns: %s); "
	       "spread %.1f and %.1f ns; pipe2+close %.0f ns, %.0f times slower\n",
	       alone.ns, all.ns, count, BAR_NS, met ? "met" : "MISSED", alone.spread_ns, all.spread_ns,
	       syscalls, syscalls / alone.ns);
	printf("{\"bench\":\"pipe_pool\",\"threads\":%d,\"alone_ns\":%.2f,\"all_ns\":%.2f,"
	       "\"alone_spread_ns\":%.2f,\"all_spread_ns\":%.2f,\"pipe2_close_ns\":%.1f,\"ratio\":%.1f,"
	       "\"bar_ns\":%.0f,\"met\":%s}\n",
	       count, alone.ns, all.ns, alone.spread_ns, all.spread_ns, syscalls, syscalls / alone.ns, BAR_NS,
	       met ? "true" : "false");
	return met ? 0 : 1;
}

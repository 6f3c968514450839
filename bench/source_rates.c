/* SPDX-License-Identifier: MIT
 *
 * source_rates.c - nanoseconds per connection that rate-limit-per-source judges, by the number of sources.
 *
 * Prints one line per case: sources, threads, how many were let in, nanoseconds each. No two connections in a
 * row are of one source, so that the caches hold what they would under traffic. Threads share the table, as
 * workers do.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "weir/base/clock.h"
#include "weir/net/source_rates.h"

#define CONNECTIONS 2000000u
#define STEP_NS	    10000 /* between two connections of a thread: 100,000 per second */
#define THREADS_MAX 2

struct job {
	struct source_rates *t;
	struct source_rate rate;
	uint32_t sources;
	uint32_t first;
	size_t passed;
	pthread_t thread;
};

static void *run(void *arg)
{
	struct job *j = arg;

	for (uint32_t i = 0; i < CONNECTIONS; i++) {
		/* An odd factor: each source has its turn, in no order. */
		const uint32_t n = (i * 2654435761u + j->first) % j->sources;
		const struct addr_brief a = {.family = AF_INET, .ip = {10, (uint8_t)(n >> 16),
								       (uint8_t)(n >> 8), (uint8_t)n}};

		const int64_t at_ns = NS_PER_SEC + i * (int64_t)STEP_NS;

		j->passed += source_rates_take(j->t, &a, &j->rate, at_ns) != SOURCE_RATE_OVER;
	}
	return NULL;
}

/* `count` of one source in 10 s: what its share of the connections allows, more or less. */
static void measure(uint32_t sources, unsigned count, int threads)
{
	struct job jobs[THREADS_MAX];
	struct source_rates *t = source_rates_new(SOURCE_RATES_MAX);
	size_t passed = 0;
	int64_t begin;

	if (t == NULL)
		abort();
	begin = clock_mono_ns();
	for (int i = 0; i < threads; i++) {
		jobs[i] = (struct job){.t = t, .rate = source_rate_of(count, INT64_C(10000000000), count),
				       .sources = sources, .first = (uint32_t)i * 7919u};
		if (pthread_create(&jobs[i].thread, NULL, run, &jobs[i]) != 0)
			abort();
	}
	for (int i = 0; i < threads; i++) {
		(void)pthread_join(jobs[i].thread, NULL);
		passed += jobs[i].passed;
	}
	printf("%8" PRIu32 " sources %d threads %9zu of %9u let in %8.1f ns each\n", sources, threads, passed,
	       CONNECTIONS * (unsigned)threads, (double)(clock_mono_ns() - begin) / CONNECTIONS);
	source_rates_free(t);
}

int main(void)
{
	static const uint32_t sources[] = {1, 1000, 100000, 200000, 1000000};

	for (int threads = 1; threads <= THREADS_MAX; threads++)
		for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
			measure(sources[i], 20, threads);
	return 0;
}

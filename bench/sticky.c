/* SPDX-License-Identifier: MIT
 *
 * sticky.c - nanoseconds per lookup in a table of clients that keep their server.
 *
 * Prints one line per table and kind of lookup, by one thread and by as many as there are CPUs: of clients
 * that are in it, each of which counts as a use; of clients that are not; and of new clients for whom others
 * leave. No two lookups in a row are neighbours, so that the caches hold what they would under traffic. Then
 * a full table moves to another size, while one thread looks up clients: how long the move takes, and the
 * longest lookup.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "weir/base/clock.h"
#include "weir/net/sticky_table.h"

#define LOOKUPS	    2000000u
#define THREADS_MAX 64
#define EXPIRES_NS  INT64_C(1800000000000)

enum kind { KNOWN, UNKNOWN, NEW };

static const char *const kind_names[] = {"known", "unknown", "new"};

struct job {
	struct sticky_table *table;
	uint32_t entries;
	enum kind kind;
	uint64_t seed;
	uint64_t found;
};

static struct sticky_key key_of(uint64_t n)
{
	const struct addr_brief a = {.family = AF_INET, .ip = {(uint8_t)(n >> 24), (uint8_t)(n >> 16),
							       (uint8_t)(n >> 8), (uint8_t)n}};
	struct sticky_key k;

	if (!sticky_key_of(STICKY_CLIENTS, &a, &k))
		abort();
	return k;
}

static void add(struct sticky_table *t, const struct sticky_key *k)
{
	const struct sticky_change c = {.to = 7, .now_ns = 1, .expires_ns = EXPIRES_NS};
	bool evicted;

	(void)sticky_table_set(t, k, &c, &evicted);
}

static void *look_up(void *arg)
{
	struct job *j = arg;
	uint64_t random = j->seed;

	for (uint32_t i = 0; i < LOOKUPS; i++) {
		struct sticky_key k;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		k = key_of((random >> 32) % j->entries + (j->kind == KNOWN ? 0 : j->entries));
		if (j->kind == NEW)
			k = key_of(random);
		j->found += sticky_table_use(j->table, &k, 1, EXPIRES_NS + i) != 0;
		if (j->kind == NEW)
			add(j->table, &k);
	}
	return NULL;
}

static void run(struct sticky_table *t, uint32_t entries, enum kind kind, unsigned threads)
{
	struct job jobs[THREADS_MAX];
	pthread_t ids[THREADS_MAX];
	uint64_t found = 0;
	int64_t begin = clock_mono_ns();

	for (unsigned i = 0; i < threads; i++) {
		jobs[i] = (struct job){t, entries, kind, 0x9e3779b97f4a7c15u + i, 0};
		if (pthread_create(&ids[i], NULL, look_up, &jobs[i]) != 0)
			abort();
	}
	for (unsigned i = 0; i < threads; i++) {
		(void)pthread_join(ids[i], NULL); /* it cannot fail */
		found += jobs[i].found;
	}
	printf("%-8s %8" PRIu32 " entries %8.1f MB %2u threads %9" PRIu64 " of %u found %8.1f ns each\n",
	       kind_names[kind], entries, (double)sticky_table_bytes(STICKY_CLIENTS, entries) / 1e6, threads,
	       found, threads * LOOKUPS, (double)(clock_mono_ns() - begin) / LOOKUPS);
}

/* ---- moves ---- */

#define MOVED 1000000u

struct watch {
	struct sticky_table *table;
	atomic_bool ends;
	uint64_t lookups;
	int64_t longest_ns;
	uint64_t long_ones; /* above LONG_NS */
};

#define LONG_NS 100000

/* By the clock of the thread, so that what others run on its CPU does not count; a wait for a lock does. */
static void *watch(void *arg)
{
	struct watch *w = arg;
	uint64_t random = 0x9e3779b97f4a7c15u;
	int64_t before = clock_thread_ns();

	while (!atomic_load_explicit(&w->ends, memory_order_relaxed)) {
		struct sticky_key k;
		int64_t now;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		k = key_of((random >> 32) % MOVED);
		(void)sticky_table_use(w->table, &k, 1, EXPIRES_NS);
		now = clock_thread_ns();
		w->longest_ns = now - before > w->longest_ns ? now - before : w->longest_ns;
		w->long_ones += now - before > LONG_NS;
		w->lookups++;
		before = now;
	}
	return NULL;
}

static struct sticky_table *full_table(uint32_t size)
{
	struct sticky_table *t = sticky_table_new(STICKY_CLIENTS, size);

	if (t == NULL)
		abort();
	for (uint32_t n = 0; n < size; n++) {
		const struct sticky_key k = key_of(n);

		add(t, &k);
	}
	return t;
}

/* Size 0: for comparison, nothing moves. */
static void move(uint32_t size)
{
	struct watch w = {.table = full_table(MOVED)};
	struct sticky_table *to = size > 0 ? sticky_table_new(STICKY_CLIENTS, size) : NULL;
	const int64_t begin = clock_mono_ns();
	int64_t took;
	pthread_t id;

	if ((size > 0 && to == NULL) || pthread_create(&id, NULL, watch, &w) != 0)
		abort();
	if (to != NULL)
		sticky_table_begin_move(w.table, to);
	else
		(void)usleep(500000);
	while (sticky_table_step_move(w.table))
		continue;
	took = clock_mono_ns() - begin;
	atomic_store(&w.ends, true);
	(void)pthread_join(id, NULL); /* it cannot fail */
	printf("move     %8u entries to %8" PRIu32 " %8.1f ms, %8" PRIu64
	       " lookups, longest %6.0f us, %" PRIu64 " above %d us\n",
	       MOVED, size, (double)took / 1e6, w.lookups, (double)w.longest_ns / 1e3, w.long_ones,
	       LONG_NS / 1000);
	sticky_table_put(w.table);
	sticky_table_put(to);
}

/* With any argument, moves only. */
int main(int argc, char **argv)
{
	static const uint32_t sizes[] = {1000, 100000, 1000000};
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	const unsigned most = cpus > 1 ? (unsigned)(cpus < THREADS_MAX ? cpus : THREADS_MAX) : 1;

	(void)argv;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && argc == 1; i++) {
		struct sticky_table *t = full_table(sizes[i]);

		for (enum kind kind = KNOWN; kind <= NEW; kind++) {
			run(t, sizes[i], kind, 1);
			if (most > 1)
				run(t, sizes[i], kind, most);
		}
		sticky_table_put(t);
	}
	move(0);
	move(2 * MOVED);
	move(MOVED / 2);
	move(MOVED / 100);
	return 0;
}

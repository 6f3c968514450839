/* SPDX-License-Identifier: MIT
 *
 * rig.c - the engine with its workers, and of control what changes live objects.
 *
 * Owns all of it. Main thread.
 */
#include "rig.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "memory.h"
#include "weir/account/tally.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/engine/tallies.h"
#include "weir/settings/config_reading.h"

#define MAXCONN	    4000u
#define IDLE_TURNS  16u
#define IDLE_CPU_NS (20 * NS_PER_MS)

/* ---- control ---- */

static void notify(void *arg)
{
	struct rig *r = arg;

	if (!atomic_exchange(&r->news_sent, true))
		ev_async_send(r->loop, &r->news);
}

static void on_news(struct ev_loop *loop, struct ev_async *async, int revents)
{
	struct rig *r = async->data;

	(void)loop;
	(void)revents;
	atomic_store(&r->news_sent, false);
	retiring_wake(&r->retiring);
	logwriter_wake(r->log);
}

static void on_pause(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	(void)loop;
	(void)timer;
	(void)revents;
}

const char *rig_log = "/dev/null";

struct config *rig_read(const char *text)
{
	struct config_input input = {0};
	struct config_reading reading;
	struct config *c;

	check(config_input_set_text(&input, "test", text) == 0);
	config_read(&input, &reading);
	config_reading_print(&reading, stderr, CONFIG_STYLE_PLAIN);
	c = config_reading_take(&reading);
	check(c != NULL);
	config_reading_free(&reading);
	config_input_free(&input);
	return c;
}

static void start_log(struct rig *r)
{
	const struct config_log *bad;
	int err;

	r->ring = log_ring_new(notify, r);
	check(r->ring != NULL);
	r->log = logwriter_new(r->loop, &r->config->global, &bad, &err);
	check(r->log != NULL);
	check(logwriter_add_ring(r->log, r->ring) == 0);
	log_use_ring(r->ring);
	check(logwriter_start(r->log, &bad) == 0);
}

void rig_open(struct rig *r, const struct io_driver *driver, const char *bind, const char *server)
{
	char text[1024];

	(void)snprintf(text, sizeof(text),
		       "[global]\nlog = file:%s\npipe-cycle = 100ms\nuser = root\n"
		       "[frontend base]\nbind main = %s\ndefault-backend = base\ntimeout-client = 10m\n"
		       "[backend base]\nserver anchor = %s\ntimeout-connect = 30s\ntimeout-server = 10m\n",
		       rig_log, bind, server); /* fits */
	rig_open_config(r, driver, rig_read(text));
}

void rig_open_config(struct rig *r, const struct io_driver *driver, struct config *config)
{
	const struct engine_limits limits = {.maxconn = MAXCONN, .maxpipes = 64, .pipe_bytes = 65536,
					     .pipe_budget_bytes = 8 << 20, .buf_budget_bytes = 32 << 20};
	struct endpoint *failed;

	memset(r, 0, sizeof(*r));
	r->config = config;
	r->loop = ev_default_loop(EVFLAG_AUTO);
	check(r->loop != NULL);
	ev_async_init(&r->news, on_news);
	r->news.data = r;
	ev_async_start(r->loop, &r->news);
	ev_init(&r->pause, on_pause);
	start_log(r);
	check(engine_init(&r->engine, r->config, notify, r) == 0);
	check(entries_bind(&r->engine.entries, &failed) == 0);
	retiring_init(&r->retiring, r->loop, &r->engine, r->log);
	check(engine_start(&r->engine, &limits, RIG_WORKERS, driver) == 0);
	for (unsigned i = 0; i < RIG_WORKERS; i++)
		check(logwriter_add_ring(r->log, engine_log_ring(&r->engine, i)) == 0);
	updates_loop_init(&r->updates, r->loop, &r->engine);
	while (atomic_load(&r->engine.workers_ready) < (int)RIG_WORKERS)
		ev_run(r->loop, EVRUN_ONCE);
}

void rig_close(struct rig *r)
{
	engine_stop(&r->engine);
	while (atomic_load(&r->engine.workers_done) < (int)RIG_WORKERS)
		ev_run(r->loop, EVRUN_ONCE);
	engine_join(&r->engine);
	updates_loop_free(&r->updates);
	(void)logwriter_flush(r->log, 1000); /* nobody reads it */
	retiring_stop(&r->retiring);
	log_use_ring(NULL);
	logwriter_free(r->log);
	engine_free(&r->engine);
	log_ring_free(r->ring);
	ev_async_stop(r->loop, &r->news);
	ev_timer_stop(r->loop, &r->pause);
	ev_loop_destroy(r->loop);
	config_free(r->config);
}

void rig_turn(struct rig *r)
{
	retiring_wake(&r->retiring);
	ev_run(r->loop, EVRUN_NOWAIT);
	r->turns++;
}

static void sleep_until(struct rig *r, int64_t at_ns)
{
	const int64_t now_ns = clock_mono_ns();

	ev_timer_stop(r->loop, &r->pause);
	if (now_ns >= at_ns)
		return;
	ev_now_update(r->loop);
	ev_timer_set(&r->pause, (double)(at_ns - now_ns) / (double)NS_PER_SEC, 0.);
	ev_timer_start(r->loop, &r->pause);
	ev_run(r->loop, EVRUN_ONCE);
	r->turns++;
}

void rig_rest(struct rig *r, int64_t ns)
{
	const int64_t end_ns = clock_mono_ns() + ns;

	while (clock_mono_ns() < end_ns)
		sleep_until(r, end_ns);
	ev_timer_stop(r->loop, &r->pause);
}

size_t rig_count_leaving(const struct rig *r)
{
	const struct list *deaf = &r->engine.entries.deaf;
	size_t n = retire_count(&r->engine.live.retire);

	for (const struct list *l = deaf->next; l != deaf; l = l->next)
		n++;
	return n;
}

bool rig_settle(struct rig *r, size_t leaving, int64_t ns)
{
	const int64_t end_ns = clock_mono_ns() + ns;

	rig_turn(r);
	while (rig_count_leaving(r) > leaving && clock_mono_ns() < end_ns)
		sleep_until(r, end_ns);
	ev_timer_stop(r->loop, &r->pause);
	return rig_count_leaving(r) <= leaving;
}

/* ---- what there is ---- */

static size_t count_fds(void)
{
	DIR *folder = opendir("/proc/self/fd");
	size_t n = 0;

	check(folder != NULL);
	while (readdir(folder) != NULL)
		n++;
	closedir(folder);
	return n;
}

static unsigned count_frontends(const struct entries *e)
{
	unsigned n = 0;

	entries_foreach_frontend(e, fe)
		n++;
	return n;
}

void rig_look(const struct rig *r, struct rig_state *out)
{
	const struct engine *e = &r->engine;

	*out = (struct rig_state){
		.bytes = memory_bytes(),
		.blocks = memory_blocks(),
		.objects = e->live.objects.count,
		.endpoints = e->live.endpoints.count,
		.versions = e->live.versions.count,
		.retired = retire_count(&e->live.retire),
		.sessions = engine_sum(e, sessions),
		.timers = engine_sum(e, timers),
		.pending_ops = engine_sum(e, pending_ops),
		.frontends = count_frontends(&e->entries),
		.backends = (unsigned)e->backend_count,
		.fds = count_fds(),
	};
}

static bool is_same(const char *what, uint64_t before, uint64_t after)
{
	if (before != after)
		printf("  %s: %llu before, %llu after\n", what, (unsigned long long)before,
		       (unsigned long long)after);
	return before == after;
}

bool rig_is_as(const struct rig_state *before, const struct rig_state *after, size_t spare)
{
	bool same = true;

	same &= is_same("descriptors", before->fds, after->fds);
	same &= is_same("slots of objects", before->objects, after->objects);
	same &= is_same("slots of endpoints", before->endpoints, after->endpoints);
	same &= is_same("versions", before->versions, after->versions);
	same &= is_same("to be freed", before->retired, after->retired);
	same &= is_same("sessions", before->sessions, after->sessions);
	same &= is_same("timers", before->timers, after->timers);
	same &= is_same("pending ops", before->pending_ops, after->pending_ops);
	same &= is_same("frontends", before->frontends, after->frontends);
	same &= is_same("backends", before->backends, after->backends);
	printf("memory: %zu bytes in %zu blocks before, %zu bytes in %zu blocks after\n", before->bytes,
	       before->blocks, after->bytes, after->blocks);
	if (after->bytes > before->bytes + spare)
		same &= is_same("bytes", before->bytes, after->bytes);
	return same;
}

/* ---- totals ---- */

#define TOTALS_MAX 256u

static uint64_t totals[TOTALS_MAX];

static void watch_one(size_t *at, const char *name, uint64_t now)
{
	check(*at < TOTALS_MAX);
	if (now < totals[*at]) {
		fprintf(stderr, "%s fell from %llu to %llu\n", name, (unsigned long long)totals[*at],
			(unsigned long long)now);
		abort();
	}
	totals[(*at)++] = now;
}

static void watch_tally(const struct engine *e, uint32_t slot, size_t *at)
{
	const struct tally_row *row;
	struct tally_sum sum;

	tally_sum_up(e, slot, clock_mono_ns(), &sum);
	for (size_t i = 0; (row = tally_row(i)) != NULL; i++)
		if (row->kind == TALLY_KIND_TOTAL)
			watch_one(at, row->field, tally_at(&sum, row->offset));
}

void rig_watch_totals(struct rig *r)
{
	const struct engine *e = &r->engine;
	const struct frontend *fe = list_entry(e->entries.frontends.next, struct frontend, link);
	const struct server_totals b = backend_totals(e->backends[0]);
	size_t at = 0;

#define COUNTER_TOTAL(field) watch_one(&at, #field, engine_sum(e, field));
#define COUNTER_GAUGE(field)
#define COUNTER(field, kind, unit, help) COUNTER_##kind(field)
#include "weir/base/counters.tbl.h"
#undef COUNTER
	watch_one(&at, "sessions of the backend", b.total);
	watch_one(&at, "choices of the backend", b.chosen);
	watch_one(&at, "failures of the backend", b.failures);
	watch_one(&at, "sessions of the frontend", atomic_load(&fe->total));
	watch_tally(e, fe->slot, &at);
	watch_tally(e, e->backends[0]->slot, &at);
}

static int64_t cpu_ns(void)
{
	struct timespec ts;

	check(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts) == 0);
	return ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

bool rig_is_idle(struct rig *r, int64_t ns)
{
	const uint64_t worker_turns = engine_sum(&r->engine, turns);
	const unsigned own_turns = r->turns;
	const int64_t cpu = cpu_ns();
	uint64_t more;
	int64_t used;

	rig_rest(r, ns);
	more = engine_sum(&r->engine, turns) - worker_turns;
	used = cpu_ns() - cpu;
	printf("idle for %lld ms: %llu turns of workers, %u of control, %lld us of CPU\n",
	       (long long)(ns / NS_PER_MS), (unsigned long long)more, r->turns - own_turns,
	       (long long)(used / 1000));
	return more <= IDLE_TURNS && r->turns - own_turns <= IDLE_TURNS && used <= IDLE_CPU_NS;
}

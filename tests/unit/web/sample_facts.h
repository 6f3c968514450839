/* SPDX-License-Identifier: MIT
 *
 * sample_facts.h - facts of a daemon that does not exist, for tests of the page and for pages to look at.
 */
#ifndef WEIR_TESTS_SAMPLE_FACTS_H
#define WEIR_TESTS_SAMPLE_FACTS_H

#include <stdio.h>
#include <string.h>

#include "weir/balance/change_log.h"
#include "weir/balance/server.h"
#include "weir/base/clock.h"
#include "web/page.h"

#define SAMPLE_WALL_NS (INT64_C(1795450000) * NS_PER_SEC)

/* How the daemon is: some servers are down; nothing is wrong; or much is. */
enum sample_mood { SAMPLE_USUAL, SAMPLE_CALM, SAMPLE_TROUBLED };

struct sample {
	enum sample_mood mood;
	unsigned backends;
	unsigned servers;   /* of each backend */
	const char *suffix; /* of each name and text */
	unsigned tick;      /* how far the counters are */
	uint64_t queue_any;       /* clients in the queue of each backend */
	uint64_t queue_of_server; /* and of its first server */
	uint64_t queue_limit;     /* PAGE_NO_VALUE = none */
};

/* Text and row of the server that is reported. */
struct sample_row {
	struct page_row row;
	char backend[96];
	char name[96];
	char address[96];
	char check[96];
	char reason[160];
};

static inline void sample_begin(struct sample_row *r, enum page_kind kind)
{
	r->row = (struct page_row){.kind = kind, .backend = r->backend, .name = r->name, .state = "UP"};
	r->row.address = r->address;
	r->row.check = r->check;
	r->row.reason = r->reason;
	r->address[0] = r->check[0] = r->reason[0] = '\0';
	for (size_t i = 0; i < PAGE_COLUMNS; i++)
		r->row.values[i] = PAGE_NO_VALUE;
}

static inline void sample_values(const struct sample *s, struct sample_row *r, uint64_t seed)
{
	uint64_t *values = r->row.values;

	for (size_t i = 0; i < PAGE_COLUMNS; i++)
		values[i] = 0;
	values[PAGE_sessions] = seed % 97;
	values[PAGE_sessions_max] = values[PAGE_sessions] + 40;
	values[PAGE_limit] = 500;
	values[PAGE_rate] = (seed + s->tick) % 31;
	values[PAGE_total] = seed * 1013 + s->tick * 17;
	values[PAGE_bytes_to_server] = seed * 1234567 + (uint64_t)s->tick * 40000;
	values[PAGE_bytes_to_client] = seed * 98765432 + (uint64_t)s->tick * 9000000;
	values[PAGE_connect_us] = 300 + seed % 2000;
	values[PAGE_session_us] = 4000000 + seed;
	values[PAGE_weight] = 1;
}

static inline void sample_server(const struct sample *s, unsigned backend, unsigned number,
				 struct sample_row *r)
{
	const unsigned seed = backend * 131 + number * 7 + 3;

	sample_begin(r, PAGE_SERVER);
	(void)snprintf(r->backend, sizeof(r->backend), "app%u%s", backend, s->suffix);
	(void)snprintf(r->name, sizeof(r->name), "web%u%s", number, s->suffix);
	(void)snprintf(r->address, sizeof(r->address), "10.0.%u.%u:8080%s", number / 250, number % 250 + 1,
		       s->suffix);
	(void)snprintf(r->check, sizeof(r->check), "L4OK, 1 ms%s", s->suffix);
	sample_values(s, r, seed);
	r->row.values[PAGE_queued] = number == 0 ? s->queue_of_server : 0;
	r->row.since_s = 4000 + seed * 60;
	if (s->mood == SAMPLE_CALM)
		return;
	if (s->mood == SAMPLE_TROUBLED && number % 7 == 3)
		r->row.is_failing = true;
	if (number % 7 == 2 || (s->mood == SAMPLE_TROUBLED && backend == 2)) {
		r->row.state = "DOWN";
		r->row.tone = PAGE_BAD;
		r->row.values[PAGE_failures] = 12 + s->tick;
		(void)snprintf(r->check, sizeof(r->check), "L4CON, connection refused%s", s->suffix);
		(void)snprintf(r->reason, sizeof(r->reason), "health check failed: connection refused%s",
			       s->suffix);
	} else if (number % 7 == 5) {
		r->row.state = "DRAIN";
		r->row.tone = PAGE_WARN;
		(void)snprintf(r->reason, sizeof(r->reason), "set by the administrator%s", s->suffix);
	} else if (number % 7 == 4) {
		r->row.values[PAGE_failures] = 5 + s->tick; /* it is up, but sessions fail */
	}
}

static inline void sample_rows(void *from, page_row_report *report, void *to)
{
	const struct sample *s = from;
	struct sample_row r;

	sample_begin(&r, PAGE_FRONTEND);
	(void)snprintf(r.name, sizeof(r.name), "public%s", s->suffix);
	(void)snprintf(r.address, sizeof(r.address), "0.0.0.0:443, [::]:443%s", s->suffix);
	sample_values(s, &r, 9001);
	r.row.state = "OPEN";
	r.row.since_s = -1;
	report(to, &r.row);
	for (unsigned i = 0; i < s->backends; i++) {
		sample_begin(&r, PAGE_BACKEND);
		(void)snprintf(r.name, sizeof(r.name), "app%u%s", i, s->suffix);
		sample_values(s, &r, 3000 + i);
		r.row.tone = s->servers > 2 && s->mood != SAMPLE_CALM ? PAGE_WARN : PAGE_GOOD;
		r.row.values[PAGE_queued] = s->queue_any;
		r.row.values[PAGE_queue_limit] = s->queue_limit;
		if (s->mood == SAMPLE_TROUBLED && i == 1) {
			r.row.values[PAGE_queued] = 45;
			r.row.values[PAGE_queue_limit] = 50;
		}
		if (s->mood == SAMPLE_TROUBLED && i == 2) {
			r.row.tone = PAGE_BAD;
			r.row.state = "DOWN";
			(void)snprintf(r.reason, sizeof(r.reason), "0 of %u servers usable", s->servers);
		}
		r.row.since_s = -1;
		report(to, &r.row);
		for (unsigned j = 0; j < s->servers; j++) {
			sample_server(s, i, j, &r);
			report(to, &r.row);
		}
	}
}

static inline void sample_figures(void *from, page_figure_report *report, void *to)
{
	const struct sample *s = from;

	static const struct {
		const char *name;
		uint64_t usual, troubled;
	} known[] = {
		{"pipes_in_use", 300, 4096}, {"limit_pipes", 4096, 4096},
		{"bufs_in_use_bytes", 3 << 20, 200 << 20}, {"limit_bufs_bytes", 256 << 20, 256 << 20},
		{"open_fds", 3210, 63000}, {"limit_fds", 65536, 65536}, {"idle_percent", 71, 12},
		{"memory_used_bytes", 120 << 20, 500 << 20}, {"memory_limit_bytes", 512 << 20, 512 << 20},
		{"memory_is_short", 0, 1}, {"ports_used", 640, 25000}, {"ports_available", 28232, 28232},
		{"last_reload_ok", 1, 0}, {"last_reload_time_s", 1795449000, 1795449000},
		{"trial_left_s", 0, 95}, {"log_dropped", 17, 4242},
		{"log_last_dropped_time_s", 1795000000, 1795449985},
	};
	const bool bad = s->mood == SAMPLE_TROUBLED;

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		report(to, known[i].name, bad ? known[i].troubled : known[i].usual, s->suffix);
	report(to, "accepted", 123456 + s->tick, "connections accepted");
	report(to, "bytes_spliced", UINT64_MAX, s->suffix);
}

/* Each minute as many; in trouble, servers refuse. */
static inline const struct page_ends *sample_ends(const struct sample *s)
{
	static struct page_ends ends;

	memset(&ends, 0, sizeof(ends));
	for (int i = 0; i < CLOSE_REASONS; i++)
		ends.total[i] = i == CLOSE_NORMAL ? 100000 + s->tick : i % 3 ? (uint64_t)i * 7 : 0;
	ends.minute[CLOSE_NORMAL] = 2000 + s->tick;
	if (s->mood != SAMPLE_CALM) {
		ends.minute[CLOSE_CLIENT_RESET] = 21;
		ends.minute[CLOSE_CLIENT_TIMEOUT] = 7;
		ends.minute[CLOSE_CONNECT_REFUSED] = s->mood == SAMPLE_TROUBLED ? 911 : 3;
		ends.minute[CLOSE_NO_RESOURCE] = s->mood == SAMPLE_TROUBLED ? 12 : 0;
	}
	for (int i = 0; i < LIMITS; i++) {
		ends.slowed_minute[i] = (uint64_t)i;
		ends.slowed[i] = (uint64_t)i * 100;
	}
	for (int i = 0; i < CLOSE_REASONS; i++)
		ends.total[i] += ends.minute[i];
	return &ends;
}

static inline struct page_facts sample_facts(struct sample *s)
{
	return (struct page_facts){
		.version = "0.1.0", .node = "edge1", .state = "ready", .is_ready = true, .pid = 4711,
		.workers = 4, .busy_ns = 30 * NS_PER_SEC * (1000 + s->tick), .uptime_s = 93784,
		.wall_ns = SAMPLE_WALL_NS + s->tick * NS_PER_SEC, .sessions = 1234, .maxconn = 20000,
		.bytes_to_server = 12345678901 + s->tick * 1000000ull,
		.bytes_to_client = 987654321098 + s->tick * 30000000ull, .bytes_spliced = 900000000000,
		.ends = sample_ends(s),
		.source = {sample_rows, sample_figures, s},
	};
}

/* A server that went down and came back, and has a new weight; freed by history_free(). */
static inline void sample_history(struct history *h, const char *suffix)
{
	static const struct {
		int64_t ago_s;
		enum change_what what;
		uint32_t from, to;
		const char *cause;
	} changes[] = {
		{86400, CHANGE_STATE, SERVER_UP, SERVER_DOWN, "health check failed: connection refused"},
		{80000, CHANGE_STATE, SERVER_DOWN, SERVER_UP, "health check passed"},
		{30000, CHANGE_WEIGHT, 1, 10, "set by the administrator"},
		{9000, CHANGE_STATE, SERVER_UP, SERVER_MAINT, "set by the administrator"},
		{4000, CHANGE_STATE, SERVER_MAINT, SERVER_UP, "set by the administrator"},
	};

	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		struct history_change c = {
			.wall_ns = SAMPLE_WALL_NS - changes[i].ago_s * NS_PER_SEC,
			.what = (uint8_t)changes[i].what,
			.from = changes[i].from,
			.to = changes[i].to,
		};

		(void)snprintf(c.cause, sizeof(c.cause), "%s%s", changes[i].cause, suffix);
		history_add(h, &c);
	}
}

#endif

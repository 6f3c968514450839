/* SPDX-License-Identifier: MIT
 *
 * admin_commands.c - what the admin protocol answers, as text.
 *
 * A new command is one row of `commands`; a new counter shows by itself, from counters.tbl.h. Only
 * reads. Main thread. Floor 5.
 */
#include "sluice/control/admin_commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sluice/base/check.h"
#include "sluice/base/clock.h"
#include "sluice/control/endpoint_label.h"

#define COMMAND_MAX 64

struct counter_row {
	const char *name;
	size_t offset; /* in struct counters */
};

static const struct counter_row counter_rows[] = {
#define COUNTER(name, unit, help) {#name, offsetof(struct counters, name)},
#include "sluice/base/counters.tbl.h"
#undef COUNTER
};

struct command {
	const char *words;
	const char *help;
	void (*run)(const struct admin_context *ctx, struct text *out); /* NULL = ask the workers */
};

static void show_info(const struct admin_context *ctx, struct text *out);
static void show_pools(const struct admin_context *ctx, struct text *out);
static void show_help(const struct admin_context *ctx, struct text *out);

static const struct command commands[] = {
	{"show info", "the daemon, its counters, frontends, servers and listeners", show_info},
	{"show pools", "pipes and buffers", show_pools},
	{"show sess", "one line for each session", NULL},
	{"help", "this list", show_help},
};

static void show_help(const struct admin_context *ctx, struct text *out)
{
	(void)ctx;
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		text_printf(out, "%-12s %s\n", commands[i].words, commands[i].help);
	text_printf(out, "%-12s %s\n", "A; B", "several commands in one line, their answers in this order");
}

static void add_number(struct text *out, const char *name, uint64_t value)
{
	text_printf(out, "%s: %llu\n", name, (unsigned long long)value);
}

/* The sum over all workers; gauges of one worker never go below 0, and neither do their sums. */
static uint64_t counter_sum(const struct engine *e, const struct counter_row *row)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < e->worker_count; i++) {
		const char *base = (const char *)engine_counters(e, i);

		sum += counter_get((const _Atomic uint64_t *)(const void *)(base + row->offset));
	}
	return sum;
}

/* The counters whose names begin with `prefix`. */
static void add_counters(const struct engine *e, const char *prefix, struct text *out)
{
	for (size_t i = 0; i < ARRAY_LEN(counter_rows); i++)
		if (strncmp(counter_rows[i].name, prefix, strlen(prefix)) == 0)
			add_number(out, counter_rows[i].name, counter_sum(e, &counter_rows[i]));
}

static void add_frontends(const struct engine *e, struct text *out)
{
	for (size_t i = 0; i < e->config->frontend_count; i++) {
		struct frontend *f = &e->frontends[i];

		text_printf(out, "frontend.%s.sessions: %d\n", f->config->name,
			    atomic_load_explicit(&f->sessions, memory_order_relaxed));
		text_printf(out, "frontend.%s.total: %llu\n", f->config->name,
			    (unsigned long long)counter_get(&f->total));
		text_printf(out, "frontend.%s.maxconn: %u\n", f->config->name, f->limit);
	}
}

static void add_server(const struct backend *b, struct server *s, struct text *out)
{
	const struct addr *a = atomic_load_explicit(&s->addr, memory_order_acquire);
	bool up = atomic_load_explicit(&s->state, memory_order_acquire) == SERVER_UP;
	char address[ADDR_TEXT_MAX] = "-";

	if (a != NULL)
		(void)addr_format(a, address);
	text_printf(out, "server.%s/%s: %s sessions=%d total=%llu failures=%llu address=%s\n",
		    b->config->name, s->config->name, up ? "up" : "unresolved",
		    atomic_load_explicit(&s->sessions, memory_order_relaxed),
		    (unsigned long long)counter_get(&s->total), (unsigned long long)counter_get(&s->failures),
		    address);
}

static void add_servers(const struct engine *e, struct text *out)
{
	for (size_t i = 0; i < e->config->backend_count; i++)
		for (size_t j = 0; j < e->backends[i].server_count; j++)
			add_server(&e->backends[i], &e->backends[i].servers[j], out);
}

static void add_listeners(const struct engine *e, struct text *out)
{
	char address[ADDR_TEXT_MAX];
	char label[ENDPOINT_LABEL_MAX];

	for (size_t i = 0; i < e->endpoint_count; i++) {
		const struct endpoint *ep = &e->endpoints[i];

		text_printf(out, "listen.%s.%s: %s\n", ep->frontend->config->name, endpoint_label(ep, label),
			    addr_format(&ep->addr, address));
	}
}

static void show_info(const struct admin_context *ctx, struct text *out)
{
	const struct engine *e = ctx->engine;

	text_printf(out, "version: %s\n", SLUICE_VERSION);
	text_printf(out, "pid: %d\n", (int)getpid());
	add_number(out, "uptime_s", (uint64_t)((clock_mono_ns() - ctx->started_ns) / NS_PER_SEC));
	text_printf(out, "state: %s\n", ctx->state);
	add_number(out, "workers", e->worker_count);
	add_number(out, "maxconn", e->limits.maxconn);
	add_number(out, "maxpipes", e->limits.maxpipes);
	add_number(out, "pipe_bytes", e->limits.pipe_bytes);
	text_printf(out, "driver: %s\n", ctx->driver);
	add_counters(e, "", out);
	add_number(out, "log_dropped", logwriter_dropped(ctx->logwriter));
	add_frontends(e, out);
	add_servers(e, out);
	add_listeners(e, out);
}

static void show_pools(const struct admin_context *ctx, struct text *out)
{
	struct engine *e = ctx->engine;

	add_number(out, "pipes_made", atomic_load_explicit(&e->pipes.made, memory_order_relaxed));
	add_number(out, "pipes_max", e->pipes.max);
	add_number(out, "pipes_resting_pool", pipe_pool_resting(&e->pipes));
	add_number(out, "pipes_created", counter_get(&e->pipes.created));
	add_number(out, "pipes_closed", counter_get(&e->pipes.closed));
	add_number(out, "pipes_too_small", counter_get(&e->pipes.too_small));
	add_number(out, "pipes_refused", counter_get(&e->pipes.refused));
	add_number(out, "pipes_bytes", counter_get(&e->pipes.bytes));
	add_number(out, "bufs_bytes", counter_get(&e->bufs.bytes));
	add_number(out, "bufs_resting_pool_bytes", buf_pool_resting(&e->bufs));
	add_number(out, "bufs_created", counter_get(&e->bufs.created));
	add_number(out, "bufs_freed", counter_get(&e->bufs.freed));
	add_number(out, "bufs_refused", counter_get(&e->bufs.refused));
	add_counters(e, "pipes_", out);
	add_counters(e, "bufs_", out);
}

/* Copies with each run of white space as one blank, none at either end; false when it is too long
 * to be a command. */
static bool normalise(const char *in, char out[static COMMAND_MAX])
{
	size_t len = 0;

	while (*in != '\0') {
		in += strspn(in, " \t\r\n");
		for (size_t word = strcspn(in, " \t\r\n"); word > 0; word--) {
			if (len == COMMAND_MAX - 2)
				return false;
			out[len++] = *in++;
		}
		if (len > 0 && *in != '\0')
			out[len++] = ' ';
	}
	while (len > 0 && out[len - 1] == ' ')
		len--;
	out[len] = '\0';
	return true;
}

enum admin_verdict admin_command(const struct admin_context *ctx, const char *command, struct text *out)
{
	char words[COMMAND_MAX];
	char escaped[4 * COMMAND_MAX];

	if (!normalise(command, words)) {
		text_printf(out, "error: the command is too long; try help\n");
		return ADMIN_ANSWERED;
	}
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		if (strcmp(words, commands[i].words) != 0)
			continue;
		if (commands[i].run == NULL)
			return ADMIN_ASK;
		commands[i].run(ctx, out);
		return ADMIN_ANSWERED;
	}
	log_escape(words, strlen(words), escaped, sizeof(escaped));
	text_printf(out, "error: unknown command '%s'; try help\n", escaped);
	return ADMIN_ANSWERED;
}

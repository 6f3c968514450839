/* SPDX-License-Identifier: MIT
 *
 * admin_info.c - `show info` and `show pools`: the daemon in lines of "name: value".
 *
 * HAProxy's names come first, in HAProxy's order: programs that read them split each line at its colon, some
 * until they have found Uptime_sec, and fail at a second colon. Our own names follow; a new counter in
 * counters.tbl.h is added automatically. The keys are an interface. Main thread.
 */
#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "weir/admin/admin_answers.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/engine/pulse.h"
#include "weir/entry/endpoint_label.h"
#include "info_keys.h"

#define FIGURES_MAX 96

const char *daemon_state_word(enum daemon_state state)
{
	static const char *const words[] = {
		[DAEMON_STARTING] = "starting",
		[DAEMON_READY] = "ready",
		[DAEMON_LEAVING] = "leaving",
		[DAEMON_DRAINING] = "draining",
		[DAEMON_STOPPING] = "stopping",
	};

	return words[state];
}

static void add_number(struct text *out, const char *name, uint64_t value)
{
	text_printf(out, "%s: %llu\n", name, (unsigned long long)value);
}

/* The counters whose names begin with `prefix`. */
static void add_counters(const struct engine *e, const char *prefix, struct text *out)
{
	const struct counter_row *row;

	for (size_t i = 0; (row = counter_row(i)) != NULL; i++)
		if (strncmp(row->name, prefix, strlen(prefix)) == 0)
			add_number(out, row->name, engine_sum_at(e, row->offset));
}

static void add_frontends(const struct engine *e, struct text *out)
{
	entries_foreach_frontend(&e->entries, f) {
		text_printf(out, "frontend.%s.sessions: %d\n", f->config->name,
			    atomic_load_explicit(&f->sessions, memory_order_relaxed));
		text_printf(out, "frontend.%s.total: %llu\n", f->config->name,
			    (unsigned long long)counter_get(&f->total));
		text_printf(out, "frontend.%s.maxconn: %u\n", f->config->name,
			    atomic_load_explicit(&f->limit, memory_order_relaxed));
	}
}

static void add_server_line(const struct backend *b, struct server *s, struct text *out)
{
	const struct addr *a = server_addr(s);
	const enum server_state state =
		(enum server_state)atomic_load_explicit(&s->state, memory_order_acquire);
	char address[ADDR_TEXT_MAX] = "-";

	if (a != NULL)
		(void)addr_format(a, address);
	text_printf(out, "server.%s/%s: %s sessions=%d total=%llu failures=%llu address=%s\n",
		    b->config->name, s->config->name, server_state_word(state),
		    atomic_load_explicit(&s->sessions, memory_order_relaxed),
		    (unsigned long long)counter_get(&s->total), (unsigned long long)counter_get(&s->failures),
		    address);
}

static void add_servers(const struct engine *e, struct text *out)
{
	for (size_t i = 0; i < e->backend_count; i++)
		for (size_t j = 0; j < e->backends[i]->server_count; j++)
			add_server_line(e->backends[i], e->backends[i]->servers[j], out);
}

/* Not those that are being left. */
static void add_listeners(const struct engine *e, struct text *out)
{
	char address[ADDR_TEXT_MAX];
	char label[ENDPOINT_LABEL_MAX];

	entries_foreach_frontend(&e->entries, fe) {
		frontend_foreach_endpoint(fe, ep) {
			if (ep->stage == ENDPOINT_OPEN && endpoint_begins_line(ep))
				text_printf(out, "listen.%s.%s: %s\n", fe->config->name,
					    endpoint_label(ep, label), endpoint_line_address(ep, address));
		}
	}
}

/* What other modules publish, fetched once. */
struct figures {
	const struct figure *rows[FIGURES_MAX];
	uint64_t values[FIGURES_MAX];
	size_t count;
};

static void keep_figure(void *to, const struct figure *row, uint64_t value)
{
	struct figures *f = to;

	check(f->count < FIGURES_MAX);
	f->rows[f->count] = row;
	f->values[f->count++] = value;
}

static void collect_figures(const struct admin_context *ctx, struct figures *f)
{
	f->count = 0;
	for (size_t i = 0; i < ctx->figure_count; i++)
		ctx->figures[i].publish(ctx->figures[i].from, keep_figure, f);
}

/* 0 if nobody publishes it. */
static uint64_t figure_named(const struct figures *f, const char *name)
{
	for (size_t i = 0; i < f->count; i++)
		if (strcmp(f->rows[i]->name, name) == 0)
			return f->values[i];
	return 0;
}

static void add_figures(const struct figures *f, struct text *out)
{
	for (size_t i = 0; i < f->count; i++)
		add_number(out, f->rows[i]->name, f->values[i]);
}

static void add_admin_totals(const struct admin_context *ctx, struct text *out)
{
	if (ctx->totals == NULL)
		return;
	add_number(out, "admin_refused", ctx->totals->refused);
	add_number(out, "admin_evicted", ctx->totals->evicted);
	add_number(out, "admin_busy", ctx->totals->busy);
}

/* Of all clients, by the reason that their log line gives. */
static void add_closes(const struct engine *e, struct text *out)
{
	for (int i = 0; i < CLOSE_REASONS; i++) {
		text_printf(out, "closes.");
		for (const char *c = close_reason_row((enum close_reason)i)->name; *c != '\0'; c++)
			text_printf(out, "%c", tolower((unsigned char)*c));
		text_printf(out, ": %llu\n", (unsigned long long)engine_closes(e, (enum close_reason)i));
	}
}

/* HAProxy's keys and ours. */
static void show_lines(const struct admin_context *ctx, struct text *out)
{
	const int64_t uptime_s = (clock_mono_ns() - ctx->started_ns) / NS_PER_SEC;
	const struct engine *e = ctx->engine;
	struct figures figures;

	collect_figures(ctx, &figures);
	info_keys_show(ctx, figure_named(&figures, "log_dropped"), INFO_LINES, out);
	text_printf(out, "version: %s\n", WEIR_VERSION);
	text_printf(out, "pid: %d\n", (int)getpid());
	text_printf(out, "control_socket: %s\n", ctx->control_socket != NULL ? ctx->control_socket : "-");
	add_number(out, "uptime_s", (uint64_t)uptime_s);
	text_printf(out, "state: %s\n", daemon_state_word(ctx->state));
	text_printf(out, "config: %s\n",
		    ctx->config_note != NULL && ctx->config_note[0] != '\0' ? ctx->config_note : "files");
	add_number(out, "workers", e->worker_count);
	add_number(out, "maxconn", atomic_load_explicit(&e->settings.maxconn, memory_order_relaxed));
	add_number(out, "maxpipes", e->limits.maxpipes);
	add_number(out, "pipe_bytes", e->limits.pipe_bytes);
	text_printf(out, "driver: %s\n", ctx->driver);
	if (ctx->driver_reason != NULL && ctx->driver_reason[0] != '\0')
		text_printf(out, "driver_reason: io_uring: %s\n", ctx->driver_reason);
	add_counters(e, "", out);
	add_figures(&figures, out);
	add_admin_totals(ctx, out);
	add_closes(e, out);
	add_frontends(e, out);
	add_servers(e, out);
	add_listeners(e, out);
}

/* All lines as one object. */
static void show_object(const struct admin_call *c)
{
	struct text lines;

	text_init(&lines);
	show_lines(c->ctx, &lines);
	if (lines.failed)
		c->out->failed = true;
	else
		admin_json_of_lines(lines.bytes, c->json);
	text_free(&lines);
}

void admin_show_info(const struct admin_call *c)
{
	const bool typed = c->arg_count > 0 && strcmp(c->args[0], "typed") == 0;
	struct figures figures;

	if (c->ours && c->arg_count > 0 && !typed) {
		c->question->malformed = true;
	} else if (c->json != NULL && c->ours) {
		show_object(c);
	} else if (c->json != NULL || typed) {
		collect_figures(c->ctx, &figures);
		info_keys_show(c->ctx, figure_named(&figures, "log_dropped"),
			       typed ? INFO_TYPED : INFO_FIELDS, c->out);
	} else {
		show_lines(c->ctx, c->out);
	}
}

void admin_show_pools(const struct admin_call *c)
{
	struct engine *e = c->ctx->engine;
	struct text *out = c->out;

	add_number(out, "pipes_made", atomic_load_explicit(&e->pipes.made, memory_order_relaxed));
	add_number(out, "pipes_max", e->pipes.max);
	add_number(out, "pipes_resting_pool", pipe_pool_idle(&e->pipes));
	add_number(out, "pipes_created", counter_get(&e->pipes.created));
	add_number(out, "pipes_closed", counter_get(&e->pipes.closed));
	add_number(out, "pipes_too_small", counter_get(&e->pipes.too_small));
	add_number(out, "pipes_refused", counter_get(&e->pipes.refused));
	add_number(out, "pipes_bytes", counter_get(&e->pipes.bytes));
	add_number(out, "bufs_bytes", counter_get(&e->bufs.bytes));
	add_number(out, "bufs_resting_pool_bytes", buf_pool_idle(&e->bufs));
	add_number(out, "bufs_created", counter_get(&e->bufs.created));
	add_number(out, "bufs_freed", counter_get(&e->bufs.freed));
	add_number(out, "bufs_refused", counter_get(&e->bufs.refused));
	add_counters(e, "pipes_", out);
	add_counters(e, "bufs_", out);
}

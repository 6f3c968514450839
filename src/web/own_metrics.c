/* SPDX-License-Identifier: MIT
 *
 * own_metrics.c - metrics with our own names, all from tables: one row there is one family here.
 *
 * Main thread.
 */
#include <stdio.h>
#include <string.h>

#include "weir/account/close_reason.h"
#include "weir/base/check.h"
#include "weir/base/counters.h"
#include "weir/engine/pulse.h"
#include "answer.h"
#include "metrics.h"
#include "objects.h"
#include "process.h"

/* ---- the process ---- */

static enum metric_type type_of(enum figure_kind kind)
{
	return kind == FIGURE_TOTAL ? METRIC_COUNTER : METRIC_GAUGE;
}

static void put_process(struct metrics *m, const struct web_context *ctx)
{
	const struct process_row *row;

	for (size_t i = 0; (row = process_row(i)) != NULL; i++) {
		metrics_family(m, "weir_process_", row->name, row->type, row->help);
		metrics_sample(m);
		metrics_value(m, row->value(ctx));
	}
}

static void put_counters(struct metrics *m, const struct web_context *ctx)
{
	const struct counter_row *row;

	for (size_t i = 0; (row = counter_row(i)) != NULL; i++) {
		metrics_family(m, "weir_process_", row->name, type_of(row->kind), row->help);
		metrics_sample(m);
		metrics_value(m, engine_sum_at(ctx->engine, row->offset));
	}
}

static void put_figure(void *to, const struct figure *row, uint64_t value)
{
	struct metrics *m = to;

	/* A generation only grows, but it is a number, not a count. */
	metrics_family(m, "weir_process_", row->name,
		       strcmp(row->name, "generation") == 0 ? METRIC_GAUGE : type_of(row->kind), row->help);
	metrics_sample(m);
	metrics_value(m, value);
}

static void put_build(struct metrics *m, const struct web_context *ctx)
{
	metrics_family(m, "weir_", "build_info", METRIC_INFO, "version and driver");
	metrics_sample(m);
	metrics_label(m, "version", WEIR_VERSION);
	metrics_label(m, "driver", ctx->driver);
	metrics_value(m, 1);
}

static void put_all_closes(struct metrics *m, const struct web_context *ctx)
{
	char word[REASON_WORD_MAX];

	metrics_family(m, "weir_process_", "closes", METRIC_COUNTER, "clients that left, by reason");
	for (int i = 0; i < CLOSE_REASONS; i++) {
		metrics_sample(m);
		metrics_label(m, "reason", object_reason(i, word));
		metrics_value(m, engine_closes(ctx->engine, (enum close_reason)i));
	}
}

static void put_global(struct metrics *m, const struct web_context *ctx)
{
	put_build(m, ctx);
	put_process(m, ctx);
	put_counters(m, ctx);
	put_all_closes(m, ctx);
	for (size_t i = 0; i < ctx->figure_count; i++)
		ctx->figures[i].publish(ctx->figures[i].from, put_figure, m);
}

static void put_workers(struct metrics *m, const struct web_context *ctx)
{
	const struct engine *e = ctx->engine;
	const struct counter_row *row;
	char number[16];

	for (size_t i = 0; (row = counter_row(i)) != NULL; i++) {
		metrics_family(m, "weir_worker_", row->name, type_of(row->kind), row->help);
		for (unsigned w = 0; w < e->worker_count; w++) {
			const char *base = (const char *)engine_counters(e, w);

			(void)snprintf(number, sizeof(number), "%u", w); /* it fits */
			metrics_sample(m);
			metrics_label(m, "worker", number);
			metrics_value(m, counter_get((const _Atomic uint64_t *)(const void *)(base +
											      row->offset)));
		}
	}
}

/* What is also a counter has been written as one. */
static bool is_counter(const char *name)
{
	const struct counter_row *row;

	for (size_t i = 0; (row = counter_row(i)) != NULL; i++)
		if (strcmp(row->name, name) == 0)
			return true;
	return false;
}

static void put_pulses(struct metrics *m, const struct web_context *ctx)
{
	const struct pulse_row *row;
	struct worker_pulse pulse;
	char number[16];

	for (size_t i = 0; (row = pulse_row(i)) != NULL; i++) {
		if (is_counter(row->name))
			continue;
		metrics_family(m, "weir_worker_", row->name, type_of(row->kind), row->help);
		for (unsigned w = 0; w < ctx->engine->worker_count; w++) {
			engine_pulse(ctx->engine, w, &pulse);
			(void)snprintf(number, sizeof(number), "%u", w); /* it fits */
			metrics_sample(m);
			metrics_label(m, "worker", number);
			metrics_value(m, pulse_at(&pulse, row->offset));
		}
	}
}

/* ---- frontends, backends, servers ---- */

/* A family being written: of a tally, or of a row. */
struct family {
	struct metrics *m;
	const struct tally_row *tally;
	const struct object_row *row;
};

static void put_object(void *arg, const struct object *o)
{
	const struct family *f = arg;

	metrics_sample(f->m);
	objects_put_labels(f->m, o);
	metrics_value(f->m, f->tally != NULL ? object_tally(o, f->tally) : f->row->value(o));
}

static const char *prefix_of(enum wish_scope scope)
{
	return scope == SCOPE_FRONTEND  ? "weir_frontend_"
	       : scope == SCOPE_BACKEND ? "weir_backend_"
					: "weir_server_";
}

/* Only reasons that there were: most objects never see most of them. */
static void put_closes(void *arg, const struct object *o)
{
	struct metrics *m = arg;
	char word[REASON_WORD_MAX];

	for (int i = 0; i < CLOSE_REASONS; i++) {
		if (o->sum->closes[i] == 0)
			continue;
		metrics_sample(m);
		objects_put_labels(m, o);
		metrics_label(m, "reason", object_reason(i, word));
		metrics_value(m, o->sum->closes[i]);
	}
}

static void put_scope(struct metrics *m, const struct objects *all, enum wish_scope scope)
{
	struct family f = {.m = m};

	for (size_t i = 0; (f.tally = tally_row(i)) != NULL; i++) {
		if (!object_has_tally(scope, f.tally))
			continue;
		metrics_family(m, prefix_of(scope), f.tally->metric,
			       f.tally->kind == TALLY_KIND_TOTAL ? METRIC_COUNTER : METRIC_GAUGE,
			       f.tally->help);
		metrics_unit(m, f.tally->unit);
		objects_foreach(all, scope, put_object, &f);
	}
	for (size_t i = 0; (f.row = object_row(scope, i)) != NULL; i++) {
		metrics_family(m, prefix_of(scope), f.row->name, f.row->type, f.row->help);
		objects_foreach(all, scope, put_object, &f);
	}
	answer_histograms(m, all, scope, prefix_of(scope));
	if (scope == SCOPE_SERVER)
		return;
	metrics_family(m, prefix_of(scope), "closes", METRIC_COUNTER, "sessions that ended, by reason");
	objects_foreach(all, scope, put_closes, m);
}

static void put_server_states(void *arg, const struct object *o)
{
	struct metrics *m = arg;
	static const char *const words[] = {
#define SERVER_STATE(name, text, word) word,
#include "weir/balance/server_states.tbl.h"
#undef SERVER_STATE
	};

	for (size_t state = 0; state < ARRAY_LEN(words); state++) {
		uint64_t n = 0;

		for (size_t i = 0; i < o->b->server_count; i++)
			n += (size_t)atomic_load_explicit(&o->b->servers[i]->state, memory_order_acquire) ==
			     state;
		metrics_sample(m);
		metrics_label(m, "backend", o->b->config->name);
		metrics_label(m, "state", words[state]);
		metrics_value(m, n);
	}
}

void answer_metrics(const struct web_context *ctx, const struct wish *w, const struct chunks *sums,
		    struct text *out)
{
	static const enum wish_scope scopes[] = {SCOPE_FRONTEND, SCOPE_BACKEND, SCOPE_SERVER};
	struct objects all;
	struct metrics m;

	objects_init(&all, ctx, sums);
	all.no_maint = w->no_maint;
	metrics_init(&m, out, w->openmetrics);
	if ((w->scope & SCOPE_GLOBAL) != 0)
		put_global(&m, ctx);
	if ((w->scope & SCOPE_WORKER) != 0) {
		put_workers(&m, ctx);
		put_pulses(&m, ctx);
	}
	for (size_t i = 0; i < ARRAY_LEN(scopes); i++)
		if ((w->scope & scopes[i]) != 0)
			put_scope(&m, &all, scopes[i]);
	if ((w->scope & SCOPE_BACKEND) != 0) {
		metrics_family(&m, "weir_backend_", "servers", METRIC_GAUGE, "its servers by state");
		objects_foreach(&all, SCOPE_BACKEND, put_server_states, &m);
	}
	metrics_end(&m);
}

/* SPDX-License-Identifier: MIT
 *
 * objects.c - frontends, backends and servers with their numbers, for metrics and JSON alike.
 *
 * Only reads. Main thread.
 */
#include "objects.h"

#include <ctype.h>
#include <sched.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/stats/backend_sum.h"

#define OBJECTS_AT_ONCE 64 /* some 30 us */

/* ---- values of the table ---- */

bool object_is_accepting(const struct object *o)
{
	return !o->stopping && o->fe->admin == FRONTEND_ADMIN_READY && !o->fe->is_away;
}

static uint64_t object_count_endpoints(const struct object *o)
{
	uint64_t n = 0;

	frontend_foreach_endpoint(o->fe, ep)
		n += ep->stage == ENDPOINT_OPEN;
	return n;
}

/* What its servers add up to. */
static struct backend_sum sum_of_servers(const struct object *o)
{
	struct backend_sum sum;

	backend_sum_up(o->engine, o->b, o->sums, &sum);
	return sum;
}

enum server_state object_state(const struct object *o)
{
	return (enum server_state)atomic_load_explicit(&o->s->state, memory_order_acquire);
}

static uint64_t object_check_failures(const struct object *o)
{
	return o->s->probe != NULL ? o->s->probe->failures : 0;
}

/* With those of health checks that it had before. */
static uint64_t object_check_downs(const struct object *o)
{
	return o->s->probe_downs + (o->s->probe != NULL ? o->s->probe->downs : 0);
}

uint64_t object_down_ns(const struct object *o)
{
	const enum server_state state = object_state(o);
	const bool down = state == SERVER_DOWN || state == SERVER_UNRESOLVED || state == SERVER_MAINT;
	int64_t ns = o->s->down_ns;

	if (down)
		ns += o->now_ns - (o->s->changed_ns != 0 ? o->s->changed_ns : o->started_ns);
	return ns > 0 ? (uint64_t)ns : 0;
}

/* The Unix time of a moment on the monotonic clock; 0 stays 0. */
static uint64_t object_wall_ns(const struct object *o, uint64_t mono_ns)
{
	if (mono_ns == 0)
		return 0;
	return (uint64_t)(o->wall_ns - (o->now_ns - (int64_t)mono_ns));
}

/* ---- the table ---- */

#define FRONTEND(name, type, help, value)                                                                    \
	static uint64_t frontend_##name(const struct object *o)                                              \
	{                                                                                                    \
		return (uint64_t)(value);                                                                    \
	}
#define BACKEND(name, type, help, value)                                                                     \
	static uint64_t backend_##name(const struct object *o)                                               \
	{                                                                                                    \
		return (uint64_t)(value);                                                                    \
	}
#define SERVER(name, type, help, value)                                                                      \
	static uint64_t server_##name(const struct object *o)                                                \
	{                                                                                                    \
		return (uint64_t)(value);                                                                    \
	}
#include "objects.tbl.h"

static const struct object_row frontend_rows[] = {
#define FRONTEND(name, type, help, value) {#name, METRIC_##type, help, frontend_##name},
#include "objects.tbl.h"
};

static const struct object_row backend_rows[] = {
#define BACKEND(name, type, help, value) {#name, METRIC_##type, help, backend_##name},
#include "objects.tbl.h"
};

static const struct object_row server_rows[] = {
#define SERVER(name, type, help, value) {#name, METRIC_##type, help, server_##name},
#include "objects.tbl.h"
};

const struct object_row *object_row(enum wish_scope scope, size_t i)
{
	switch (scope) {
	case SCOPE_FRONTEND:
		return i < ARRAY_LEN(frontend_rows) ? &frontend_rows[i] : NULL;
	case SCOPE_BACKEND:
		return i < ARRAY_LEN(backend_rows) ? &backend_rows[i] : NULL;
	case SCOPE_SERVER:
		return i < ARRAY_LEN(server_rows) ? &server_rows[i] : NULL;
	default:
		return NULL;
	}
}

/* Tries are counted for servers alone. */
static bool counts_tries(const struct tally_row *row)
{
	return row->offset == offsetof(struct tally_sum, retries) ||
	       row->offset == offsetof(struct tally_sum, redispatches);
}

bool object_has_tally(enum wish_scope scope, const struct tally_row *row)
{
	if (scope == SCOPE_FRONTEND && counts_tries(row))
		return false;
	return row->offset != offsetof(struct tally_sum, last_ns);
}

static uint64_t backend_tally(const struct object *o, const struct tally_row *row)
{
	struct backend_sum sum;

	if (row->offset == offsetof(struct tally_sum, sessions_max))
		return sum_of_servers(o).sessions_max;
	if (!counts_tries(row))
		return tally_at(o->sum, row->offset);
	sum = sum_of_servers(o);
	return tally_at(&sum.tally, row->offset);
}

uint64_t object_tally(const struct object *o, const struct tally_row *row)
{
	if (o->scope == SCOPE_BACKEND)
		return backend_tally(o, row);
	if (o->scope == SCOPE_SERVER && row->offset == offsetof(struct tally_sum, sessions))
		return object_count(&o->s->sessions);
	return tally_at(o->sum, row->offset);
}

const char *object_reason(int reason, char word[static REASON_WORD_MAX])
{
	const char *name = close_reason_row((enum close_reason)reason)->name;
	size_t n = 0;

	for (; name[n] != '\0'; n++) {
		check(n < REASON_WORD_MAX - 1);
		word[n] = (char)tolower((unsigned char)name[n]);
	}
	word[n] = '\0';
	return word;
}

void objects_put_labels(struct metrics *m, const struct object *o)
{
	if (o->scope == SCOPE_FRONTEND)
		metrics_label(m, "frontend", o->fe->config->name);
	else
		metrics_label(m, "backend", o->b->config->name);
	if (o->scope == SCOPE_SERVER)
		metrics_label(m, "server", o->s->config->name);
}

/* ---- the walk ---- */

void objects_init(struct objects *all, const struct web_context *ctx, const struct chunks *sums)
{
	*all = (struct objects){.ctx = ctx, .sums = sums};
	all->now_ns = clock_mono_ns();
	all->wall_ns = clock_wall_ns();
	all->stopping = ctx->sources.is_ending(ctx->sources.arg);
}

static struct object begin(const struct objects *all, enum wish_scope scope, uint32_t slot)
{
	return (struct object){.scope = scope,
			       .engine = all->ctx->engine,
			       .sums = all->sums,
			       .sum = chunks_at(all->sums, slot),
			       .stopping = all->stopping,
			       .started_ns = all->ctx->started_ns,
			       .now_ns = all->now_ns,
			       .wall_ns = all->wall_ns};
}

/* Text about thousands of servers takes milliseconds. A worker that wakes up on the same CPU would have to
 * wait until the scheduler takes it from control. */
static void let_workers_run(size_t *used)
{
	if (++*used % OBJECTS_AT_ONCE == 0)
		(void)sched_yield(); /* cannot fail on Linux */
}

static void use_servers(const struct objects *all, const struct backend *b, size_t *used,
			void (*use)(void *arg, const struct object *o), void *arg)
{
	for (size_t i = 0; i < b->server_count; i++) {
		struct object o = begin(all, SCOPE_SERVER, b->servers[i]->slot);

		o.b = b;
		o.s = b->servers[i];
		if (!all->no_maint || object_state(&o) != SERVER_MAINT)
			use(arg, &o);
		let_workers_run(used);
	}
}

void objects_foreach(const struct objects *all, enum wish_scope scope,
		     void (*use)(void *arg, const struct object *o), void *arg)
{
	const struct engine *e = all->ctx->engine;
	size_t used = 0;

	if (scope == SCOPE_FRONTEND) {
		entries_foreach_frontend(&e->entries, fe) {
			struct object o = begin(all, scope, fe->slot);

			o.fe = fe;
			use(arg, &o);
			let_workers_run(&used);
		}
		return;
	}
	for (size_t i = 0; i < e->backend_count; i++) {
		if (scope == SCOPE_SERVER) {
			use_servers(all, e->backends[i], &used, use, arg);
		} else {
			struct object o = begin(all, scope, e->backends[i]->slot);

			o.b = e->backends[i];
			use(arg, &o);
			let_workers_run(&used);
		}
	}
}

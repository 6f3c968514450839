/* SPDX-License-Identifier: MIT
 *
 * page_show.c - the page of a running daemon: what page.h renders, read from the engine.
 *
 * Each row is made when it is rendered, in memory that the next one uses again. Main thread.
 */
#include "page_show.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "weir/balance/change_log.h"
#include "weir/balance/fallback.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/engine/engine.h"
#include "weir/engine/pulse.h"
#include "weir/entry/endpoint_label.h"
#include "weir/stats/backend_sum.h"
#include "weir/stats/port_use.h"
#include "page.h"
#include "page_server.h"
#include "process.h"

#define ADDRESSES_MAX (ADDR_TEXT_MAX + 256)

/* A row with the text that it borrows. */
struct made_row {
	struct page_row row;
	char address[ADDRESSES_MAX];
	char check[192];
	char reason[128];
};

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static const struct tally_sum *sum_at(const struct objects *all, uint32_t slot)
{
	return chunks_at(all->sums, slot);
}

static void begin_row(struct made_row *m, enum page_kind kind, const char *name)
{
	m->row = (struct page_row){.kind = kind, .name = name, .since_s = -1};
	m->row.address = m->address;
	m->row.check = m->check;
	m->row.reason = m->reason;
	m->address[0] = m->check[0] = m->reason[0] = '\0';
	for (size_t i = 0; i < PAGE_COLUMNS; i++)
		m->row.values[i] = PAGE_NO_VALUE;
}

/* What frontends, backends and servers all have. */
static void take_tally(struct made_row *m, const struct tally_sum *sum, uint64_t sessions)
{
	uint64_t *values = m->row.values;

	values[PAGE_sessions] = sessions;
	values[PAGE_sessions_max] = larger(sum->sessions_max, sessions);
	values[PAGE_rate] = sum->rate;
	values[PAGE_bytes_to_server] = sum->bytes_to_server;
	values[PAGE_bytes_to_client] = sum->bytes_to_client;
	values[PAGE_internal_errors] = sum->internal_errors;
	if (sum->bytes_to_server > 0 || sum->bytes_to_client > 0)
		values[PAGE_spliced] = page_spliced_percent(sum->bytes_spliced, sum->bytes_to_server,
							    sum->bytes_to_client);
}

/* What backends and servers have. */
static void take_times(struct made_row *m, const struct tally_sum *sum)
{
	uint64_t *values = m->row.values;

	values[PAGE_client_aborts] = sum->client_aborts;
	values[PAGE_server_aborts] = sum->server_aborts;
	if (sum->samples == 0)
		return;
	values[PAGE_queue_us] = tally_average_us(sum, TALLY_QUEUE);
	values[PAGE_connect_us] = tally_average_us(sum, TALLY_CONNECT);
	values[PAGE_session_us] = tally_average_us(sum, TALLY_TOTAL);
}

static void take_queue(struct made_row *m, const atomic_int *now, const atomic_int *max)
{
	m->row.values[PAGE_queued] = object_count(now);
	m->row.values[PAGE_queued_max] = larger(object_count(max), m->row.values[PAGE_queued]);
}

/* ---- frontends ---- */

static void take_addresses(struct made_row *m, const struct frontend *fe)
{
	char address[ADDR_TEXT_MAX];
	struct text all;

	text_over(&all, m->address, sizeof(m->address));
	frontend_foreach_endpoint(fe, ep) {
		if (ep->stage == ENDPOINT_OPEN && endpoint_begins_line(ep))
			text_printf(&all, "%s%s", all.len > 0 ? ", " : "",
				    endpoint_line_address(ep, address));
	}
}

static void set_state(struct made_row *m, const char *state, enum page_tone tone, const char *reason)
{
	m->row.state = state;
	m->row.tone = tone;
	(void)snprintf(m->reason, sizeof(m->reason), "%s", reason); /* a literal of ours, which fits */
}

/* `changed_ns`: 0 = never since the start. */
static int64_t since_s(const struct objects *all, int64_t changed_ns)
{
	return (all->now_ns - (changed_ns != 0 ? changed_ns : all->ctx->started_ns)) / NS_PER_SEC;
}

/* True if its default backend has no usable server; routes may still lead to others. */
static bool take_lost_backend(const struct objects *all, struct made_row *m, const struct frontend *fe)
{
	const struct backend *b = fe->settings->backend;

	if (b == NULL || b->usable > 0 || fe->config->routes_only)
		return false;
	m->row.since_s = since_s(all, b->changed_ns);
	m->row.is_echo = true;
	if (backend_serving(b) != b && backend_roster(backend_serving(b))->count > 0) {
		set_state(m, "FALLBACK", PAGE_WARN, "");
		(void)snprintf(m->reason, sizeof(m->reason), "its clients go to the fallback, backend %s",
			       backend_serving(b)->config->name); /* it fits */
		return true;
	}
	set_state(m, "NO SERVER", fe->config->route_count > 0 ? PAGE_WARN : PAGE_BAD, "");
	(void)snprintf(m->reason, sizeof(m->reason), "backend %s has no usable server",
		       b->config->name); /* it fits */
	return true;
}

/* When it became full, or the daemon began to stop, is not known. */
static void take_frontend_state(const struct objects *all, struct made_row *m, const struct frontend *fe)
{
	const bool full = m->row.values[PAGE_sessions] >= frontend_limit(fe);

	if (!full && !all->stopping)
		m->row.since_s = since_s(all, fe->changed_ns);
	if (all->stopping)
		set_state(m, "STOP", PAGE_OFF, "the daemon takes no new clients");
	else if (fe->admin == FRONTEND_ADMIN_SHUT)
		set_state(m, "STOP", PAGE_OFF, "shut down by the administrator");
	else if (fe->admin == FRONTEND_ADMIN_DISABLED)
		set_state(m, "PAUSED", PAGE_OFF, "disabled by the administrator");
	else if (fe->is_shut) /* then it is away, too */
		set_state(m, "AWAY", PAGE_BAD, "a server is up, but an address cannot be opened again");
	else if (fe->is_away)
		set_state(m, "AWAY", PAGE_BAD, "no server is up, so its addresses are closed");
	else if (take_lost_backend(all, m, fe))
		return;
	else if (full)
		set_state(m, "FULL", PAGE_WARN, "maxconn is reached: new clients wait");
	else
		set_state(m, "OPEN", PAGE_GOOD, "");
}

static void make_frontend(const struct objects *all, const struct frontend *fe, struct made_row *m)
{
	const struct tally_sum *sum = sum_at(all, fe->slot);

	begin_row(m, PAGE_FRONTEND, fe->config->name);
	take_tally(m, sum, sum->sessions);
	m->row.values[PAGE_limit] = frontend_limit(fe);
	m->row.values[PAGE_total] = counter_get(&fe->total);
	m->row.values[PAGE_denied] = counter_get(&fe->denied);
	take_addresses(m, fe);
	take_frontend_state(all, m, fe);
}

/* ---- servers ---- */

/* The last change of its state; NULL if none is known. */
static const struct history_change *last_change(const struct history *h)
{
	for (size_t i = history_size(h); i-- > 0;)
		if (history_get(h, i)->what == CHANGE_STATE)
			return history_get(h, i);
	return NULL;
}

static void take_check(struct made_row *m, const struct probe_view *v)
{
	const unsigned full = v->rise + v->fall - 1; /* as in the log */
	struct text out;

	text_over(&out, m->check, sizeof(m->check));
	text_printf(&out, "%s", probe_code_word(v->code));
	if (v->detail[0] != '\0')
		text_printf(&out, ", %s", v->detail);
	if (v->duration_ms >= 0)
		text_printf(&out, ", %lld ms", (long long)v->duration_ms);
	if (v->health > 0 && v->health < full)
		text_printf(&out, ", health %u of %u", v->health, full);
	m->row.is_failing = v->health < full && probe_code_outcome(v->code) == PROBE_OUTCOME_FAILED;
}

static void add_agent(struct made_row *m, const struct agent_view *v)
{
	const size_t used = strlen(m->check);
	struct text out;

	text_over(&out, m->check + used, sizeof(m->check) - used);
	text_printf(&out, "%sagent %s%s%s", used > 0 ? "; " : "", probe_code_word(v->code),
		    v->detail[0] != '\0' ? ", " : "", v->detail);
}

static void take_server_state(const struct objects *all, struct made_row *m, const struct server *s)
{
	const int state = atomic_load_explicit(&s->state, memory_order_acquire);
	const struct history_change *change = last_change(&s->history);

	m->row.state = server_state_text((enum server_state)state);
	m->row.tone = page_server_tone((unsigned)state);
	m->row.since_s = since_s(all, s->changed_ns);
	if (change != NULL)
		m->row.reason = change->cause;
	if (s->checks_off)
		(void)snprintf(m->check, sizeof(m->check), "disabled"); /* it fits */
	else if (s->probe != NULL && state != SERVER_MAINT)
		take_check(m, s->probe);
	m->row.is_failing = m->row.is_failing && state == SERVER_UP;
	if (s->agent_view != NULL && !s->agent_off)
		add_agent(m, s->agent_view);
}

static void take_ports(const struct objects *all, struct made_row *m, const struct server *s)
{
	struct port_use use;

	if (all->ports > 0 && port_use_of_server(s, all->ports, &use))
		m->row.values[PAGE_ports_percent] = port_use_percent(&use);
}

static void make_server(const struct objects *all, const struct backend *b, const struct server *s,
			struct made_row *m)
{
	const struct tally_sum *sum = sum_at(all, s->slot);
	const unsigned limit = atomic_load_explicit(&s->limit, memory_order_relaxed);
	const struct addr *a = server_addr(s);
	const struct object o = {.s = s, .started_ns = all->ctx->started_ns, .now_ns = all->now_ns};
	uint64_t *values = m->row.values;

	begin_row(m, PAGE_SERVER, s->config->name);
	m->row.backend = b->config->name;
	take_tally(m, sum, object_count(&s->sessions));
	take_times(m, sum);
	take_queue(m, &s->queued, &s->queued_max);
	if (limit > 0)
		values[PAGE_limit] = limit;
	values[PAGE_total] = counter_get(&s->total);
	values[PAGE_failures] = counter_get(&s->failures) + sum->server_aborts;
	values[PAGE_retries] = sum->retries;
	values[PAGE_redispatches] = sum->redispatches;
	values[PAGE_weight] = server_weight_in_effect(s);
	values[PAGE_down_s] = object_down_ns(&o) / NS_PER_SEC;
	m->row.is_backup = s->config->backup;
	if (s->probe != NULL) {
		values[PAGE_probe_failures] = s->probe->failures;
		values[PAGE_probe_downs] = s->probe_downs + s->probe->downs;
	}
	if (s->config->maxqueue > 0)
		values[PAGE_queue_limit] = s->config->maxqueue;
	take_ports(all, m, s);
	if (a != NULL)
		(void)addr_format(a, m->address);
	take_server_state(all, m, s);
}

/* ---- backends ---- */

static void take_backend_state(struct made_row *m, const struct backend *b, const struct backend_sum *sum)
{
	const uint64_t usable = sum->active + sum->backup;

	m->row.state = server_state_text(usable > 0 ? SERVER_UP : SERVER_DOWN);
	m->row.tone = usable == 0 ? PAGE_BAD : usable < b->server_count ? PAGE_WARN : PAGE_GOOD;
	(void)snprintf(m->reason, sizeof(m->reason), "%llu of %zu servers usable", (unsigned long long)usable,
		       b->server_count); /* it fits */
}

static void make_backend(const struct objects *all, const struct backend *b, struct made_row *m)
{
	const struct tally_sum *own = sum_at(all, b->slot);
	uint64_t *values = m->row.values;
	struct backend_sum sum;

	backend_sum_up(all->ctx->engine, b, all->sums, &sum);
	begin_row(m, PAGE_BACKEND, b->config->name);
	take_tally(m, own, own->sessions);
	values[PAGE_sessions_max] = larger(values[PAGE_sessions_max], sum.sessions_max);
	take_times(m, own);
	take_queue(m, &b->queue.waiting_any, &b->queue.waiting_max);
	values[PAGE_total] = own->total;
	values[PAGE_failures] = sum.totals.failures + own->server_aborts;
	values[PAGE_retries] = sum.tally.retries;
	values[PAGE_redispatches] = sum.tally.redispatches;
	values[PAGE_probe_downs] = sum.totals.probe_downs;
	values[PAGE_weight] = sum.weight;
	if (b->config->maxqueue > 0)
		values[PAGE_queue_limit] = b->config->maxqueue;
	m->row.since_s = since_s(all, b->changed_ns);
	take_backend_state(m, b, &sum);
}

/* ---- the source of the page ---- */

static void report_rows(void *from, page_row_report *report, void *to)
{
	const struct objects *all = from;
	const struct engine *e = all->ctx->engine;
	struct made_row m;

	entries_foreach_frontend(&e->entries, fe) {
		make_frontend(all, fe, &m);
		report(to, &m.row);
	}
	for (size_t i = 0; i < e->backend_count; i++) {
		const struct backend *b = e->backends[i];

		make_backend(all, b, &m);
		report(to, &m.row);
		for (size_t j = 0; j < b->server_count; j++) {
			make_server(all, b, b->servers[j], &m);
			report(to, &m.row);
		}
	}
}

struct figure_receiver {
	page_figure_report *report;
	void *to;
};

static void pass_figure(void *to, const struct figure *row, uint64_t value)
{
	const struct figure_receiver *r = to;

	r->report(r->to, row->name, value, row->help);
}

static void report_figures(void *from, page_figure_report *report, void *to)
{
	const struct web_context *ctx = ((const struct objects *)from)->ctx;
	struct figure_receiver receiver = {.report = report, .to = to};
	const struct process_row *process;
	const struct counter_row *row;

	for (size_t i = 0; (process = process_row(i)) != NULL; i++)
		report(to, process->name, process->value(ctx), process->help);
	for (size_t i = 0; (row = counter_row(i)) != NULL; i++)
		report(to, row->name, engine_sum_at(ctx->engine, row->offset), row->help);
	for (size_t i = 0; i < ctx->figure_count; i++)
		ctx->figures[i].publish(ctx->figures[i].from, pass_figure, &receiver);
}

/* ---- the page ---- */

static const struct backend *find_backend(const struct engine *e, const char *name)
{
	for (size_t i = 0; i < e->backend_count; i++)
		if (strcmp(e->backends[i]->config->name, name) == 0)
			return e->backends[i];
	return NULL;
}

/* NULL if there is no such server; `b` may be NULL. */
static const struct server *find_server(const struct backend *b, const char *name)
{
	for (size_t i = 0; b != NULL && i < b->server_count; i++)
		if (strcmp(b->servers[i]->config->name, name) == 0)
			return b->servers[i];
	return NULL;
}

static uint64_t busy_ns(const struct engine *e)
{
	struct worker_pulse pulse;
	uint64_t ns = 0;

	for (unsigned i = 0; i < e->worker_count; i++) {
		engine_pulse(e, i, &pulse);
		ns += pulse.busy_ns;
	}
	return ns;
}

static void take_ends(const struct objects *all, struct page_ends *ends)
{
	const struct engine *e = all->ctx->engine;

	*ends = (struct page_ends){0};
	for (int i = 0; i < CLOSE_REASONS; i++) {
		ends->total[i] = engine_closes(e, (enum close_reason)i);
		ends->minute[i] = engine_closes_lately(e, (enum close_reason)i, all->now_ns);
	}
#define LIMIT(name, word) ends->slowed[LIMITED_##name] = engine_sum(e, limited_by_##word);
#include "weir/account/limits.tbl.h"
#undef LIMIT
	for (int i = 0; i < LIMITS; i++)
		ends->slowed_minute[i] = engine_limits_lately(e, (enum limited_by)i, all->now_ns);
}

static void take_facts(const struct objects *all, struct page_facts *facts)
{
	const struct web_context *ctx = all->ctx;
	const struct engine *e = ctx->engine;
	const char *why = ctx->sources.why_not_ready(ctx->sources.arg);

	*facts = (struct page_facts){
		.version = WEIR_VERSION,
		.state = why != NULL ? why : "ready",
		.is_ready = why == NULL,
		.pid = (int)getpid(),
		.workers = e->worker_count,
		.uptime_s = (all->now_ns - ctx->started_ns) / NS_PER_SEC,
		.wall_ns = all->wall_ns,
		.sessions = engine_sum(e, sessions),
		.maxconn = atomic_load_explicit(&e->settings.maxconn, memory_order_relaxed),
		.bytes_to_server = engine_sum(e, bytes_to_server),
		.bytes_to_client = engine_sum(e, bytes_to_client),
		.bytes_spliced = engine_sum(e, bytes_spliced),
		.busy_ns = busy_ns(e),
		.source = {report_rows, report_figures, (void *)(uintptr_t)all}, /* it only reads */
	};
}

bool page_show(const struct objects *all, const struct page_wish *wish, struct text *out)
{
	const struct backend *b = find_backend(all->ctx->engine, wish->backend);
	const struct server *s = find_server(b, wish->server);
	struct page_server details;
	struct tally_sum tally;
	struct page_facts facts;
	struct page_ends ends;
	char node[HOST_NAME_MAX + 1] = "";
	struct made_row m;

	take_facts(all, &facts);
	(void)gethostname(node, sizeof(node) - 1); /* if it fails, the name is not shown */
	take_ends(all, &ends);
	facts.node = node;
	facts.ends = &ends;
	facts.is_update = wish->is_update;
	if (s != NULL) {
		make_server(all, b, s, &m);
		tally = *sum_at(all, s->slot);
		tally.sessions = object_count(&s->sessions);
		details = (struct page_server){m.row, &tally, &s->history};
		facts.server = &details;
	} else if (page_wish_is_for_server(wish)) {
		facts.missing = wish->server;
	}
	page_render(&facts, out);
	return facts.missing == NULL;
}

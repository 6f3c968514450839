/* SPDX-License-Identifier: MIT
 *
 * admin_stat.c - `show stat`: frontends, servers and backends in HAProxy's columns.
 *
 * A column without a value in this version is empty, so that every column is where tools expect it. A
 * [listen] is one proxy with one number, as in HAProxy. Times are whole milliseconds, ages whole seconds.
 * Main thread.
 */
#include <stdio.h>
#include <string.h>

#include "weir/admin/admin_answers.h"
#include "weir/admin/stat_words.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/stats/stat_base.h"
#include "stat_counts.h"
#include "stat_table.h"

/* What the rows are made of. */
struct table {
	struct stat_table rows;
	const struct admin_context *ctx; /* borrows, as all below */
	const struct engine *e;
	const struct admin_question *q;
	const struct chunks *sums;
	int64_t now_ns;
	bool stopping;
};

static void put_number(struct table *t, enum stat_column column, uint64_t number)
{
	stat_put_number(&t->rows, column, number);
}

static void put_text(struct table *t, enum stat_column column, const char *text)
{
	stat_put_text(&t->rows, column, text);
}

/* ---- what was counted ---- */

/* HAProxy's clients are shown what was counted since the counters were cleared, if they were; with ours, no
 * count falls, and no maximum. */
static struct tally_sum tally_of(const struct table *t, uint32_t slot)
{
	struct tally_sum sum = *(const struct tally_sum *)chunks_at(t->sums, slot);

	if (t->ctx->bases != NULL && t->q->ours)
		tally_keep_maxima(&sum, &stat_base_at(t->ctx->bases, slot)->tally);
	else if (t->ctx->bases != NULL)
		tally_subtract(&sum, &stat_base_at(t->ctx->bases, slot)->tally);
	return sum;
}

static void clear_counts(const struct table *t, uint32_t slot, struct stat_counts *counts)
{
	if (t->ctx->bases != NULL && !t->q->ours)
		stat_counts_subtract(counts, &stat_base_at(t->ctx->bases, slot)->counts);
}

static uint64_t most_queued(const struct table *t, uint32_t slot, const atomic_int *max)
{
	const uint64_t most = stat_read_count(max);

	if (t->ctx->bases == NULL || !t->q->ours || most > stat_base_at(t->ctx->bases, slot)->queue_max)
		return most;
	return stat_base_at(t->ctx->bases, slot)->queue_max;
}

/* ---- filling a row ---- */

/* The columns that are one tally each, from tallies.tbl.h; other functions fill in the computed ones. */
static const struct {
	enum stat_column column;
	unsigned shown; /* enum tally_shown */
	size_t offset;
} tally_columns[] = {
#define TALLY(field, kind, unit, shown, column, metric, help)                                                \
	{STAT_##column, TALLY_SHOWN_##shown, offsetof(struct tally_sum, field)},
#include "weir/account/tallies.tbl.h"
#undef TALLY
};

/* The columns that frontends, backends and servers all derive from their tallies. */
static void put_tally(struct table *t, const struct tally_sum *sum)
{
	const unsigned type = stat_row_type(&t->rows);

	for (size_t i = 0; i < ARRAY_LEN(tally_columns); i++)
		if ((tally_columns[i].shown & type) != 0)
			put_number(t, tally_columns[i].column, tally_at(sum, tally_columns[i].offset));
	put_number(t, STAT_reqbin, sum->bytes_to_server);
	put_number(t, STAT_reqbout, sum->bytes_to_server);
	put_number(t, STAT_resbin, sum->bytes_to_client);
	put_number(t, STAT_resbout, sum->bytes_to_client);
	put_number(t, STAT_rate_max, sum->rate_max > sum->rate ? sum->rate_max : sum->rate);
}

/* A session that begins between two readings must not make the maximum smaller than the current count. */
static void put_sessions(struct table *t, uint64_t now, uint64_t max)
{
	put_number(t, STAT_scur, now);
	put_number(t, STAT_smax, max > now ? max : now);
}

static void put_times(struct table *t, const struct tally_sum *sum)
{
	static const struct {
		enum stat_column average;
		enum stat_column max;
	} columns[] = {
		[TALLY_QUEUE] = {STAT_qtime, STAT_qtime_max},
		[TALLY_CONNECT] = {STAT_ctime, STAT_ctime_max},
		[TALLY_TOTAL] = {STAT_ttime, STAT_ttime_max},
	};

	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		put_number(t, columns[i].average, tally_average_us(sum, (enum tally_time)i) / 1000);
		put_number(t, columns[i].max, sum->times_max_us[i] / 1000);
	}
	put_number(t, STAT_rtime, 0); /* HTTP only */
	put_number(t, STAT_rtime_max, 0);
	if (sum->last_ns == 0)
		put_number(t, STAT_lastsess, UINT64_MAX);
	else
		put_number(t, STAT_lastsess, (uint64_t)(t->now_ns - (int64_t)sum->last_ns) / NS_PER_SEC);
}

static void put_queue(struct table *t, const atomic_int *now, uint64_t most)
{
	const uint64_t waiting = stat_read_count(now);

	put_number(t, STAT_qcur, waiting);
	put_number(t, STAT_qmax, most > waiting ? most : waiting);
}

static const char *frontend_status(const struct table *t, const struct frontend *fe,
				   const struct tally_sum *sum)
{
	if (t->stopping || fe->admin == FRONTEND_ADMIN_SHUT)
		return STAT_STATUS_STOP;
	if (fe->admin == FRONTEND_ADMIN_DISABLED)
		return STAT_STATUS_PAUSED;
	return sum->sessions >= fe->limit ? STAT_STATUS_FULL : STAT_STATUS_OPEN;
}

static void add_frontend(struct table *t, struct frontend *fe)
{
	const struct tally_sum sum = tally_of(t, fe->slot);
	const uint64_t rate_max = sum.rate_max > sum.rate ? sum.rate_max : sum.rate;
	struct stat_counts counts = stat_counts_of_frontend(fe);

	clear_counts(t, fe->slot, &counts);
	stat_row_begin(&t->rows, fe->config->name, STAT_SVNAME_FRONTEND, TYPE_FRONTEND);
	put_sessions(t, sum.sessions, sum.sessions_max);
	put_number(t, STAT_slim, fe->limit);
	put_number(t, STAT_stot, counts.total);
	put_tally(t, &sum);
	put_number(t, STAT_dreq, 0);
	put_number(t, STAT_dresp, 0);
	put_number(t, STAT_ereq, 0);
	put_text(t, STAT_status, frontend_status(t, fe, &sum));
	put_number(t, STAT_rate_lim, fe->config->rate_limit);
	put_number(t, STAT_conn_rate, sum.rate);
	put_number(t, STAT_conn_rate_max, rate_max);
	put_number(t, STAT_conn_tot, counts.total);
	put_number(t, STAT_dcon, counts.denied);
	put_number(t, STAT_dses, 0);
	put_number(t, STAT_sess_other, counts.total); /* none is HTTP */
	stat_row_end(&t->rows, fe->iid, 0);
}

/* For backends and servers: the outcome of connection attempts. */
static void put_tries(struct table *t, uint64_t failures)
{
	put_number(t, STAT_econ, failures);
	put_number(t, STAT_eresp, 0);
	put_number(t, STAT_dresp, 0);
}

/* ---- servers ---- */

/* HAProxy's word for a state. "UP 1/3" goes down after one more failed check; "DOWN 1/2" needs one more good
 * check to come up. */
static const char *status_text(const struct server *s, enum server_state state, const struct probe_view *v,
			       char *buf, size_t room)
{
	const bool by_agent = (state == SERVER_DOWN && s->agent.down) ||
			      (state == SERVER_DRAIN && server_is_out_by_agent(s));
	const char *word = server_state_text(state);
	const bool up = state == SERVER_UP || state == SERVER_DRAIN || state == SERVER_NOLB;

	if (by_agent) {
		(void)snprintf(buf, room, "%s (agent)", word); /* it fits */
		return buf;
	}
	if (v == NULL)
		return state == SERVER_UP ? STAT_STATUS_NO_CHECK : word;
	if (up && v->health >= v->rise && v->health < v->rise + v->fall - 1)
		(void)snprintf(buf, room, "%s %u/%u", word, v->health - v->rise + 1, v->fall); /* it fits */
	else if (state == SERVER_DOWN && v->health > 0 && v->health < v->rise)
		(void)snprintf(buf, room, "%s %u/%u", word, v->health, v->rise); /* it fits */
	else
		return word;
	return buf;
}

static void put_probe(struct table *t, const struct probe_view *v, bool maint, char *code, size_t room)
{
	if (maint)
		return; /* not checked at present, so earlier results mean nothing */
	(void)snprintf(code, room, "%s%s", v->running ? "* " : "", probe_code_word(v->code)); /* short */
	put_text(t, STAT_check_status, code);
	if (v->status != 0)
		put_number(t, STAT_check_code, v->status);
	if (v->duration_ms >= 0)
		put_number(t, STAT_check_duration, (uint64_t)v->duration_ms);
	put_text(t, STAT_last_chk, v->detail);
	put_text(t, STAT_check_desc, probe_code_text(v->code));
	put_number(t, STAT_check_rise, v->rise);
	put_number(t, STAT_check_fall, v->fall);
	put_number(t, STAT_check_health, v->health);
}

/* HAProxy has no number for an answer, and still shows one. Rise and fall are 1. */
static void put_agent(struct table *t, const struct server *s, char *code, size_t room)
{
	const struct agent_view *v = s->agent_view;

	(void)snprintf(code, room, "%s%s", v->running ? "* " : "", probe_code_word(v->code)); /* short */
	put_text(t, STAT_agent_status, code);
	if (v->code == PROBE_L7OK || v->code == PROBE_L7STS)
		put_number(t, STAT_agent_code, 0);
	if (v->duration_ms >= 0)
		put_number(t, STAT_agent_duration, (uint64_t)v->duration_ms);
	put_text(t, STAT_last_agt, v->detail);
	put_text(t, STAT_agent_desc, probe_code_text(v->code));
	put_number(t, STAT_agent_rise, 1);
	put_number(t, STAT_agent_fall, 1);
	put_number(t, STAT_agent_health, !s->agent.down);
}

static void put_state_times(struct table *t, const struct server *s, enum server_state state)
{
	const int64_t since_ns = s->changed_ns != 0 ? s->changed_ns : t->ctx->started_ns;
	const bool down = state == SERVER_DOWN || state == SERVER_UNRESOLVED || state == SERVER_MAINT;
	const int64_t down_ns = s->down_ns + (down ? t->now_ns - since_ns : 0);

	put_number(t, STAT_lastchg, (uint64_t)(t->now_ns - since_ns) / NS_PER_SEC);
	put_number(t, STAT_downtime, (uint64_t)down_ns / NS_PER_SEC);
}

static void put_load(struct table *t, const struct server *s, const struct tally_sum *sum)
{
	const unsigned limit = atomic_load_explicit(&s->limit, memory_order_relaxed);

	put_sessions(t, stat_read_count(&s->sessions), sum->sessions_max);
	put_queue(t, &s->queued, most_queued(t, s->slot, &s->queued_max));
	if (limit > 0)
		put_number(t, STAT_slim, limit);
	if (s->config->maxqueue > 0)
		put_number(t, STAT_qlimit, s->config->maxqueue);
	put_number(t, STAT_weight, server_weight_in_effect(s));
	put_number(t, STAT_uweight, server_weight_now(s));
	put_number(t, STAT_act, !s->config->backup);
	put_number(t, STAT_bck, s->config->backup);
	if (s->slow_since_ns != 0)
		put_number(t, STAT_throttle, server_throttle(s, t->now_ns));
	put_number(t, STAT_used_conn_cur, stat_read_count(&s->sessions));
}

static void put_counts(struct table *t, const struct stat_counts *counts, bool checked)
{
	put_number(t, STAT_stot, counts->total);
	put_tries(t, counts->failures);
	put_number(t, STAT_lbtot, counts->chosen);
	if (!checked)
		return;
	put_number(t, STAT_chkfail, counts->probe_failures);
	put_number(t, STAT_chkdown, counts->probe_downs);
}

/* With `up`, HAProxy hides a server that is down, but not one that is about to come up. */
static bool is_hidden(const struct table *t, const struct server *s, enum server_state state)
{
	const bool stays_down = state == SERVER_UNRESOLVED ||
				(state == SERVER_DOWN && (s->probe == NULL || s->probe->health == 0));

	if (state == SERVER_MAINT)
		return t->q->no_maint || t->q->up_only;
	return t->q->up_only && stays_down;
}

static void add_server_row(struct table *t, const struct backend *b, const struct server *s)
{
	const struct tally_sum sum = tally_of(t, s->slot);
	const struct addr *a = server_addr(s);
	const enum server_state state =
		(enum server_state)atomic_load_explicit(&s->state, memory_order_acquire);
	const struct probe_view *v = s->checks_off ? NULL : s->probe; /* as in HAProxy */
	struct stat_counts counts = stat_counts_of_server(s);
	char address[ADDR_TEXT_MAX], status[48], code[48], agent_code[48];

	if (is_hidden(t, s, state))
		return;
	clear_counts(t, s->slot, &counts);
	stat_row_begin(&t->rows, b->config->name, s->config->name, TYPE_SERVER);
	put_tally(t, &sum);
	put_counts(t, &counts, v != NULL);
	put_times(t, &sum);
	put_load(t, s, &sum);
	put_state_times(t, s, state);
	put_text(t, STAT_status, status_text(s, state, v, status, sizeof(status)));
	if (v != NULL)
		put_probe(t, v, state == SERVER_MAINT, code, sizeof(code));
	if (s->agent_view != NULL && !s->agent_off)
		put_agent(t, s, agent_code, sizeof(agent_code));
	put_number(t, STAT_connect, sum.total);
	put_number(t, STAT_reuse, 0);
	put_number(t, STAT_srid, 0); /* how often this number was reused for another server */
	if (a != NULL)
		put_text(t, STAT_addr, addr_format(a, address));
	stat_row_end(&t->rows, b->iid, s->id);
}

/* ---- backends ---- */

/* With a selection of servers, HAProxy adds how many of all are up. */
static const char *backend_status(const struct table *t, const struct backend *b, bool up, char *buf,
				  size_t room)
{
	const char *word = server_state_text(up ? SERVER_UP : SERVER_DOWN);
	size_t count = 0;

	if (!t->q->no_maint && !t->q->up_only)
		return word;
	for (size_t i = 0; i < b->server_count; i++)
		count += server_usable(b->servers[i]);
	(void)snprintf(buf, room, "%s (%zu/%zu)", word, count, b->server_count); /* it fits */
	return buf;
}

static void put_backend_load(struct table *t, const struct backend *b, const struct backend_sum *sum)
{
	put_queue(t, &b->queue.waiting_any, most_queued(t, b->slot, &b->queue.waiting_max));
	put_number(t, STAT_slim, t->e->limits.maxconn);
	if (b->config->maxqueue > 0)
		put_number(t, STAT_qlimit, b->config->maxqueue);
	put_number(t, STAT_weight, sum->weight);
	put_number(t, STAT_uweight, sum->uweight);
	put_number(t, STAT_act, sum->active);
	put_number(t, STAT_bck, sum->backup);
	put_number(t, STAT_agg_server_status, sum->active + sum->backup);
}

static void add_backend(struct table *t, const struct backend *b)
{
	const struct tally_sum own = tally_of(t, b->slot);
	char algorithm[OPTION_WORD_MAX], status[64];
	struct stat_counts counts;
	struct backend_sum sum;

	for (size_t i = 0; i < b->server_count; i++)
		add_server_row(t, b, b->servers[i]);
	backend_sum_up(t->e, b, t->sums, &sum);
	counts = stat_counts_of_backend(&sum);
	clear_counts(t, b->slot, &counts);
	stat_row_begin(&t->rows, b->config->name, STAT_SVNAME_BACKEND, TYPE_BACKEND);
	put_sessions(t, own.sessions,
		     sum.sessions_max > own.sessions_max ? sum.sessions_max : own.sessions_max);
	put_tally(t, &own);
	put_tries(t, counts.failures);
	put_number(t, STAT_wretr, counts.retries);
	put_number(t, STAT_wredis, counts.redispatches);
	put_times(t, &own);
	put_backend_load(t, b, &sum);
	put_text(t, STAT_status, backend_status(t, b, sum.active + sum.backup > 0, status, sizeof(status)));
	put_number(t, STAT_chkdown, counts.probe_downs);
	put_text(t, STAT_algo, admin_algorithm(b, algorithm));
	put_number(t, STAT_dreq, 0);
	put_number(t, STAT_lbtot, counts.chosen);
	put_number(t, STAT_connect, counts.connects);
	put_number(t, STAT_reuse, 0);
	stat_row_end(&t->rows, b->iid, 0);
}

/* Its rows stand below those of the frontend. */
static bool is_of_listen(const struct engine *e, const struct backend *b)
{
	entries_foreach_frontend(&e->entries, fe) {
		if (fe->config->listen && fe->settings->backend == b)
			return true;
	}
	return false;
}

void admin_show_stat(const struct admin_context *ctx, const struct admin_question *q,
		     const struct chunks *sums, struct text *out)
{
	const struct engine *e = ctx->engine;
	struct table t = {.ctx = ctx, .e = e, .q = q, .sums = sums};

	t.now_ns = clock_mono_ns();
	t.stopping = daemon_state_is_end(ctx->state);
	stat_table_begin(&t.rows, q, out);
	entries_foreach_frontend(&e->entries, fe) {
		add_frontend(&t, fe);
		if (fe->config->listen)
			add_backend(&t, fe->settings->backend);
	}
	for (size_t i = 0; i < e->backend_count; i++)
		if (!is_of_listen(e, e->backends[i]))
			add_backend(&t, e->backends[i]);
	stat_table_end(&t.rows);
}

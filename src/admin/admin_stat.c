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
#include "backend_sum.h"

enum stat_column {
#define COLUMN(name) STAT_##name,
#include "stat_columns.tbl.h"
#undef COLUMN
	STAT_COLUMNS,
	STAT_none = STAT_COLUMNS /* a tally without a column */
};

static const char *const column_names[] = {
#define COLUMN(name) #name,
#include "stat_columns.tbl.h"
#undef COLUMN
};

/* HAProxy's numbers of the types, and their bits in the filter. */
enum stat_type { TYPE_FRONTEND = 0, TYPE_BACKEND = 1, TYPE_SERVER = 2 };

struct cell {
	const char *text; /* borrows; NULL = a number, if it is set */
	uint64_t number;  /* shown as signed: HAProxy has a -1 */
	bool set;
};

struct table {
	const struct admin_context *ctx;
	const struct engine *e;
	const struct admin_question *q;
	const struct chunks *sums;
	struct text *out;
	struct json json; /* writes to `out` */
	int64_t now_ns;
	bool stopping;
	struct cell row[STAT_COLUMNS];
};

static const struct tally_sum *sum_at(const struct table *t, uint32_t slot)
{
	return chunks_at(t->sums, slot);
}

static void put_number(struct table *t, enum stat_column column, uint64_t number)
{
	check(column < STAT_COLUMNS);
	t->row[column] = (struct cell){.number = number, .set = true};
}

static void put_text(struct table *t, enum stat_column column, const char *text)
{
	t->row[column] = (struct cell){.text = text, .set = true};
}

/* ---- writing a row ---- */

static void add_csv_text(const char *text, struct text *out)
{
	if (strpbrk(text, ",\"") == NULL) {
		text_printf(out, "%s", text);
		return;
	}
	text_add(out, "\"", 1);
	for (; *text != '\0'; text++)
		text_printf(out, *text == '"' ? "\"%c" : "%c", *text);
	text_add(out, "\"", 1);
}

static void write_csv(const struct table *t)
{
	for (size_t i = 0; i < STAT_COLUMNS; i++) {
		const struct cell *c = &t->row[i];

		if (c->set && c->text != NULL)
			add_csv_text(c->text, t->out);
		else if (c->set)
			text_printf(t->out, "%lld", (long long)c->number);
		text_add(t->out, ",", 1);
	}
	text_printf(t->out, "-,\n"); /* end of HAProxy's fixed part */
}

static void write_json(struct table *t)
{
	json_line(&t->json, 2);
	json_object(&t->json, NULL);
	for (size_t i = 0; i < STAT_COLUMNS; i++) {
		const struct cell *c = &t->row[i];

		if (c->set && c->text != NULL)
			json_string(&t->json, column_names[i], c->text);
		else if (c->set)
			json_signed(&t->json, column_names[i], (int64_t)c->number);
	}
	json_object_end(&t->json);
}

static void begin_table(struct table *t)
{
	if (t->q->json) {
		json_init(&t->json, t->out, JSON_CODES);
		json_array(&t->json, NULL);
		return;
	}
	for (size_t i = 0; i < STAT_COLUMNS; i++)
		text_printf(t->out, "%s%s,", i == 0 ? "# " : "", column_names[i]);
	text_printf(t->out, "-,\n");
}

static void end_table(struct table *t)
{
	if (!t->q->json)
		return;
	json_line(&t->json, 0);
	json_array_end(&t->json);
	text_add(t->out, "\n", 1);
}

static void begin_row(struct table *t, const char *proxy, const char *name, enum stat_type type)
{
	memset(t->row, 0, sizeof(t->row));
	put_text(t, STAT_pxname, proxy);
	put_text(t, STAT_svname, name);
	put_number(t, STAT_type, type);
	put_number(t, STAT_pid, 1);
	put_text(t, STAT_mode, "tcp");
}

static bool is_wanted(const struct table *t)
{
	const struct admin_question *q = t->q;
	/* Bit 0 = frontends, 1 = backends, 2 = servers. */
	const int type = 1 << t->row[STAT_type].number;

	if (q->iid >= 0 && (uint64_t)q->iid != t->row[STAT_iid].number)
		return false;
	if (q->types >= 0 && (q->types & type) == 0)
		return false;
	return q->sid < 0 || (uint64_t)q->sid == t->row[STAT_sid].number;
}

static void end_row(struct table *t, size_t iid, size_t sid)
{
	put_number(t, STAT_iid, iid);
	put_number(t, STAT_sid, sid);
	if (!is_wanted(t))
		return;
	if (t->q->json)
		write_json(t);
	else
		write_csv(t);
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
	const unsigned type = 1u << t->row[STAT_type].number;

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

/* Workers count with relaxed order, so never show a negative number. */
static uint64_t read_count(const atomic_int *count)
{
	const int now = atomic_load_explicit(count, memory_order_relaxed);

	return now > 0 ? (uint64_t)now : 0;
}

static void put_queue(struct table *t, const atomic_int *now, const atomic_int *max)
{
	const uint64_t waiting = read_count(now);
	const uint64_t most = read_count(max);

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
	const struct tally_sum *sum = sum_at(t, fe->slot);

	begin_row(t, fe->config->name, STAT_SVNAME_FRONTEND, TYPE_FRONTEND);
	put_sessions(t, sum->sessions, sum->sessions_max);
	put_number(t, STAT_slim, fe->limit);
	put_number(t, STAT_stot, counter_get(&fe->total));
	put_tally(t, sum);
	put_number(t, STAT_dreq, 0);
	put_number(t, STAT_dresp, 0);
	put_number(t, STAT_ereq, 0);
	put_text(t, STAT_status, frontend_status(t, fe, sum));
	put_number(t, STAT_rate_lim, fe->config->rate_limit);
	put_number(t, STAT_conn_rate, sum->rate);
	put_number(t, STAT_conn_rate_max, t->row[STAT_rate_max].number);
	put_number(t, STAT_conn_tot, counter_get(&fe->total));
	put_number(t, STAT_dcon, counter_get(&fe->denied));
	put_number(t, STAT_dses, 0);
	put_number(t, STAT_sess_other, counter_get(&fe->total)); /* none is HTTP */
	end_row(t, fe->iid, 0);
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
static const char *status_text(enum server_state state, const struct probe_view *v, char *buf, size_t room)
{
	const char *word = server_state_text(state);
	const bool up = state == SERVER_UP || state == SERVER_DRAIN;

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
	put_number(t, STAT_chkfail, v->failures);
	put_number(t, STAT_chkdown, v->downs);
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

	put_sessions(t, read_count(&s->sessions), sum->sessions_max);
	put_queue(t, &s->queued, &s->queued_max);
	if (limit > 0)
		put_number(t, STAT_slim, limit);
	if (s->config->maxqueue > 0)
		put_number(t, STAT_qlimit, s->config->maxqueue);
	put_number(t, STAT_weight, admin_effective_weight(s));
	put_number(t, STAT_uweight, s->weight);
	put_number(t, STAT_act, !s->config->backup);
	put_number(t, STAT_bck, s->config->backup);
	if (s->slow_since_ns != 0)
		put_number(t, STAT_throttle, server_throttle(s, t->now_ns));
	put_number(t, STAT_used_conn_cur, read_count(&s->sessions));
}

static void add_server_row(struct table *t, const struct backend *b, const struct server *s)
{
	const struct tally_sum *sum = sum_at(t, s->slot);
	const struct addr *a = server_addr(s);
	const enum server_state state =
		(enum server_state)atomic_load_explicit(&s->state, memory_order_acquire);
	const struct probe_view *v = s->checks_off ? NULL : s->probe; /* as in HAProxy */
	char address[ADDR_TEXT_MAX], status[48], code[48];

	begin_row(t, b->config->name, s->config->name, TYPE_SERVER);
	put_number(t, STAT_stot, counter_get(&s->total));
	put_tally(t, sum);
	put_tries(t, counter_get(&s->failures));
	put_times(t, sum);
	put_load(t, s, sum);
	put_state_times(t, s, state);
	put_text(t, STAT_status, status_text(state, v, status, sizeof(status)));
	if (v != NULL)
		put_probe(t, v, state == SERVER_MAINT, code, sizeof(code));
	put_number(t, STAT_lbtot, counter_get(&s->chosen_total));
	put_number(t, STAT_connect, sum->total);
	put_number(t, STAT_reuse, 0);
	put_number(t, STAT_srid, 0); /* how often this number was reused for another server */
	if (a != NULL)
		put_text(t, STAT_addr, addr_format(a, address));
	end_row(t, b->iid, s->id);
}

/* ---- backends ---- */

static void put_backend_load(struct table *t, const struct backend *b, const struct backend_sum *sum)
{
	put_queue(t, &b->queue.waiting_any, &b->queue.waiting_max);
	put_number(t, STAT_slim, t->e->limits.maxconn);
	if (b->config->maxqueue > 0)
		put_number(t, STAT_qlimit, b->config->maxqueue);
	put_text(t, STAT_status, server_state_text(sum->active + sum->backup > 0 ? SERVER_UP : SERVER_DOWN));
	put_number(t, STAT_weight, sum->weight);
	put_number(t, STAT_uweight, sum->uweight);
	put_number(t, STAT_act, sum->active);
	put_number(t, STAT_bck, sum->backup);
	put_number(t, STAT_chkdown, sum->totals.probe_downs);
	put_number(t, STAT_agg_server_status, sum->active + sum->backup);
}

static void add_backend(struct table *t, const struct backend *b)
{
	const struct tally_sum *own = sum_at(t, b->slot);
	char algorithm[OPTION_WORD_MAX];
	struct backend_sum sum;

	for (size_t i = 0; i < b->server_count; i++)
		add_server_row(t, b, b->servers[i]);
	backend_sum_up(t->e, b, t->sums, &sum);
	begin_row(t, b->config->name, STAT_SVNAME_BACKEND, TYPE_BACKEND);
	put_sessions(t, own->sessions, sum.sessions_max);
	put_tally(t, own);
	put_tries(t, sum.totals.failures);
	put_number(t, STAT_wretr, sum.tally.retries);
	put_number(t, STAT_wredis, sum.tally.redispatches);
	put_times(t, own);
	put_backend_load(t, b, &sum);
	put_text(t, STAT_algo, admin_algorithm(b, algorithm));
	put_number(t, STAT_dreq, 0);
	put_number(t, STAT_lbtot, sum.totals.chosen);
	put_number(t, STAT_connect, sum.tally.total);
	put_number(t, STAT_reuse, 0);
	end_row(t, b->iid, 0);
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
	struct table t = {.ctx = ctx, .e = e, .q = q, .sums = sums, .out = out};

	t.now_ns = clock_mono_ns();
	t.stopping = daemon_state_is_end(ctx->state);
	begin_table(&t);
	entries_foreach_frontend(&e->entries, fe) {
		add_frontend(&t, fe);
		if (fe->config->listen)
			add_backend(&t, fe->settings->backend);
	}
	for (size_t i = 0; i < e->backend_count; i++)
		if (!is_of_listen(e, e->backends[i]))
			add_backend(&t, e->backends[i]);
	end_table(&t);
}

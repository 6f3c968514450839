/* SPDX-License-Identifier: MIT
 *
 * admin_stat.c - `show stat`: frontends, servers and backends in HAProxy's columns.
 *
 * A column that this version knows nothing of is empty, so that every column is where tools look for
 * it. A [listen] is one proxy with one number, as in HAProxy. Main thread. Floor 5.
 */
#include <string.h>

#include "sluice/base/check.h"
#include "sluice/control/admin_answers.h"

enum stat_column {
#define COLUMN(name) STAT_##name,
#include "sluice/control/stat_columns.tbl.h"
#undef COLUMN
	STAT_COLUMNS
};

static const char *const column_names[] = {
#define COLUMN(name) #name,
#include "sluice/control/stat_columns.tbl.h"
#undef COLUMN
};

/* HAProxy's numbers of kinds, and their bits in the filter. */
enum stat_type { TYPE_FRONTEND = 0, TYPE_BACKEND = 1, TYPE_SERVER = 2 };

struct cell {
	const char *text; /* borrows; NULL = a number, if it is set */
	uint64_t number;
	bool set;
};

struct table {
	const struct engine *e;
	const struct admin_question *q;
	const struct tally_sum *sums;
	struct text *out;
	bool stopping;
	size_t rows; /* that were written */
	struct cell row[STAT_COLUMNS];
};

static void put(struct table *t, enum stat_column column, uint64_t number)
{
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
			text_printf(t->out, "%llu", (unsigned long long)c->number);
		text_add(t->out, ",", 1);
	}
	text_printf(t->out, "-,\n"); /* here HAProxy's fixed part ends */
}

static void write_json(const struct table *t)
{
	const char *sign = "{";

	text_printf(t->out, t->rows == 0 ? "[\n  " : ",\n  ");
	for (size_t i = 0; i < STAT_COLUMNS; i++) {
		const struct cell *c = &t->row[i];

		if (!c->set)
			continue;
		text_printf(t->out, "%s\"%s\":", sign, column_names[i]);
		sign = ",";
		if (c->text != NULL)
			admin_json_string(c->text, strlen(c->text), t->out);
		else
			text_printf(t->out, "%llu", (unsigned long long)c->number);
	}
	text_printf(t->out, "}");
}

static void begin_row(struct table *t, const char *proxy, const char *name, enum stat_type type)
{
	memset(t->row, 0, sizeof(t->row));
	put_text(t, STAT_pxname, proxy);
	put_text(t, STAT_svname, name);
	put(t, STAT_type, type);
	put(t, STAT_pid, 1);
	put_text(t, STAT_mode, "tcp");
}

static bool is_wanted(const struct table *t)
{
	const struct admin_question *q = t->q;
	/* Bit 0 frontends, 1 backends, 2 servers. */
	const int type = 1 << t->row[STAT_type].number;

	if (q->iid >= 0 && (uint64_t)q->iid != t->row[STAT_iid].number)
		return false;
	if (q->types >= 0 && (q->types & type) == 0)
		return false;
	return q->sid < 0 || (uint64_t)q->sid == t->row[STAT_sid].number;
}

static void end_row(struct table *t, size_t iid, size_t sid)
{
	put(t, STAT_iid, iid);
	put(t, STAT_sid, sid);
	if (!is_wanted(t))
		return;
	if (t->q->json)
		write_json(t);
	else
		write_csv(t);
	t->rows++;
}

/* ---- what is in it ---- */

static void put_tally(struct table *t, const struct tally_sum *sum)
{
	put(t, STAT_bin, sum->bytes_to_server);
	put(t, STAT_bout, sum->bytes_to_client);
}

/* A session that begins between two readings must not make the maximum smaller than the count. */
static void put_sessions(struct table *t, uint64_t now, uint64_t max)
{
	put(t, STAT_scur, now);
	put(t, STAT_smax, max > now ? max : now);
}

static uint64_t server_sessions(struct server *s)
{
	const int now = atomic_load_explicit(&s->sessions, memory_order_relaxed);

	return now > 0 ? (uint64_t)now : 0; /* workers count relaxed */
}

static void add_frontend(struct table *t, struct frontend *fe, size_t iid)
{
	const struct tally_sum *sum = &t->sums[tally_of_frontend(t->e, fe)];
	const uint64_t total = counter_get(&fe->total);

	begin_row(t, fe->config->name, "FRONTEND", TYPE_FRONTEND);
	put_sessions(t, sum->sessions, sum->sessions_max);
	put(t, STAT_slim, fe->limit);
	put(t, STAT_stot, total);
	put_tally(t, sum);
	put(t, STAT_dreq, 0);
	put(t, STAT_dresp, 0);
	put(t, STAT_ereq, 0);
	put_text(t, STAT_status, t->stopping ? "STOP" : sum->sessions >= fe->limit ? "FULL" : "OPEN");
	put(t, STAT_conn_tot, total);
	put(t, STAT_dcon, 0);
	put(t, STAT_dses, 0);
	end_row(t, iid, 0);
}

static void put_tries(struct table *t, const struct tally_sum *sum, uint64_t failures)
{
	put_tally(t, sum);
	put(t, STAT_econ, failures);
	put(t, STAT_eresp, 0);
	put(t, STAT_dresp, 0);
	put(t, STAT_wretr, sum->retries);
	put(t, STAT_wredis, sum->redispatches);
	put(t, STAT_cli_abrt, sum->client_aborts);
	put(t, STAT_srv_abrt, sum->server_aborts);
	put(t, STAT_qcur, 0);
	put(t, STAT_qmax, 0);
}

static void add_server(struct table *t, const struct backend *b, struct server *s, size_t iid)
{
	const struct tally_sum *sum = &t->sums[tally_of_server(t->e, (size_t)(b - t->e->backends), s)];
	const struct addr *a = atomic_load_explicit(&s->addr, memory_order_acquire);
	const uint64_t now = server_sessions(s);
	char address[ADDR_TEXT_MAX];

	begin_row(t, b->config->name, s->config->name, TYPE_SERVER);
	put_sessions(t, now, sum->sessions_max);
	put(t, STAT_stot, counter_get(&s->total));
	put_tries(t, sum, counter_get(&s->failures));
	put_text(t, STAT_status, server_usable(s) ? "no check" : "DOWN (unresolved)");
	put(t, STAT_weight, s->config->weight);
	put(t, STAT_uweight, s->config->weight);
	put(t, STAT_act, 1);
	put(t, STAT_bck, 0);
	put(t, STAT_lbtot, counter_get(&s->total));
	put(t, STAT_used_conn_cur, now);
	if (a != NULL)
		put_text(t, STAT_addr, addr_format(a, address));
	end_row(t, iid, s->index + 1);
}

/* What a backend's servers come to. */
struct backend_sum {
	struct tally_sum tally;
	uint64_t sessions;
	uint64_t total;
	uint64_t failures;
	uint64_t weight;
	uint64_t usable;
};

static void sum_servers(const struct table *t, struct backend *b, struct backend_sum *to)
{
	memset(to, 0, sizeof(*to));
	for (size_t i = 0; i < b->server_count; i++) {
		struct server *s = &b->servers[i];

		tally_add(&to->tally, &t->sums[tally_of_server(t->e, (size_t)(b - t->e->backends), s)]);
		to->sessions += server_sessions(s);
		to->failures += counter_get(&s->failures);
		if (!server_usable(s) || s->config->weight == 0)
			continue;
		to->weight += s->config->weight;
		to->usable++;
	}
	/* The most at a time is known of each server and each frontend. A backend had at least the largest
	 * of these; with one frontend it is exact. */
	for (size_t i = 0; i < t->e->config->frontend_count; i++) {
		struct frontend *fe = &t->e->frontends[i];
		const uint64_t max = t->sums[i].sessions_max;

		if (fe->backend != b)
			continue;
		to->total += counter_get(&fe->total);
		if (max > to->tally.sessions_max)
			to->tally.sessions_max = max;
	}
}

static void add_backend(struct table *t, struct backend *b, size_t iid)
{
	struct backend_sum sum;

	for (size_t i = 0; i < b->server_count; i++)
		add_server(t, b, &b->servers[i], iid);
	sum_servers(t, b, &sum);
	begin_row(t, b->config->name, "BACKEND", TYPE_BACKEND);
	put_sessions(t, sum.sessions, sum.tally.sessions_max);
	put(t, STAT_slim, t->e->limits.maxconn);
	put(t, STAT_stot, sum.total);
	put_tries(t, &sum.tally, sum.failures);
	put(t, STAT_dreq, 0);
	put_text(t, STAT_status, sum.usable > 0 ? "UP" : "DOWN");
	put(t, STAT_weight, sum.weight);
	put(t, STAT_uweight, sum.weight);
	put(t, STAT_act, sum.usable);
	put(t, STAT_bck, 0);
	put(t, STAT_lbtot, sum.total);
	put_text(t, STAT_algo, "roundrobin");
	end_row(t, iid, 0);
}

/* The number of a backend: its frontend's when both were written as one [listen]. */
static size_t backend_iid(const struct config *c, size_t backend)
{
	for (size_t i = 0; i < c->frontend_count; i++)
		if (c->frontends[i].listen && c->frontends[i].backend == backend)
			return i + 1;
	return c->frontend_count + backend + 1;
}

void admin_show_stat(const struct admin_context *ctx, const struct admin_question *q,
		     const struct tally_sum *sums, struct text *out)
{
	const struct config *c = ctx->engine->config;
	struct table t = {.e = ctx->engine, .q = q, .sums = sums, .out = out};

	t.stopping = strcmp(ctx->state, "draining") == 0 || strcmp(ctx->state, "stopping") == 0;
	for (size_t i = 0; i < STAT_COLUMNS && !q->json; i++)
		text_printf(out, "%s%s,", i == 0 ? "# " : "", column_names[i]);
	if (!q->json)
		text_printf(out, "-,\n");
	for (size_t i = 0; i < c->frontend_count; i++) {
		struct frontend *fe = &ctx->engine->frontends[i];

		add_frontend(&t, fe, i + 1);
		if (fe->config->listen)
			add_backend(&t, fe->backend, i + 1);
	}
	for (size_t i = 0; i < c->backend_count; i++)
		if (backend_iid(c, i) > c->frontend_count)
			add_backend(&t, &ctx->engine->backends[i], backend_iid(c, i));
	if (q->json)
		text_printf(out, t.rows == 0 ? "[]\n" : "\n]\n");
}
